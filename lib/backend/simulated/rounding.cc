#include "lib/backend/simulated/rounding.h"

#include <algorithm>
#include <array>

#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/half.h"

namespace pt {
namespace {

// Operators whose float32 constants are numbers that are computed with.
constexpr std::array<std::string_view, 18> kWeighted = {"Add",    "BatchNormalization",
                                                        "Conv",   "ConvTranspose",
                                                        "Div",    "GRU",
                                                        "Gemm",   "InstanceNormalization",
                                                        "LSTM",   "LayerNormalization",
                                                        "MatMul", "Max",
                                                        "Min",    "Mul",
                                                        "PRelu",  "Pow",
                                                        "RNN",    "Sub"};
static_assert(std::ranges::is_sorted(kWeighted));

float Rounded(float number, MathMode mode) {
  return mode == MathMode::kFp16 ? ToFloat(ToHalf(number)) : ToFloat(ToBfloat16(number));
}

// visit(offset in elements) of each element; dense layouts in one loop.
template <typename Visit>
void VisitElements(const TensorLayout& layout, const Visit& visit) {
  int64_t count = 1;
  for (const int64_t dim : layout.dims) count *= dim;
  if (IsDense(layout)) {
    for (int64_t i = 0; i < count; ++i) visit(i, i);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0, rest = i;
    for (size_t d = layout.dims.size(); d-- > 0; rest /= layout.dims[d]) {
      offset += rest % layout.dims[d] * layout.strides[d];
    }
    visit(i, offset);
  }
}

class BoundRounding : public BoundKernel {
 public:
  BoundRounding(const TensorView& in, const TensorView& out, MathMode mode) : in_(in), out_(out), mode_(mode) {}

  Status Enqueue(const RunContext&) noexcept override {
    const auto* from = static_cast<const float*>(in_.data);
    auto* to = static_cast<float*>(out_.data);
    // The output is the input, or dense memory of its own.
    VisitElements(in_.layout, [&](int64_t number, int64_t offset) {
      to[from == to ? offset : number] = Rounded(from[offset], mode_);
    });
    return {};
  }

 private:
  const TensorView &in_, &out_;
  const MathMode mode_;
};

class RoundingKernel : public Kernel {
 public:
  explicit RoundingKernel(MathMode mode) : mode_(mode) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundRounding>(*in[0], *out[0], mode_));
  }

 private:
  const MathMode mode_;
};

}  // namespace

bool Rounds(MathMode mode) { return mode == MathMode::kFp16 || mode == MathMode::kBf16; }

Result<Graph> RoundedGroup(const Graph& graph, std::span<const NodeId> nodes, MathMode mode) {
  PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
  GraphBuilder builder(group);
  for (size_t v = 0; v < group.values().size(); ++v) {
    const Value& value = group.values()[v];
    if (!value.is_constant() || value.type.type != DataType::kFloat32) continue;
    const bool weights = std::ranges::all_of(value.uses, [&](const Use& use) {
      const Node& node = group.node(use.node);
      return node.domain.empty() && std::ranges::binary_search(kWeighted, std::string_view(node.op));
    });
    if (!weights) continue;
    const std::span<const float> numbers = value.constant->values<float>();
    std::vector<float> rounded(numbers.size());
    std::ranges::transform(numbers, rounded.begin(), [&](float number) { return Rounded(number, mode); });
    builder.value(ValueId(v)).constant = Tensor::Float32(value.constant->dims(), std::move(rounded));
  }
  return builder.Build();
}

std::unique_ptr<Kernel> MakeRoundingKernel(MathMode mode) { return std::make_unique<RoundingKernel>(mode); }

}  // namespace pt
