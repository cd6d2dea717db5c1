// What a node makes of inputs that are there: the types and dims of its outputs, as the reference library reads the
// operator's definition.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

struct KnownInput {
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::optional<Tensor> content;  // where it is known: sizes may follow from it
};

// By output of the node; of absent ones nothing is said. inputs: one each of the node's; of absent ones nothing is
// looked at. Static types of the graph's outputs hold. Errors: kUnsupported where a content is missing that decides a
// size, or the library does not run such a node; kInvalidInput where inputs contradict the definition or the graph.
Result<std::vector<ValueType>> OutputTypes(const Graph& graph, NodeId node, std::span<const KnownInput> inputs);

}  // namespace pt
