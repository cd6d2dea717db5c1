// Demand: what candidates ask of a device that several of its units share, measured of one of a class.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "lib/cost/candidate_classes.h"
#include "lib/cost/cost_kind.h"

namespace pt {

// A class of candidates, and the magnitude of their work: what a kernel asks grows with what it computes.
using DemandClass = std::pair<CandidateClass, int>;

// Units of that class compute, share a resource with each other, and no file says what work asks of it.
bool SharesItsDevice(const Platform& platform, UnitClassId unit_class);

// Empty where the candidate shares nothing, or has sizes that are not known until run time.
std::optional<DemandClass> DemandClassOf(const Graph& graph, const Platform& platform, const Candidate& candidate);

// Of each class the candidate with most work, by index; of equals the first.
std::map<DemandClass, size_t> HeaviestOfDemandClasses(const Graph& graph, const Platform& platform,
                                                      std::span<const Candidate> candidates);

}  // namespace pt
