#include "lib/cost/candidate_classes.h"

#include <algorithm>

#include "lib/cost/cost_kind.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/cost/beside_costs.h"

namespace pt {

double WorkOf(const Graph& graph, const Candidate& candidate) {
  constexpr double kFlopsPerByte = 3;
  const WorkSize work = WorkSizeOf(graph, candidate.nodes);
  return work.flops / kFlopsPerByte + work.bytes;
}
uint32_t OtherCores(const Platform& platform, UnitClassId unit_class) {
  uint32_t widest = 0;
  for (const UnitClass& other : platform.unit_classes) {
    if (other.on_host()) widest = std::max(widest, other.cores);
  }
  return widest - std::min(widest, platform.unit_class(unit_class).cores);
}

CandidateClass AnyClassOf(const Graph& graph, const Candidate& candidate) {
  return CandidateClass(graph.node(HeaviestNode(graph, candidate.nodes)).op, candidate.library, candidate.unit_class,
                        candidate.math);
}

std::optional<CandidateClass> ClassOf(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  const UnitClassId unit_class = candidate.unit_class;
  if (!platform.unit_class(unit_class).on_host() || IsSimulatedClass(platform, unit_class)) return std::nullopt;
  if (!IsSizedBeforeRun(graph, candidate.nodes)) return std::nullopt;
  return AnyClassOf(graph, candidate);
}

std::map<CandidateClass, size_t> HeaviestOfClasses(const Graph& graph, const Platform& platform,
                                                   std::span<const Candidate> candidates) {
  std::map<CandidateClass, size_t> heaviest;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::optional<CandidateClass> of = ClassOf(graph, platform, candidates[i]);
    if (!of || OtherCores(platform, candidates[i].unit_class) == 0) continue;
    const auto [at, added] = heaviest.emplace(*of, i);
    if (!added && WorkOf(graph, candidates[i]) > WorkOf(graph, candidates[at->second])) at->second = i;
  }
  return heaviest;
}

}  // namespace pt
