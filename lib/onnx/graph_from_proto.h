// The last step of loading: the worked-on model becomes a Graph.
#pragma once

#include "lib/onnx/model_tensors.h"
#include "partitiontuner/graph/graph.h"

namespace pt {

// Only inputs and constants have types afterwards; InferShapes finds the others. Constant nodes
// become constants; a subgraph gets the constants it reads from outside as its own, and other outer
// values as captures. Errors: an attribute or type a Graph cannot hold (kUnsupported), a reference
// that names nothing.
Result<Graph> GraphFromProto(proto::ModelProto& model, const ModelTensors& tensors, const Limits& limits);

}  // namespace pt
