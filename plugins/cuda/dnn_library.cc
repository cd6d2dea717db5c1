// The library "cudnn": convolutions with what follows them, pooling, normalisations and attention by NVIDIA's cuDNN,
// images row-major and channels-last, in float32 and 16 bits, each with the engines that cuDNN thinks best.
#include <map>
#include <mutex>

#include "plugins/cuda/attention.h"
#include "plugins/cuda/dnn_graph.h"
#include "plugins/cuda/dnn_groups.h"
#include "plugins/cuda/dnn_kernel.h"
#include "plugins/cuda/libraries.h"
#include "plugins/cuda/reorder.h"

namespace pt::cuda {
namespace {

constexpr std::string_view kName = "cudnn";

// Raised when a kernel changes so that its old measurements no longer hold.
constexpr const char* kVersion = "1";

// Of what cuDNN proposes, this many are offered for a group in a layout and a mode: the profiler times them all, and
// those further down seldom win.
constexpr size_t kMostEngines = 3;

constexpr std::array kModes = {MathMode::kFp32, MathMode::kTf32, MathMode::kBf16, MathMode::kFp16};

class DnnLibrary final : public Library {
 public:
  explicit DnnLibrary(std::shared_ptr<const Functions> functions) : functions_(std::move(functions)) {}

  std::string_view name() const override { return kName; }
  std::string version() const override {
    return dnn() == nullptr ? kVersion : std::string(kVersion) + ", cuDNN " + dnn()->version();
  }
  // cuDNN is asked about a device that is here: of another one it is not known what it would offer.
  bool Serves(const Platform& platform, DeviceId device) const override {
    return IsCuda(platform, device) && !DescriptionOf(platform.device(device)).empty();
  }
  Precision Modes(const Platform&) const override {
    return dnn() == nullptr ? Precision() : Precision({MathMode::kTf32, MathMode::kBf16, MathMode::kFp16});
  }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    std::vector<Candidate> candidates;
    if (dnn() == nullptr) return candidates;
    const auto offer = [&](std::span<const NodeId> nodes) {
      const std::vector<Candidate> ways = CandidatesFor(graph, platform, nodes, precision);
      candidates.insert(candidates.end(), ways.begin(), ways.end());
    };
    for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
      const NodeId node(n);
      if (MayBeDnnGraph(graph, {&node, 1})) offer({&node, 1});
    }
    for (const std::vector<NodeId>& group : DnnGroups(graph)) offer(group);
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    std::vector<Candidate> candidates;
    if (dnn() == nullptr || !MayBeDnnGraph(graph, nodes) || !IsConvex(graph, nodes)) return candidates;
    for (const UnitClassId unit_class : ComputingClasses(platform)) {
      const std::string device = DescriptionOf(platform.device(platform.unit_class(unit_class).device));
      if (device.empty()) continue;
      for (const bool channels_last : {false, true}) {
        if (channels_last && !MayBeChannelsLast(graph, nodes)) continue;
        for (const MathMode math : kModes) {
          if (precision.allows(math)) Offer(graph, nodes, unit_class, device, channels_last, math, candidates);
        }
      }
    }
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    if (dnn() == nullptr) return functions_ == nullptr ? "there is no CUDA driver" : functions_->no_dnn;
    const MathMode math = IsAttention(graph, {&node, 1}) ? MathMode::kFp16 : MathMode::kFp32;
    const Result<CudaSite> site = DnnDenseSite(graph, {&node, 1}, false, math);
    if (!site.ok()) return site.error().message;
    const Result<DnnSite> made = MakeDnnSite(*site, math);
    return made.ok() ? std::nullopt : std::optional(made.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(const CudaSite site, CudaSite::Make(graph, candidate.nodes, in, out));
    const std::optional<DnnEngine> engine = DnnEngineFromText(candidate.variant);
    if (!engine) {
      return MakeError(ErrorCode::kUnsupported, "cuda.dnn", "'" + candidate.variant + "' names no engine of cuDNN");
    }
    return CompileDnn(site, candidate.math, *engine, context);
  }

  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims, const Form& from,
                  const Form& to) const override {
    return IsCuda(platform, platform.unit_class(unit_class).device) && CanReorderOnCuda(dims, from, to);
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override {
    return CompileReorderOnCuda(from, to, context);
  }

 private:
  const Dnn* dnn() const { return functions_ == nullptr ? nullptr : functions_->dnn.get(); }

  // What cuDNN wants to know of the device; empty where it is none of this machine's, or cuDNN does not take it.
  std::string DescriptionOf(const Device& device) const {
    if (dnn() == nullptr) return "";
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = descriptions_.try_emplace(device.name + '\n' + device.fingerprint);
    if (!is_new) return at->second;
    const Result<int> ordinal = OrdinalOf(device.name);
    if (!ordinal.ok()) return "";
    const Result<std::string> here = FingerprintOf(*functions_, *ordinal);
    if (!here.ok() || *here != device.fingerprint) return "";
    Result<std::string> text = dnn()->DescribeDevice(*ordinal);
    if (text.ok()) at->second = std::move(text).value();
    return at->second;
  }

  // Asked once for each graph: an answer takes cuDNN from a millisecond to half a second.
  std::vector<DnnEngine> EnginesFor(const DnnGraph& graph, const std::string& device) const {
    const std::string key = device + '\n' + ToString(graph);
    {
      const std::lock_guard lock(mutex_);
      const auto at = engines_.find(key);
      if (at != engines_.end()) return at->second;
    }
    Result<std::vector<DnnEngine>> asked = dnn()->Engines(graph, device, kMostDnnWorkspace);
    std::vector<DnnEngine> engines = asked.ok() ? std::move(asked).value() : std::vector<DnnEngine>();
    if (engines.size() > kMostEngines) engines.resize(kMostEngines);
    const std::lock_guard lock(mutex_);
    return engines_.try_emplace(key, std::move(engines)).first->second;
  }

  void Offer(const Graph& graph, std::span<const NodeId> nodes, UnitClassId unit_class, const std::string& device,
             bool channels_last, MathMode math, std::vector<Candidate>& candidates) const {
    const Result<CudaSite> site = DnnDenseSite(graph, nodes, channels_last, math);
    if (!site.ok()) return;
    const Result<DnnSite> made = MakeDnnSite(*site, math);
    if (!made.ok()) return;
    Candidate candidate = RowMajorCandidate(graph, nodes, kName);
    candidate.unit_class = unit_class;
    candidate.math = math;
    for (const CudaOperand& operand : site->in) {
      if (operand.constant != nullptr) candidate.constant_bytes += operand.constant->bytes().size();
    }
    candidate.in = FormsOf(site->in);
    candidate.out = FormsOf(site->out);
    for (const DnnEngine& engine : EnginesFor(made->graph, device)) {
      candidate.variant = ToString(engine);
      candidate.scratch_bytes = DnnScratchBytes(engine.workspace_bytes);
      candidates.push_back(candidate);
    }
  }

  const std::shared_ptr<const Functions> functions_;  // null: nothing is offered
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> descriptions_;        // by device
  mutable std::map<std::string, std::vector<DnnEngine>> engines_;  // by device and graph
};

}  // namespace

std::unique_ptr<Library> MakeDnnLibrary(std::shared_ptr<const Functions> functions) {
  return std::make_unique<DnnLibrary>(std::move(functions));
}

}  // namespace pt::cuda
