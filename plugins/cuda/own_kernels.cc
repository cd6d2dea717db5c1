// The library "cuda": elementwise groups and what operators.h lists, by kernels that are written for the very nodes and
// compiled when a session is made. Every tensor is row-major.
#include "partitiontuner/backend/elementwise_groups.h"
#include "plugins/cuda/expression.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/libraries.h"

namespace pt::cuda {
namespace {

constexpr std::string_view kName = "cuda";

// Raised when a kernel changes so that its old measurements no longer hold. The compiler's version belongs to the
// device's fingerprint.
constexpr const char* kVersion = "1";

class OwnKernelsLibrary final : public Library {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return kVersion; }
  bool Serves(const Platform& platform, DeviceId device) const override { return IsCuda(platform, device); }

  // Single nodes, then elementwise groups.
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
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    const std::vector<UnitClassId> classes = ComputingClasses(platform);
    if (classes.empty() || !IsConvex(graph, nodes)) return {};
    const Result<Site> site = Site::MakeDense(graph, nodes);
    if (!site.ok()) return {};
    const Result<Routine> routine = MakeRoutine(*site);
    if (!routine.ok()) return {};
    std::vector<Candidate> candidates = RowMajorCandidates(*site, kName, classes, 0);
    for (Candidate& candidate : candidates) {
      candidate.elision = routine->elision;
      for (const uint32_t in : routine->in_place) candidate.aliases.push_back({0, in, Alias::Kind::kAllowed});
    }
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    const Result<Site> site = Site::MakeDense(graph, {&node, 1});
    if (!site.ok()) return site.error().message;
    const Result<Routine> routine = MakeRoutine(*site);
    return routine.ok() ? std::nullopt : std::optional(routine.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(const Site site, Site::Make(graph, candidate.nodes, in, out));
    PT_ASSIGN(const Routine routine, MakeRoutine(site));
    return CompileRoutine(site, routine, context);
  }
};

}  // namespace

std::unique_ptr<Library> MakeOwnKernelsLibrary() { return std::make_unique<OwnKernelsLibrary>(); }

}  // namespace pt::cuda
