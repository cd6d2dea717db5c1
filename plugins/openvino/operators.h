// Which nodes this plugin takes to OpenVINO at all.
#pragma once

#include <optional>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt::openvino {

// Why not; nothing for a node of an operator whose results were compared with the reference library's, which computes
// on float32 tensors of known, positive dims. (OpenVINO's CPU device computes on 32 bits what ONNX says in int64.)
std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id);

}  // namespace pt::openvino
