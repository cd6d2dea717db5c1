// What candidates ask of a device that several of its units share: measured of one of a class.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "lib/cost/candidate_classes.h"
#include "partitiontuner/cost/profile.h"

namespace pt {

// A class of candidates, and the magnitude of their work: what a kernel asks grows with what it computes.
using DemandClass = std::pair<CandidateClass, int>;

// Units of that class compute, share a resource with each other, and no file says what work asks of it.
bool SharesItsDevice(const Platform& platform, UnitClassId unit_class);

// Empty where the candidate shares nothing, or has sizes that only the run knows.
std::optional<DemandClass> DemandClassOf(const Graph& graph, const Platform& platform, const Candidate& candidate);

// Of each class the candidate with most work, by index; of equals the first.
std::map<DemandClass, size_t> HeaviestOfDemandClasses(const Graph& graph, const Platform& platform,
                                                      std::span<const Candidate> candidates);

// The demands of classes that the profile knows. What could not be run twice at once asks for all there is.
std::map<DemandClass, double> ReadDemands(const Graph& graph, const Platform& platform,
                                          std::span<const Candidate> candidates, const Profile& profile,
                                          const std::map<std::string, std::string>& library_versions,
                                          uint64_t reuse_distance);

}  // namespace pt
