#include "partitiontuner/backend/shaken_library.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/backend/rounding_noise.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt {
namespace {

// Of integers that a product was quantised to inside a kernel: about as many lie so near to halfway between two that
// the order of the sums decides.
constexpr double kTiesPerInteger = 1.0 / 500;

// What is done to one output.
struct OutputNoise {
  RoundingNoise reals;
  double ties = 0;  // the share of its integers that may as well be the next one
  uint64_t seed = 0;
  bool is_none() const { return reals.is_none() && ties == 0; }
};

// By name, so that the changes of one value do not hang on what else the graph holds.
uint64_t SeedOf(const Graph& graph, ValueId value, uint64_t seed) {
  for (const char c : graph.value(value).name) seed = SplitMix(seed + static_cast<unsigned char>(c));
  return SplitMix(seed + value.value);
}

OutputNoise NoiseOf(const Graph& graph, NodeId producer, ValueId output, uint64_t seed, double times) {
  const Node& node = graph.node(producer);
  OutputNoise noise;
  noise.reals = RoundingNoiseOf(node, graph.value(output).type.type);
  noise.reals.of_itself *= times;
  noise.reals.of_largest *= times;
  if (node.domain.empty() && node.op.starts_with("QLinear")) noise.ties = times * kTiesPerInteger;
  noise.seed = SeedOf(graph, output, seed);
  return noise;
}

// change(T&) of each element, whatever its strides.
template <typename T, typename F>
void ForEach(const TensorView& view, F&& change) {
  const TensorLayout& layout = view.layout;
  int64_t count = 1;
  for (const int64_t dim : layout.dims) count *= dim;
  T* const data = static_cast<T*>(view.data);
  std::vector<int64_t> index(layout.dims.size(), 0);
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    change(data[at]);
    for (size_t d = index.size(); d-- > 0;) {
      at += layout.strides[d];
      if (++index[d] < layout.dims[d]) break;
      at -= layout.strides[d] * layout.dims[d];
      index[d] = 0;
    }
  }
}

void Shake(const TensorView& view, const OutputNoise& noise) {
  if (view.data == nullptr || !view.layout.layout.blocks.empty()) return;
  Random random(noise.seed);
  VisitType(view.layout.type, [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      double largest = 0;
      ForEach<T>(view, [&](T x) {
        const double magnitude = std::fabs(NumberOf<double>(x));
        if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
      });
      ForEach<T>(view, [&](T& x) { x = ElementOf<T>(Shaken(NumberOf<double>(x), noise.reals, largest, random)); });
    } else if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>) {
      if (noise.ties == 0) return;
      ForEach<T>(view, [&](T& x) {
        if (random.Uniform(0, 1) < noise.ties && x < std::numeric_limits<T>::max()) ++x;
      });
    }
  });
}

class ShakenBound final : public BoundKernel {
 public:
  ShakenBound(std::unique_ptr<BoundKernel> inner, TensorSlots out,
              std::shared_ptr<const std::vector<OutputNoise>> noise)
      : inner_(std::move(inner)), out_(out.begin(), out.end()), noise_(std::move(noise)) {}

  Status Enqueue(const RunContext& run) noexcept override {
    PT_CHECK_OK(inner_->Enqueue(run));
    for (size_t i = 0; i < out_.size(); ++i) {
      if (!(*noise_)[i].is_none()) Shake(*out_[i], (*noise_)[i]);
    }
    return {};
  }

 private:
  std::unique_ptr<BoundKernel> inner_;
  std::vector<const TensorView*> out_;
  std::shared_ptr<const std::vector<OutputNoise>> noise_;  // by output
};

class ShakenKernel final : public Kernel {
 public:
  ShakenKernel(std::unique_ptr<Kernel> inner, std::vector<OutputNoise> noise)
      : inner_(std::move(inner)), noise_(std::make_shared<const std::vector<OutputNoise>>(std::move(noise))) {}

  uint64_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  bool brings_threads() const override { return inner_->brings_threads(); }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    PT_ASSIGN(std::unique_ptr<BoundKernel> bound, inner_->Bind(in, out, scratch));
    return std::unique_ptr<BoundKernel>(std::make_unique<ShakenBound>(std::move(bound), out, noise_));
  }

 private:
  std::unique_ptr<Kernel> inner_;
  std::shared_ptr<const std::vector<OutputNoise>> noise_;
};

class ShakenLibrary final : public Library, public TellsOfNan {
 public:
  ShakenLibrary(std::unique_ptr<Library> inner, uint64_t seed, double times)
      : inner_(std::move(inner)), seed_(seed), times_(times) {}

  std::string_view name() const override { return inner_->name(); }
  std::string version() const override { return inner_->version(); }
  bool Serves(const Platform& platform, DeviceId device) const override { return inner_->Serves(platform, device); }
  Precision Modes(const Platform& platform) const override { return inner_->Modes(platform); }
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    return inner_->Candidates(graph, platform, precision);
  }
  std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                            std::span<const Candidate> so_far) const override {
    return inner_->AgnosticCandidates(graph, platform, so_far);
  }
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    return inner_->CandidatesFor(graph, platform, nodes, precision);
  }
  Result<Candidate> Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const override {
    return inner_->Describe(graph, platform, asked);
  }
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    return inner_->WhyUnsupported(graph, node);
  }
  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(std::unique_ptr<Kernel> kernel, inner_->Compile(graph, candidate, in, out, context));
    if (seed_ == 0) return kernel;
    std::vector<OutputNoise> noise;
    for (const ValueId output : GroupOutputs(graph, candidate.nodes)) {
      noise.push_back(NoiseOf(graph, graph.value(output).producer, output, seed_, times_));
    }
    const bool none = std::ranges::all_of(noise, [](const OutputNoise& of) { return of.is_none(); });
    if (none) return kernel;
    return std::unique_ptr<Kernel>(std::make_unique<ShakenKernel>(std::move(kernel), std::move(noise)));
  }
  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims, const Form& from,
                  const Form& to) const override {
    return inner_->CanReorder(platform, unit_class, dims, from, to);
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override {
    return inner_->CompileReorder(from, to, context);
  }
  std::optional<int64_t> KnownCost(const Graph& graph, const Platform& platform,
                                   const Candidate& candidate) const override {
    return inner_->KnownCost(graph, platform, candidate);
  }
  // What is not a number stays so when it is shaken.
  bool KeepsNan(const Graph& graph, const Candidate& candidate) const override {
    return pt::KeepsNan(*inner_, graph, candidate);
  }

 private:
  std::unique_ptr<Library> inner_;
  uint64_t seed_;
  double times_;
};

}  // namespace

std::unique_ptr<Library> MakeShakenLibrary(std::unique_ptr<Library> library, uint64_t seed, double times) {
  return std::make_unique<ShakenLibrary>(std::move(library), seed, times);
}

}  // namespace pt
