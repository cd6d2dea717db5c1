// Which nodes this plugin takes to ONNX Runtime at all.
#pragma once

#include <optional>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt::onnxruntime {

// Why not; nothing for a node of an operator whose results were compared with the reference library's, on tensors of
// known, positive dims and of the types that were compared: float32, int32, int64 and bool where results are exact,
// int8 and uint8 of what is quantised or moved. exact_products: as plugins::WhyNotTaken has it.
std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id, bool exact_products);

}  // namespace pt::onnxruntime
