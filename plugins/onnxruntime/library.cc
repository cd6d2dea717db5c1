#include "plugins/onnxruntime/library.h"

#include <algorithm>

#include "partitiontuner/backend/islands.h"
#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/graph/graph_builder.h"
#include "plugins/onnxruntime/kernel.h"
#include "plugins/onnxruntime/operators.h"
#include "plugins/shared/cores.h"

namespace pt::onnxruntime {
namespace {

// Of one core, where a session computes on the thread that runs it, or of all of them, whose threads all sessions
// share: for every number between there would have to be threads of their own.
bool IsServedWidth(const Platform& platform, const UnitClass& unit_class) {
  return unit_class.cores == 1 || unit_class.cores == plugins::HostCores(platform).size();
}

// Of nodes without names: ONNX Runtime refuses a model with two nodes of one name, which ONNX and our graphs do not.
Result<Graph> NamelessGroup(const Graph& graph, std::span<const NodeId> nodes) {
  PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
  GraphBuilder builder(group);
  for (size_t i = 0; i < group.nodes().size(); ++i) builder.node(NodeId(i)).name.clear();
  return builder.Build();
}

}  // namespace

OnnxRuntimeLibrary::OnnxRuntimeLibrary(Result<std::shared_ptr<const Runtime>> runtime) : runtime_(std::move(runtime)) {}

std::string_view OnnxRuntimeLibrary::name() const { return kName; }
std::string OnnxRuntimeLibrary::version() const { return runtime_.ok() ? (*runtime_)->version() : "none"; }

bool OnnxRuntimeLibrary::Serves(const Platform&, DeviceId device) const { return runtime_.ok() && IsHost(device); }

std::vector<Candidate> OnnxRuntimeLibrary::Candidates(const Graph& graph, const Platform& platform,
                                                      const Precision&) const {
  std::vector<Candidate> candidates;
  if (!runtime_.ok()) return candidates;
  std::vector<bool> taken(graph.nodes().size());
  for (size_t i = 0; i < taken.size(); ++i) {
    taken[i] = !WhyUnsupported(graph, NodeId(i));
    if (taken[i]) Offer(graph, platform, std::vector{NodeId(i)}, candidates);
  }
  for (const std::vector<NodeId>& group : IslandGroups(graph, taken)) Offer(graph, platform, group, candidates);
  return candidates;
}

std::vector<Candidate> OnnxRuntimeLibrary::CandidatesFor(const Graph& graph, const Platform& platform,
                                                         std::span<const NodeId> nodes, const Precision&) const {
  std::vector<Candidate> candidates;
  if (!runtime_.ok() || nodes.empty() || !IsConvex(graph, nodes)) return candidates;
  const bool taken = std::ranges::none_of(nodes, [&](NodeId id) { return WhyUnsupported(graph, id).has_value(); });
  if (taken) Offer(graph, platform, nodes, candidates);
  return candidates;
}

std::optional<std::string> OnnxRuntimeLibrary::WhyUnsupported(const Graph& graph, NodeId id) const {
  if (!runtime_.ok()) return runtime_.error().message;
  if (auto why = WhyNotTaken(graph, id)) return why;
  const std::span<const NodeId> node(&id, 1);
  return answers_.WhyNot(kName, graph, node, [&]() -> Status {
    PT_ASSIGN(const Graph group, NamelessGroup(graph, node));
    return (*runtime_)->CheckRuns(group);
  });
}

void OnnxRuntimeLibrary::Offer(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
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

Result<std::unique_ptr<Kernel>> OnnxRuntimeLibrary::Compile(const Graph& graph, const Candidate& candidate,
                                                            std::span<const TensorLayout>,
                                                            std::span<const TensorLayout>,
                                                            CompileContext& context) const {
  if (!runtime_.ok()) return runtime_.error();
  PT_ASSIGN(const Graph group, NamelessGroup(graph, candidate.nodes));
  const bool is_wide = context.platform.unit_class(candidate.unit_class).cores > 1;
  const std::vector<uint32_t> cores = is_wide ? plugins::HostCores(context.platform) : std::vector<uint32_t>{};
  PT_ASSIGN(Session session, (*runtime_)->Compile(group, cores));
  return std::unique_ptr<Kernel>(std::make_unique<OnnxRuntimeKernel>(std::move(session), is_wide));
}

}  // namespace pt::onnxruntime
