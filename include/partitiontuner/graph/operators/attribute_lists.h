// Lists that operators hold as attributes in one operator set and take as inputs in another.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// The integers of an attribute; one integer is a list of one. nullopt: the node does not have it. Error: kInvalidInput
// where it holds something else.
Result<std::optional<std::vector<int64_t>>> ReadInts(const Node& node, std::string_view attribute);

}  // namespace pt
