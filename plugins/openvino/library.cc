#include "plugins/openvino/library.h"

#include <algorithm>

#include "partitiontuner/backend/islands.h"
#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/platform/discover.h"
#include "plugins/openvino/cores.h"
#include "plugins/openvino/fence.h"
#include "plugins/openvino/kernel.h"
#include "plugins/openvino/operators.h"

namespace pt::openvino {
namespace {

// Of one core, where a request computes on the thread that runs it, or of all of them: OpenVINO's own threads are
// shared by all models, so they cannot be kept to some of the cores.
bool IsServedWidth(const Platform& platform, const UnitClass& unit_class) {
  return unit_class.cores == 1 || unit_class.cores == HostCores(platform).size();
}

}  // namespace

OpenVinoLibrary::OpenVinoLibrary(Result<std::shared_ptr<Runtime>> runtime) : runtime_(std::move(runtime)) {
  if (const auto host = DiscoverHost(); host.ok()) isa_ = host->device(kHostDevice).isa;
}

std::string_view OpenVinoLibrary::name() const { return kName; }
std::string OpenVinoLibrary::version() const { return Runtime::Version(); }

bool OpenVinoLibrary::Serves(const Platform& platform, DeviceId device) const {
  if (!runtime_.ok() || !IsHost(device)) return false;
  const std::string& isa = platform.device(device).isa;
  return isa.empty() || isa == isa_;
}

std::vector<Candidate> OpenVinoLibrary::Candidates(const Graph& graph, const Platform& platform,
                                                   const Precision&) const {
  std::vector<Candidate> candidates;
  if (!Serves(platform, kHostDevice)) return candidates;
  std::vector<bool> taken(graph.nodes().size());
  for (size_t i = 0; i < taken.size(); ++i) {
    taken[i] = !WhyUnsupported(graph, NodeId(i));
    if (taken[i]) Offer(graph, platform, std::vector{NodeId(i)}, candidates);
  }
  for (const std::vector<NodeId>& group : IslandGroups(graph, taken)) {
    if (!WhyNotRun(graph, group)) Offer(graph, platform, group, candidates);
  }
  return candidates;
}

std::vector<Candidate> OpenVinoLibrary::CandidatesFor(const Graph& graph, const Platform& platform,
                                                      std::span<const NodeId> nodes, const Precision&) const {
  std::vector<Candidate> candidates;
  if (!Serves(platform, kHostDevice) || nodes.empty() || !IsConvex(graph, nodes)) return candidates;
  const bool taken = std::ranges::none_of(nodes, [&](NodeId id) { return WhyNotTaken(graph, id).has_value(); });
  if (taken && !WhyNotRun(graph, nodes)) Offer(graph, platform, nodes, candidates);
  return candidates;
}

std::optional<std::string> OpenVinoLibrary::WhyUnsupported(const Graph& graph, NodeId id) const {
  if (!runtime_.ok()) return runtime_.error().message;
  if (auto why = WhyNotTaken(graph, id)) return why;
  return WhyNotRun(graph, std::span(&id, 1));
}

std::optional<std::string> OpenVinoLibrary::WhyNotRun(const Graph& graph, std::span<const NodeId> nodes) const {
  const Hash128 key = HashText(WorkSignature(graph, nodes));
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  }
  const auto ask = [&]() -> Status {
    PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
    PT_ASSIGN(const auto model, (*runtime_)->Read(group));
    return (*runtime_)->CheckRuns(model);
  };
  const Status answer = ask();
  std::optional<std::string> why;
  if (!answer.ok()) why = answer.error().message;
  const std::lock_guard lock(mutex_);
  return answers_.emplace(key, std::move(why)).first->second;
}

void OpenVinoLibrary::Offer(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                            std::vector<Candidate>& candidates) const {
  if (GroupOutputs(graph, nodes).empty()) return;
  Candidate candidate = RowMajorCandidate(graph, nodes, kName);
  for (size_t i = 0; i < platform.unit_classes.size(); ++i) {
    const UnitClass& unit_class = platform.unit_classes[i];
    if (!unit_class.on_host() || !IsServedWidth(platform, unit_class)) continue;
    candidate.unit_class = UnitClassId(i);
    candidates.push_back(candidate);
  }
}

Result<std::unique_ptr<Kernel>> OpenVinoLibrary::Compile(const Graph& graph, const Candidate& candidate,
                                                         std::span<const TensorLayout>, std::span<const TensorLayout>,
                                                         CompileContext& context) const {
  if (!runtime_.ok()) return runtime_.error();
  PT_ASSIGN(const Graph group, GroupGraph(graph, candidate.nodes));
  const uint32_t threads = context.platform.unit_class(candidate.unit_class).cores;
  std::optional<Result<ov::CompiledModel>> compiled;
  // For one thread too: OpenVINO also compiles on threads of its pool, which are then there for all models.
  RunOnCores(HostCores(context.platform), [&]() noexcept {
    const auto compile = [&]() -> Result<ov::CompiledModel> {
      PT_ASSIGN(const auto model, (*runtime_)->Read(group));
      return (*runtime_)->Compile(model, threads);
    };
    compiled.emplace(compile());
  });
  if (!compiled->ok()) return std::move(*compiled).error();
  return std::unique_ptr<Kernel>(std::make_unique<OpenVinoKernel>(std::move(**compiled), threads));
}

}  // namespace pt::openvino
