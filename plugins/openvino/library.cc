#include "plugins/openvino/library.h"

#include <algorithm>

#include "partitiontuner/backend/islands.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/platform/discover.h"
#include "plugins/openvino/device.h"
#include "plugins/openvino/device_kernel.h"
#include "plugins/openvino/discover.h"
#include "plugins/openvino/fence.h"
#include "plugins/openvino/kernel.h"
#include "plugins/openvino/operators.h"
#include "plugins/shared/cores.h"
#include "plugins/shared/places.h"

namespace pt::openvino {

OpenVinoLibrary::OpenVinoLibrary(Result<std::shared_ptr<Runtime>> runtime) : runtime_(std::move(runtime)) {
  if (const auto host = DiscoverHost(); host.ok()) isa_ = host->device(kHostDevice).isa;
}

std::string_view OpenVinoLibrary::name() const { return kName; }
std::string OpenVinoLibrary::version() const { return Runtime::Version(); }

bool OpenVinoLibrary::Serves(const Platform& platform, DeviceId device) const {
  if (!runtime_.ok()) return false;
  if (!IsHost(device)) return platform.device(device).kind == kDeviceKind;
  const std::string& isa = platform.device(device).isa;
  return isa.empty() || isa == isa_;
}

Precision OpenVinoLibrary::Modes(const Platform& platform) const { return plugins::ModesOfDevices(*this, platform); }

std::vector<OpenVinoLibrary::Place> OpenVinoLibrary::Places(const Platform& platform,
                                                            const Precision& precision) const {
  std::vector<Place> places;
  for (const UnitClassId id : plugins::ServedClasses(*this, platform, precision)) {
    const UnitClass& unit_class = platform.unit_class(id);
    if (unit_class.on_host()) {
      places.push_back({id, {kCpu, MathMode::kFp32, unit_class.cores, 1}});
      continue;
    }
    const Device& device = platform.device(unit_class.device);
    const auto requests = static_cast<uint32_t>(UnitsOf(platform, id).size());
    places.push_back({id, {OvNameOf(device), MathOf(device), 0, requests}});
  }
  return places;
}

std::vector<Candidate> OpenVinoLibrary::Candidates(const Graph& graph, const Platform& platform,
                                                   const Precision& precision) const {
  std::vector<Candidate> candidates;
  for (const Place& place : Places(platform, precision)) {
    const Device& device = platform.device(platform.unit_class(place.unit_class).device);
    std::vector<bool> taken(graph.nodes().size());
    for (size_t i = 0; i < taken.size(); ++i) {
      const NodeId node(i);
      taken[i] = !WhyNotTaken(graph, node) && !WhyNoCall(device, graph, node) &&
                 !WhyNotRun(graph, std::span(&node, 1), place.target.device);
      if (taken[i]) Offer(graph, platform, place, std::span(&node, 1), candidates);
    }
    for (const std::vector<NodeId>& group : IslandGroups(graph, taken))
      Offer(graph, platform, place, group, candidates);
  }
  return candidates;
}

std::vector<Candidate> OpenVinoLibrary::CandidatesFor(const Graph& graph, const Platform& platform,
                                                      std::span<const NodeId> nodes, const Precision& precision) const {
  std::vector<Candidate> candidates;
  if (nodes.empty() || !IsConvex(graph, nodes)) return candidates;
  if (std::ranges::any_of(nodes, [&](NodeId id) { return WhyNotTaken(graph, id).has_value(); })) return candidates;
  for (const Place& place : Places(platform, precision)) Offer(graph, platform, place, nodes, candidates);
  return candidates;
}

std::optional<std::string> OpenVinoLibrary::WhyUnsupported(const Graph& graph, NodeId id) const {
  if (!runtime_.ok()) return runtime_.error().message;
  if (auto why = WhyNotTaken(graph, id)) return why;
  return WhyNotRun(graph, std::span(&id, 1), kCpu);
}

std::optional<std::string> OpenVinoLibrary::WhyNotRun(const Graph& graph, std::span<const NodeId> nodes,
                                                      const std::string& device) const {
  return answers_.WhyNot(device, graph, nodes, [&]() -> Status {
    PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
    PT_ASSIGN(const auto model, (*runtime_)->Read(group));
    return (*runtime_)->CheckRuns(model, device);
  });
}

void OpenVinoLibrary::Offer(const Graph& graph, const Platform& platform, const Place& place,
                            std::span<const NodeId> nodes, std::vector<Candidate>& candidates) const {
  if (GroupOutputs(graph, nodes).empty()) return;
  if (WhyNoCall(platform.device(platform.unit_class(place.unit_class).device), graph, nodes)) return;
  if (WhyNotRun(graph, nodes, place.target.device)) return;
  Candidate candidate = RowMajorCandidate(graph, nodes, kName);
  candidate.unit_class = place.unit_class;
  candidate.math = place.target.math;
  candidates.push_back(std::move(candidate));
}

Result<std::unique_ptr<Kernel>> OpenVinoLibrary::Compile(const Graph& graph, const Candidate& candidate,
                                                         std::span<const TensorLayout>, std::span<const TensorLayout>,
                                                         CompileContext& context) const {
  if (!runtime_.ok()) return runtime_.error();
  PT_ASSIGN(const Graph group, GroupGraph(graph, candidate.nodes));
  const std::vector<Place> places = Places(context.platform, Precision({candidate.math}));
  const auto place = std::ranges::find(places, candidate.unit_class, &Place::unit_class);
  if (place == places.end()) return NoSuchCandidate(graph, context.platform, candidate);
  const Target& target = place->target;
  std::optional<Result<ov::CompiledModel>> compiled;
  // For one thread too: OpenVINO also compiles on threads of its pool, which are then there for all models.
  plugins::RunOnCores(plugins::HostCores(context.platform), [&]() noexcept {
    const auto compile = [&]() -> Result<ov::CompiledModel> {
      if (target.threads == 0) return (*runtime_)->CompileCached(group, target);
      PT_ASSIGN(const auto model, (*runtime_)->Read(group));
      return (*runtime_)->Compile(model, target);
    };
    compiled.emplace(compile());
  });
  if (!compiled->ok()) return std::move(*compiled).error();
  if (target.threads == 0) return std::unique_ptr<Kernel>(std::make_unique<DeviceKernel>(std::move(**compiled)));
  return std::unique_ptr<Kernel>(std::make_unique<OpenVinoKernel>(std::move(**compiled), target.threads));
}

}  // namespace pt::openvino
