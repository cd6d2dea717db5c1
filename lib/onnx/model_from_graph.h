// A Graph as a ModelProto: the other way than graph_from_proto.h.
#pragma once

#include <vector>

#include "lib/onnx/fence.h"
#include "partitiontuner/graph/graph.h"

namespace pt {

// A tensor of a model whose data the model does not have yet.
struct TensorToFill {
  proto::TensorProto* to = nullptr;  // has type, dims and name
  const Tensor* from = nullptr;
  bool is_initializer = false;  // else it is in an attribute
};

struct ModelToFill {
  proto::ModelProto model;
  std::vector<TensorToFill> tensors;  // those that are not small, in the order of the model; strings are never here
};

// A model that passes libonnx's checker, with all names, types and nested graphs. The graph must outlive it.
//  - Names stay. Values without one are given one, and so are those of nested graphs that would hide another value.
//  - A constant that a nested graph shares with a graph around it is there once.
//  - Where ONNX knows no output of that sort (the same value twice; in nested graphs also a value from outside), an
//    Identity makes it.
// Errors, which name the node or value: kUnsupported for an operator that the graph's opset does not have, and for an
// input or output whose type ONNX cannot say or is not known; kInvalidInput for a graph with captured values or without
// outputs, nested graphs of another opset, and everything else that libonnx's checker objects to.
Result<ModelToFill> ModelFromGraph(const Graph& graph);

}  // namespace pt
