#include "partitiontuner/graph/operators/named_types.h"

#include <string>

namespace pt {

Result<DataType> ReadNamedType(const Node& node, std::string_view attribute, DataType otherwise) {
  constexpr int64_t kUndefined = static_cast<int64_t>(DataType::kUndefined), kLast = 26;
  const int64_t named = node.int_or(attribute, kUndefined);
  if (named == kUndefined && otherwise != DataType::kUndefined) return otherwise;
  if (named > kUndefined && named <= kLast) return static_cast<DataType>(named);
  return MakeError(ErrorCode::kInvalidInput, "graph.type",
                   "unknown " + std::string(attribute) + " " + std::to_string(named) +
                       "; expected a number of TensorProto.DataType, 1 to " + std::to_string(kLast));
}

bool Saturates(const Node& node) { return node.int_or("saturate", 1) != 0; }

bool RoundsUp(const Node& node) { return node.string_or("round_mode", "up") == "up"; }

}  // namespace pt
