#include "partitiontuner/graph/operators/random.h"

#include <cmath>
#include <string>

#include "lib/graph/operators/lists.h"

namespace pt {
namespace {

Error InvalidRandom(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.random", std::move(why)); }

}  // namespace

Result<std::optional<uint32_t>> ReadSeed(const Node& node) {
  if (node.find("seed") == nullptr) return std::optional<uint32_t>();
  if (const auto* whole = AttributeOf<int64_t>(node, "seed")) return std::optional(static_cast<uint32_t>(*whole));
  const auto* const real = AttributeOf<float>(node, "seed");
  if (real == nullptr || !(std::fabs(*real) < 0x1p63F)) return InvalidRandom("the seed does not fit in 64 bits");
  return std::optional(static_cast<uint32_t>(static_cast<int64_t>(*real)));
}

UniformRange ReadUniformRange(const Node& node) { return {node.float_or("low", 0.0F), node.float_or("high", 1.0F)}; }

NormalMoments ReadNormalMoments(const Node& node) {
  return {node.float_or("mean", 0.0F), node.float_or("scale", 1.0F)};
}

Result<int64_t> ReadSampleCount(const Node& node) {
  const int64_t count = node.int_or("sample_size", 1);
  if (count >= 1) return count;
  return InvalidRandom("sample_size is " + std::to_string(count) + "; expected at least 1");
}

}  // namespace pt
