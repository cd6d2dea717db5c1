// The run_time library: nodes and groups whose sizes are not known until run time, by kernels of the other libraries
// that are made in the run for the sizes that it meets. One candidate per host unit class, all tensors row-major,
// and two for operators that are fast only where a NaN may be lost.
#include <algorithm>
#include <memory>
#include <mutex>

#include "lib/backend/built_in.h"
#include "lib/backend/run_time/groups.h"
#include "lib/backend/run_time/kernel.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt {
namespace run_time {
namespace {

constexpr std::string_view kName = "run_time";
constexpr const char* kVersion = "1";
// The variant that loses no NaN, where there is another.
constexpr std::string_view kKeepNan = "nan";

// Sizes that the steps of all sessions together stay ready for beyond those of each: some 20 KB apiece.
constexpr size_t kSharedRoom = 8192;

// Numbers of a type that is known.
bool IsNumeric(const Graph& graph, std::span<const ValueId> values) {
  return std::ranges::all_of(values, [&](ValueId id) {
    return !id.valid() || (graph.value(id).type.other.empty() && BitsOf(graph.value(id).type.type) > 0);
  });
}

class RunTimeLibrary final : public Library, public TellsOfNan {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return kVersion; }
  bool Serves(const Platform&, DeviceId device) const override { return IsHost(device); }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform, const Precision&) const override {
    std::vector<Candidate> candidates;
    std::vector<bool> able(graph.nodes().size());
    for (uint32_t n = 0; n < able.size(); ++n) {
      const NodeId node(n);
      able[n] = Runs(graph, platform, node);
      if (able[n]) Offer(graph, platform, {&node, 1}, candidates);
    }
    for (const std::vector<NodeId>& group : Groups(graph, able)) {
      if (IsConvex(graph, group)) Offer(graph, platform, group, candidates);
    }
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    std::vector<Candidate> candidates;
    const bool able = std::ranges::all_of(nodes, [&](NodeId node) { return Runs(graph, platform, node); });
    if (able && IsConvex(graph, nodes)) Offer(graph, platform, nodes, candidates);
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    if (IsSizedBeforeRun(graph, {&node, 1})) return graph.node(node).op + ": its sizes are known before the run";
    if (!IsOfNumbers(graph, node)) return graph.node(node).op + ": it runs graphs, or takes other things than numbers";
    return reference().WhyUnsupported(graph, node);
  }

  bool KeepsNan(const Graph& graph, const Candidate& candidate) const override {
    return candidate.variant == kKeepNan || !MayLoseNan(graph, candidate.nodes);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    std::unique_ptr<Kernel> plain;
    if (candidate.nodes.size() == 1) {
      Candidate same = candidate;
      same.library = reference().name();
      same.variant.clear();
      PT_ASSIGN(plain, reference().Compile(graph, same, in, out, context));
    }
    return MakeKernel(Specialiser(graph, candidate, KeepsNan(graph, candidate), context, libraries()), std::move(plain),
                      rooms_);
  }

 private:
  // Made when they are first needed: the others make this one too. The reference library is the last.
  std::shared_ptr<const Libraries> libraries() const {
    std::call_once(made_, [&] {
      auto all = std::make_shared<Libraries>();
      for (const LibraryRow& row : BuiltInLibraries()) {
        if (row.name != kName && row.name != "simulated" && row.name != "reference") all->push_back(row.make());
      }
      all->push_back(MakeReferenceLibrary());
      libraries_ = std::move(all);
    });
    return libraries_;
  }
  const Library& reference() const { return *libraries()->back(); }

  static bool IsOfNumbers(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    return node.subgraphs.empty() && IsNumeric(graph, node.inputs) && IsNumeric(graph, node.outputs);
  }

  // What the reference library runs and no other one runs whatever the sizes.
  bool Runs(const Graph& graph, const Platform& platform, NodeId node) const {
    if (IsSizedBeforeRun(graph, {&node, 1}) || !IsOfNumbers(graph, node)) return false;
    if (GroupInputs(graph, {&node, 1}).empty() || GroupOutputs(graph, {&node, 1}).empty()) return false;
    return std::ranges::all_of(*libraries(), [&](const std::unique_ptr<Library>& library) {
      const bool runs = !library->CandidatesFor(graph, platform, {&node, 1}, Precision()).empty();
      return runs == (library == libraries()->back());
    });
  }

  static void Offer(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                    std::vector<Candidate>& candidates) {
    Candidate candidate = RowMajorCandidate(graph, nodes, kName);
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      if (!platform.unit_classes[c].on_host()) continue;
      candidate.unit_class = UnitClassId(c);
      candidate.variant.clear();
      candidates.push_back(candidate);
      if (!MayLoseNan(graph, nodes)) continue;
      candidate.variant = kKeepNan;
      candidates.push_back(candidate);
    }
  }

  const SharedRooms rooms_{std::make_shared<SharedRoom>(kSharedRoom), std::make_shared<SharedRoom>(kSharedRoom)};
  mutable std::once_flag made_;
  mutable std::shared_ptr<const Libraries> libraries_;
};

std::unique_ptr<Library> MakeRunTimeLibrary() { return std::make_unique<RunTimeLibrary>(); }

}  // namespace
}  // namespace run_time

Backend RunTimeBackend() {
  return {"run_time",
          {},
          {{"run_time", "sizes not known until run time: kernels of the other libraries, made in the run",
            run_time::MakeRunTimeLibrary}}};
}

}  // namespace pt
