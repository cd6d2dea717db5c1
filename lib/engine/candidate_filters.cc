#include "lib/engine/candidate_filters.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "partitiontuner/backend/nan.h"

namespace pt {
namespace {

constexpr std::string_view kReference = "reference";

}  // namespace

void DropLosingNan(const Graph& graph, const Machine& machine, std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const Library* library = machine.library(candidate.library);
    return library == nullptr || !KeepsNan(*library, graph, candidate);
  });
}

void DropNeedlessReference(std::vector<Candidate>& candidates) {
  using Place = std::tuple<NodeId, UnitClassId, MathMode>;
  std::set<Place> served, elided;  // by others
  for (const Candidate& c : candidates) {
    if (c.library == kReference || c.nodes.size() != 1) continue;
    const Place place{c.nodes[0], c.unit_class, c.math};
    served.insert(place);
    if (c.elision != Elision::kNone) elided.insert(place);
  }
  std::erase_if(candidates, [&](const Candidate& c) {
    if (c.library != kReference) return false;
    const std::set<Place>& others = c.elision == Elision::kNone ? served : elided;
    return std::ranges::all_of(c.nodes, [&](NodeId node) { return others.contains({node, c.unit_class, c.math}); });
  });
}

}  // namespace pt
