// Classes of candidates that are expected to bear their neighbours alike.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "partitiontuner/candidate/candidate.h"

namespace pt {

// Operator of the heaviest node, library, unit class, math.
using CandidateClass = std::tuple<std::string, std::string, UnitClassId, MathMode>;

// Empty where nothing can run beside the candidate, or nobody can measure it: on no host core or on all of them, on
// simulated devices, or of sizes that only the run knows.
std::optional<CandidateClass> ClassOf(const Graph& graph, const Platform& platform, const Candidate& candidate);

// Of each class the candidate with most work, by index; of equals the first.
std::map<CandidateClass, size_t> HeaviestOfClasses(const Graph& graph, const Platform& platform,
                                                   std::span<const Candidate> candidates);

}  // namespace pt
