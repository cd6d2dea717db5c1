// Which nodes this plugin takes to ONNX Runtime at all.
#pragma once

#include <optional>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt::onnxruntime {

// Why not; nothing for a node of an operator whose results were compared with the reference library's, on tensors of
// known, positive dims and of the types that were compared: float32, and int32, int64 and bool where results are exact.
std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id);

}  // namespace pt::onnxruntime
