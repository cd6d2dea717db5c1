// What ONNX Runtime made of a group's inputs and outputs.
#pragma once

#include "partitiontuner/graph/graph.h"
#include "plugins/onnxruntime/runtime.h"

namespace pt::onnxruntime {

// Fills in the names. Errors (kUnsupported): it reads other inputs or outputs than the group has, or with other types
// or dims.
Status ReadPorts(const OrtApi& api, const Graph& group, GroupSession& session);

}  // namespace pt::onnxruntime
