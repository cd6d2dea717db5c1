// Which inputs of operators hold positions within another input, or lengths of it: data made up for them must stay
// inside.
#pragma once

#include <cstdint>
#include <optional>

#include "partitiontuner/graph/graph.h"

namespace pt {

// The greatest position or length that input number `input` of the node may hold, -1 when there is none (an empty
// axis); nullopt when that input holds no positions, or the dims they are in are not known.
std::optional<int64_t> MostIndex(const Graph& graph, const Node& node, uint32_t input);

}  // namespace pt
