// The library "cuda": elementwise groups, convolutions and products of integers with what is around them, attention,
// and what operators.h lists, by kernels that are written for the very nodes and compiled when a session is made. Every
// tensor is row-major.
#include <algorithm>
#include <array>
#include <set>

#include "partitiontuner/backend/attention_pattern.h"
#include "partitiontuner/backend/elementwise_groups.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "plugins/cuda/convolution.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/expression.h"
#include "plugins/cuda/integer_average.h"
#include "plugins/cuda/integer_product.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/libraries.h"
#include "plugins/cuda/quantisation.h"

namespace pt::cuda {
namespace {

constexpr std::string_view kName = "cuda";

// Raised when a kernel changes so that its old measurements no longer hold. The compiler's version belongs to the
// device's fingerprint.
constexpr const char* kVersion = "2";

// How real numbers are stored that are float32 in the graph; computed with as float32 in any case.
struct Storages {
  std::string_view variant;
  MathMode math = MathMode::kFp32;
  DataType in = DataType::kFloat32, out = DataType::kFloat32;
};
constexpr std::array kStorages = {
    Storages{""},
    Storages{"bf16", MathMode::kBf16, DataType::kBfloat16, DataType::kBfloat16},
    Storages{"bf16>fp32", MathMode::kBf16, DataType::kBfloat16, DataType::kFloat32},
    Storages{"fp32>bf16", MathMode::kBf16, DataType::kFloat32, DataType::kBfloat16},
    Storages{"fp16", MathMode::kFp16, DataType::kFloat16, DataType::kFloat16},
    Storages{"fp16>fp32", MathMode::kFp16, DataType::kFloat16, DataType::kFloat32},
    Storages{"fp32>fp16", MathMode::kFp16, DataType::kFloat32, DataType::kFloat16},
};

std::string Joined(std::string_view kernel, std::string_view storages) {
  return std::string(kernel) + (kernel.empty() || storages.empty() ? "" : " ") + std::string(storages);
}

// The product or average of integers at that node with what grows around it, smaller groups first. Where it is
// quantised again, no part before that is worth a step: it would write four times the bytes.
std::vector<std::vector<NodeId>> IntegerGroups(const Graph& graph, const std::vector<bool>& able, NodeId node) {
  std::vector<NodeId> least = IntegerProductNodes(graph, node);
  if (least.empty()) least = IntegerAverageNodes(graph, node);
  if (least.empty()) return {};
  std::vector<std::vector<NodeId>> groups;
  if (least.size() > 1) groups.push_back(least);
  for (const std::vector<NodeId>& grown : GrowElementwise(graph, able, node)) {
    std::set<NodeId> nodes(least.begin(), least.end());
    nodes.insert(grown.begin(), grown.end());
    groups.emplace_back(nodes.begin(), nodes.end());
  }
  const auto quantised = std::ranges::find_if(
      groups, [&](const std::vector<NodeId>& nodes) { return IsQuantisation(graph.node(nodes.back())); });
  if (quantised != groups.end()) groups.erase(groups.begin(), quantised);
  return groups;
}

class OwnKernelsLibrary final : public Library {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return kVersion; }
  bool Serves(const Platform& platform, DeviceId device) const override { return IsCuda(platform, device); }
  Precision Modes(const Platform& platform) const override {
    Precision modes;
    if (ComputingClasses(platform).empty()) return modes;
    for (const Storages& storages : kStorages) modes = modes.with(storages.math);
    return modes;
  }

  // Single nodes, elementwise groups, convolutions with what is behind them, products of integers with what is around
  // them, then attention.
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    std::vector<Candidate> candidates;
    if (ComputingClasses(platform).empty()) return candidates;
    std::vector<bool> able(graph.nodes().size(), false);
    const auto offer = [&](std::span<const NodeId> nodes) {
      const std::vector<Candidate> ways = CandidatesFor(graph, platform, nodes, precision);
      candidates.insert(candidates.end(), ways.begin(), ways.end());
      return !ways.empty();
    };
    for (uint32_t n = 0; n < able.size(); ++n) {
      const NodeId node(n);
      able[n] = offer({&node, 1}) && IsElementwiseOperator(graph.node(node));
    }
    for (const std::vector<NodeId>& group : ElementwiseGroups(graph, able)) offer(group);
    for (uint32_t n = 0; n < able.size(); ++n) {
      if (!IsConvolution(graph.node(NodeId(n)))) continue;
      for (const std::vector<NodeId>& group : GrowElementwise(graph, able, NodeId(n))) {
        if (group.front() == NodeId(n)) offer(group);
      }
    }
    for (uint32_t n = 0; n < able.size(); ++n) {
      for (const std::vector<NodeId>& group : IntegerGroups(graph, able, NodeId(n))) offer(group);
    }
    for (uint32_t n = 0; n < able.size(); ++n) {
      if (const auto attention = FindAttention(graph, NodeId(n))) offer(attention->nodes);
    }
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    std::vector<Candidate> candidates;
    const std::vector<UnitClassId> classes = ComputingClasses(platform);
    if (classes.empty() || !IsConvex(graph, nodes)) return candidates;
    std::set<std::pair<std::vector<Form>, std::vector<Form>>> seen;
    for (const Storages& storages : kStorages) {
      if (!precision.allows(storages.math)) continue;
      // Steps of a quantisation are not to be those of rounded numbers.
      if (storages.math != MathMode::kFp32 && HasQuantisation(graph, nodes)) continue;
      const Result<CudaSite> site = CudaSite::MakeDense(graph, nodes, storages.in, storages.out);
      if (!site.ok()) return candidates;
      if (!seen.insert({FormsOf(site->in), FormsOf(site->out)}).second) continue;
      Offer(*site, storages, classes, candidates);
    }
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    const Result<CudaSite> site = CudaSite::MakeDense(graph, {&node, 1});
    if (!site.ok()) return site.error().message;
    const Result<std::vector<std::string>> variants = KernelVariants(*site);
    if (!variants.ok()) return variants.error().message;
    const Result<CudaRoutine> routine = MakeRoutine(*site, variants->front());
    return routine.ok() ? std::nullopt : std::optional(routine.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(const CudaSite site, CudaSite::Make(graph, candidate.nodes, in, out));
    PT_ASSIGN(const std::vector<std::string> variants, KernelVariants(site));
    for (const std::string& variant : variants) {
      const bool wanted = std::ranges::any_of(
          kStorages, [&](const Storages& storages) { return Joined(variant, storages.variant) == candidate.variant; });
      if (!wanted) continue;
      PT_ASSIGN(const CudaRoutine routine, MakeRoutine(site, variant));
      return CompileRoutine(site, routine, context);
    }
    return site.Unsupported("there is no variant \"" + candidate.variant + "\" of it");
  }

  // Between float32 and the two 16-bit floats, row-major.
  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t>, const Form& from,
                  const Form& to) const override {
    const auto takes = [](const Form& form) {
      return form.layout.is_row_major() && IsReal(form.storage) && !form.quantisation.valid();
    };
    const bool converts = from.storage == DataType::kFloat32 || to.storage == DataType::kFloat32;
    return IsCuda(platform, platform.unit_class(unit_class).device) && takes(from) && takes(to) && converts;
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override {
    const Graph nothing;
    CudaSite site{nothing, {}, {{ValueId(), from, nullptr, from.type}}, {{ValueId(), to, nullptr, to.type}}};
    return CompileRoutine(site,
                          CudaRoutine{{CopyKernel(site, {"in0", IndexSpace(from.dims, {from.strides})},
                                                  {"out0", IndexSpace(to.dims, {to.strides})})}},
                          context);
  }

 private:
  static void Offer(const CudaSite& site, const Storages& storages, std::span<const UnitClassId> classes,
                    std::vector<Candidate>& candidates) {
    const Result<std::vector<std::string>> variants = KernelVariants(site);
    if (!variants.ok()) return;
    for (const std::string& variant : *variants) {
      const Result<CudaRoutine> routine = MakeRoutine(site, variant);
      if (!routine.ok()) continue;
      for (Candidate& candidate : RowMajorCandidates(site, kName, classes, routine->scratch_bytes)) {
        candidate.variant = Joined(variant, storages.variant);
        candidate.math = storages.math;
        candidate.in = FormsOf(site.in);
        candidate.out = FormsOf(site.out);
        candidate.elision = routine->elision;
        for (const uint32_t in : routine->in_place) candidate.aliases.push_back({0, in, Alias::Kind::kAllowed});
        for (const Tensor& table : routine->tables) candidate.constant_bytes += table.bytes().size();
        candidates.push_back(std::move(candidate));
      }
    }
  }
};

}  // namespace

std::unique_ptr<Library> MakeOwnKernelsLibrary() { return std::make_unique<OwnKernelsLibrary>(); }

}  // namespace pt::cuda
