// What every candidate of every library must compute: what the reference library does.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

struct Case {
  const char* name;
  const char* graph;
};
Graph LoadCase(const Case& c);
std::vector<Tensor> RandomInputs(const Graph& graph);
std::string Describe(const Graph& graph, const Candidate& candidate);

// Asked by its name, a library says the same of a candidate as when it offered it, and nothing of one it never offers.
// Empty, or what it says instead.
std::string DescriptionFault(const Graph& graph, const Platform& platform, const Library& library,
                             const Candidate& candidate);
void CheckDescription(const Graph& graph, const Platform& platform, const Library& library, const Candidate& candidate);

// How many candidates of a library and a math mode were checked.
using CheckedCandidates = std::map<std::pair<std::string, MathMode>, size_t>;
// What every value of a graph is.
using ValuesOf = std::map<ValueId, Tensor>;
// Runs every candidate of every library on the values that the reference library made, and compares what it makes with
// those, as near as its math comes, where `compares` the value. Empty, or the first candidate that is wrong and why.
std::string FirstWrongCandidate(const Graph& graph, const ValuesOf& values, const Platform& platform,
                                const Precision& precision, const std::function<bool(ValueId)>& compares,
                                CheckedCandidates& checked);
void CheckGraph(const Graph& graph, std::span<const Tensor> inputs, const Platform& platform,
                const Precision& precision, CheckedCandidates& checked);
void CheckCase(const Case& c, const Platform& platform, const Precision& precision, CheckedCandidates& checked);

}  // namespace pt::testing
