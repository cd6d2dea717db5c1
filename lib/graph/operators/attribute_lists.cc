#include "partitiontuner/graph/operators/attribute_lists.h"

#include <string>

#include "lib/graph/operators/lists.h"

namespace pt {

Result<std::optional<std::vector<int64_t>>> ReadInts(const Node& node, std::string_view attribute) {
  if (node.find(attribute) == nullptr) return std::optional<std::vector<int64_t>>();
  if (const auto* list = AttributeOf<std::vector<int64_t>>(node, attribute)) return std::optional(*list);
  if (const auto* one = AttributeOf<int64_t>(node, attribute)) return std::optional(std::vector<int64_t>{*one});
  return MakeError(ErrorCode::kInvalidInput, "graph.list",
                   "attribute \"" + std::string(attribute) + "\" is not a list of integers");
}

}  // namespace pt
