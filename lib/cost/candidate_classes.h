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

// Empty where the candidate cannot be measured on host cores: on other devices, simulated ones, or of sizes that only
// the run knows.
std::optional<CandidateClass> ClassOf(const Graph& graph, const Platform& platform, const Candidate& candidate);

// The same wherever the candidate runs.
CandidateClass AnyClassOf(const Graph& graph, const Candidate& candidate);

// What it computes and what it moves, in bytes at as many operations a byte as cores do about.
double WorkOf(const Graph& graph, const Candidate& candidate);

// Of each class that others can run beside, on fewer cores than all, the candidate with most work, by index; of equals
// the first.
std::map<CandidateClass, size_t> HeaviestOfClasses(const Graph& graph, const Platform& platform,
                                                   std::span<const Candidate> candidates);

}  // namespace pt
