#include "lib/backend/recurrent/packing.h"

#include <algorithm>

#include "partitiontuner/support/checked.h"

namespace pt::recurrent {
namespace {

int64_t Blocks(const RecurrentNode& node, int64_t lanes) { return (node.hidden + lanes - 1) / lanes; }

// [gates · hidden][depth] to [block][depth][gate][lane].
void PackDirection(const RecurrentNode& node, Gates gates, const float* from, int64_t depth, int64_t lanes, float* to) {
  for (int64_t block = 0; block < Blocks(node, lanes); ++block) {
    const int64_t here = std::min(lanes, node.hidden - block * lanes);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t gate = gates.first; gate < gates.last; ++gate, to += lanes) {
        const float* column = from + (gate * node.hidden + block * lanes) * depth + k;
        for (int64_t i = 0; i < here; ++i) to[i] = column[i * depth];
        std::fill(to + here, to + lanes, 0.0F);
      }
    }
  }
}

bool ResetsProduct(const RecurrentNode& node) { return node.cell == RecurrentCell::kGru && node.linear_before_reset; }

}  // namespace

bool ResetsBeforeProduct(const RecurrentNode& node) {
  return node.cell == RecurrentCell::kGru && !node.linear_before_reset;
}

Result<int64_t> PackedCount(const RecurrentNode& node, Gates gates, int64_t depth, int64_t lanes) {
  const std::optional<int64_t> padded = CheckedAdd(node.hidden, lanes - 1);
  const int64_t blocks = padded.value_or(0) / lanes;
  const int64_t factors[] = {node.directions, blocks, depth, gates.count(), lanes};
  const std::optional<int64_t> count = CheckedProduct(factors);
  if (!padded || !count) return MakeError(ErrorCode::kUnsupported, "recurrent.size", "its weights are too large");
  return *count;
}

Result<std::shared_ptr<DeviceBuffer>> PackWeights(const RecurrentNode& node, Gates gates, const Tensor& matrix,
                                                  int64_t lanes, CompileContext& context) {
  const int64_t depth = matrix.dims()[2];
  PT_ASSIGN(const int64_t count, PackedCount(node, gates, depth, lanes));
  const std::string format = "recurrent gates " + std::to_string(gates.first) + " to " + std::to_string(gates.last) +
                             " of " + std::to_string(node.gates) + " lanes " + std::to_string(lanes);
  const auto pack = [&](DeviceBuffer& buffer) -> Status {
    const float* from = matrix.values<float>().data();
    for (int64_t d = 0; d < node.directions; ++d) {
      PackDirection(node, gates, from + d * node.gates * node.hidden * depth, depth, lanes,
                    static_cast<float*>(buffer.data()) + count / node.directions * d);
    }
    return {};
  };
  const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(float);
  return context.weights.Get(matrix.content_hash(), format, context.device, bytes, pack);
}

std::vector<float> PackPeepholes(const RecurrentNode& node, int64_t lanes) {
  if (!node.peephole) return {};
  constexpr Gates kPeepholes{0, 3};
  const int64_t padded = Blocks(node, lanes) * kPeepholes.count() * lanes;
  std::vector<float> packed(static_cast<size_t>(node.directions * padded));
  for (int64_t d = 0; d < node.directions; ++d) {
    const float* from = node.peephole->values<float>().data() + d * kPeepholes.count() * node.hidden;
    PackDirection(node, kPeepholes, from, 1, lanes, packed.data() + d * padded);
  }
  return packed;
}

std::vector<float> PackInputBias(const RecurrentNode& node, int64_t lanes) {
  const int64_t rows = node.gates * node.hidden;
  std::vector<float> sum = SummedBias(node);
  std::vector<float> packed(static_cast<size_t>(node.directions * Blocks(node, lanes) * node.gates * lanes));
  for (int64_t d = 0; d < node.directions; ++d) {
    float* own = sum.data() + d * rows;
    if (ResetsProduct(node) && node.bias) {
      std::copy_n(node.bias->values<float>().data() + d * 2 * rows + 2 * node.hidden, node.hidden,
                  own + 2 * node.hidden);
    }
    PackDirection(node, {0, node.gates}, own, 1, lanes, packed.data() + d * Blocks(node, lanes) * node.gates * lanes);
  }
  return packed;
}

std::vector<float> PackProductBias(const RecurrentNode& node, int64_t lanes) {
  if (!ResetsProduct(node)) return {};
  const int64_t padded = Blocks(node, lanes) * lanes;
  std::vector<float> packed(static_cast<size_t>(node.directions * padded), 0.0F);
  for (int64_t d = 0; d < node.directions && node.bias; ++d) {
    std::copy_n(node.bias->values<float>().data() + (d * 6 + 5) * node.hidden, node.hidden, packed.data() + d * padded);
  }
  return packed;
}

}  // namespace pt::recurrent
