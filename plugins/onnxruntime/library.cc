#include "plugins/onnxruntime/library.h"

#include <algorithm>

#include "partitiontuner/backend/islands.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/graph/graph_builder.h"
#include "plugins/onnxruntime/device_kernel.h"
#include "plugins/onnxruntime/discover.h"
#include "plugins/onnxruntime/kernel.h"
#include "plugins/onnxruntime/operators.h"
#include "plugins/shared/cores.h"
#include "plugins/shared/operators.h"
#include "plugins/shared/places.h"

namespace pt::onnxruntime {
namespace {

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

bool OnnxRuntimeLibrary::Serves(const Platform& platform, DeviceId device) const {
  return runtime_.ok() && (IsHost(device) || platform.device(device).kind == kName);
}

Precision OnnxRuntimeLibrary::Modes(const Platform& platform) const { return plugins::ModesOfDevices(*this, platform); }

std::vector<OnnxRuntimeLibrary::Place> OnnxRuntimeLibrary::Places(const Platform& platform,
                                                                  const Precision& precision) const {
  std::vector<Place> places;
  const bool exact_products = plugins::HasExactProducts(platform.device(kHostDevice));
  for (const UnitClassId id : plugins::ServedClasses(*this, platform, precision)) {
    const UnitClass& unit_class = platform.unit_class(id);
    Place place{id, {}, !unit_class.on_host(), exact_products};
    if (place.is_device) {
      const Device& device = platform.device(unit_class.device);
      place.target.provider = ProviderOf(device);
      place.target.math = MathOf(device);
    } else if (unit_class.cores > 1) {
      place.target.cores = plugins::HostCores(platform);
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::vector<Candidate> OnnxRuntimeLibrary::Candidates(const Graph& graph, const Platform& platform,
                                                      const Precision& precision) const {
  std::vector<Candidate> candidates;
  for (const Place& place : Places(platform, precision)) {
    std::vector<bool> taken(graph.nodes().size());
    for (size_t i = 0; i < taken.size(); ++i) {
      const NodeId node(i);
      taken[i] = IsTaken(graph, platform, place, node);
      if (taken[i]) Offer(graph, platform, place, std::span(&node, 1), candidates);
    }
    for (const std::vector<NodeId>& group : IslandGroups(graph, taken))
      Offer(graph, platform, place, group, candidates);
  }
  return candidates;
}

std::vector<Candidate> OnnxRuntimeLibrary::CandidatesFor(const Graph& graph, const Platform& platform,
                                                         std::span<const NodeId> nodes,
                                                         const Precision& precision) const {
  std::vector<Candidate> candidates;
  if (nodes.empty() || !IsConvex(graph, nodes)) return candidates;
  for (const Place& place : Places(platform, precision)) {
    const bool taken = std::ranges::all_of(nodes, [&](NodeId id) { return IsTaken(graph, platform, place, id); });
    if (taken) Offer(graph, platform, place, nodes, candidates);
  }
  return candidates;
}

std::optional<std::string> OnnxRuntimeLibrary::WhyUnsupported(const Graph& graph, NodeId id) const {
  if (!runtime_.ok()) return runtime_.error().message;
  if (auto why = WhyNotTaken(graph, id, plugins::HasExactProducts({}))) return why;
  return WhyNotRun(graph, std::span(&id, 1), Target());
}

bool OnnxRuntimeLibrary::IsTaken(const Graph& graph, const Platform& platform, const Place& place, NodeId node) const {
  const Device& device = platform.device(platform.unit_class(place.unit_class).device);
  return !WhyNotTaken(graph, node, place.exact_products) && !WhyNoCall(device, graph, node) &&
         !WhyNotRun(graph, std::span(&node, 1), place.target);
}

std::optional<std::string> OnnxRuntimeLibrary::WhyNotRun(const Graph& graph, std::span<const NodeId> nodes,
                                                         const Target& target) const {
  const std::string where = target.provider.text() + " " + std::string(MathModeName(target.math));
  return answers_.WhyNot(where, graph, nodes, [&]() -> Status {
    PT_ASSIGN(const Graph group, NamelessGroup(graph, nodes));
    return (*runtime_)->CheckRuns(group, {target.provider, target.math, {}});
  });
}

void OnnxRuntimeLibrary::Offer(const Graph& graph, const Platform& platform, const Place& place,
                               std::span<const NodeId> nodes, std::vector<Candidate>& candidates) const {
  if (GroupOutputs(graph, nodes).empty()) return;
  if (place.is_device) {
    if (WhyNoCall(platform.device(platform.unit_class(place.unit_class).device), graph, nodes)) return;
    if (!place.target.provider.is_cpu() && WhyNotRun(graph, nodes, place.target)) return;
  }
  Candidate candidate = RowMajorCandidate(graph, nodes, kName);
  candidate.unit_class = place.unit_class;
  candidate.math = place.target.math;
  candidates.push_back(std::move(candidate));
}

Result<std::unique_ptr<Kernel>> OnnxRuntimeLibrary::Compile(const Graph& graph, const Candidate& candidate,
                                                            std::span<const TensorLayout>,
                                                            std::span<const TensorLayout>,
                                                            CompileContext& context) const {
  if (!runtime_.ok()) return runtime_.error();
  PT_ASSIGN(const Graph group, NamelessGroup(graph, candidate.nodes));
  const std::vector<Place> places = Places(context.platform, Precision({candidate.math}));
  const auto place = std::ranges::find(places, candidate.unit_class, &Place::unit_class);
  if (place == places.end()) return NoSuchCandidate(graph, context.platform, candidate);
  PT_ASSIGN(Session session, (*runtime_)->Compile(group, place->target));
  if (place->is_device) return std::unique_ptr<Kernel>(std::make_unique<DeviceKernel>(std::move(session)));
  const bool is_wide = place->target.cores.size() > 1;
  return std::unique_ptr<Kernel>(std::make_unique<OnnxRuntimeKernel>(std::move(session), is_wide));
}

}  // namespace pt::onnxruntime
