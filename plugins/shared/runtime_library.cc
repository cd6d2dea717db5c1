#include "plugins/shared/runtime_library.h"

#include <algorithm>

#include "partitiontuner/backend/islands.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/candidate/group_graph.h"
#include "plugins/shared/places.h"

namespace pt::plugins {

Precision RuntimeLibrary::Modes(const Platform& platform) const { return ModesOfDevices(*this, platform); }

std::vector<RuntimeLibrary::Place> RuntimeLibrary::Places(const Platform& platform, const Precision& precision) const {
  std::vector<Place> places;
  for (const UnitClassId id : ServedClasses(*this, platform, precision)) {
    const UnitClass& unit_class = platform.unit_class(id);
    Place place;
    place.unit_class = id;
    place.cores = unit_class.cores;
    place.units = static_cast<uint32_t>(UnitsOf(platform, id).size());
    if (!unit_class.on_host()) {
      place.device = &platform.device(unit_class.device);
      place.math = MathOf(*place.device);
    }
    places.push_back(place);
  }
  return places;
}

std::vector<Candidate> RuntimeLibrary::Candidates(const Graph& graph, const Platform& platform,
                                                  const Precision& precision) const {
  std::vector<Candidate> candidates;
  for (const Place& place : Places(platform, precision)) {
    std::vector<bool> taken(graph.nodes().size());
    for (size_t i = 0; i < taken.size(); ++i) {
      const NodeId node(i);
      taken[i] = IsTaken(graph, platform, place, node);
      if (taken[i]) Offer(graph, platform, place, std::span(&node, 1), candidates);
    }
    for (const std::vector<NodeId>& group : IslandGroups(graph, taken)) {
      Offer(graph, platform, place, group, candidates);
    }
  }
  return candidates;
}

std::vector<Candidate> RuntimeLibrary::CandidatesFor(const Graph& graph, const Platform& platform,
                                                     std::span<const NodeId> nodes, const Precision& precision) const {
  std::vector<Candidate> candidates;
  if (nodes.empty() || !IsConvex(graph, nodes)) return candidates;
  const Device& host = platform.device(kHostDevice);
  for (const Place& place : Places(platform, precision)) {
    const bool taken = std::ranges::all_of(nodes, [&](NodeId node) {
      return AskedAt(place) == Asked::kGroups ? !WhyNotTaken(graph, node, host) : IsTaken(graph, platform, place, node);
    });
    if (taken) Offer(graph, platform, place, nodes, candidates);
  }
  return candidates;
}

std::optional<std::string> RuntimeLibrary::WhyUnsupported(const Graph& graph, NodeId node) const {
  if (absent_) return absent_->message;
  if (auto why = WhyNotTaken(graph, node, {})) return why;
  return WhyNotRun(graph, std::span(&node, 1), {});
}

std::optional<std::string> RuntimeLibrary::WhyNotRun(const Graph& graph, std::span<const NodeId> nodes,
                                                     const Place& place) const {
  return answers_.WhyNot(NameOf(place), graph, nodes, [&] { return CheckRuns(graph, nodes, place); });
}

bool RuntimeLibrary::IsTaken(const Graph& graph, const Platform& platform, const Place& place, NodeId node) const {
  const Device& device = platform.device(platform.unit_class(place.unit_class).device);
  return !WhyNotTaken(graph, node, platform.device(kHostDevice)) && !WhyNoCall(device, graph, node) &&
         !WhyNotRun(graph, std::span(&node, 1), place);
}

void RuntimeLibrary::Offer(const Graph& graph, const Platform& platform, const Place& place,
                           std::span<const NodeId> nodes, std::vector<Candidate>& candidates) const {
  if (GroupOutputs(graph, nodes).empty()) return;
  if (WhyNoCall(platform.device(platform.unit_class(place.unit_class).device), graph, nodes)) return;
  if (AskedAt(place) != Asked::kNodes && WhyNotRun(graph, nodes, place)) return;
  Candidate candidate = RowMajorCandidate(graph, nodes, std::string(name()));
  candidate.unit_class = place.unit_class;
  candidate.math = place.math;
  candidates.push_back(std::move(candidate));
}

Result<std::unique_ptr<Kernel>> RuntimeLibrary::Compile(const Graph& graph, const Candidate& candidate,
                                                        std::span<const TensorLayout>, std::span<const TensorLayout>,
                                                        CompileContext& context) const {
  if (absent_) return *absent_;
  const std::vector<Place> places = Places(context.platform, Precision({candidate.math}));
  const auto place = std::ranges::find(places, candidate.unit_class, &Place::unit_class);
  if (place == places.end()) return NoSuchCandidate(graph, context.platform, candidate);
  return CompileAt(graph, candidate.nodes, *place, context.platform);
}

}  // namespace pt::plugins
