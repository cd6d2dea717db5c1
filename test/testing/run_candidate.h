// Runs kernels without plans or sessions: one candidate, or a whole graph node by node, on a team that runs inline.
// Tensors go in and come out dense and row-major; reorders stand where a candidate wants another layout.
#pragma once

#include <map>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

// inputs: one for each of GroupInputs(graph, candidate.nodes). Results: one for each of GroupOutputs.
// What the candidate's library cannot reorder is reordered by the reference library. Packed weights are kept in
// `weights`, for other calls to share; null: for this one alone.
Result<std::vector<Tensor>> RunCandidate(const Graph& graph, const Platform& platform, const Library& library,
                                         const Candidate& candidate, std::span<const Tensor> inputs,
                                         uint32_t team_width = 1, WeightStore* weights = nullptr);

// Every node by `library`'s first candidate for it (CandidatesFor on the class of that width), in graph order.
// inputs: one for each graph input. Results: one for each graph output; all other values in `values` when not null.
Result<std::vector<Tensor>> RunGraph(const Graph& graph, const Platform& platform, const Library& library,
                                     std::span<const Tensor> inputs, uint32_t team_width = 1,
                                     std::map<ValueId, Tensor>* values = nullptr);

// A tensor of that type and dims with seeded content: floats around 0, small integers, booleans; zeros of the
// types that no C++ type can be.
Tensor RandomTensor(DataType type, const std::vector<int64_t>& dims, uint64_t seed);

// "" when equal within tolerance·max|expected| (floats; NaN and infinities in the same places) or exactly
// (all else; integers of 8 bits within so many steps), else what differs first.
std::string Difference(const Tensor& actual, const Tensor& expected, double tolerance, int64_t steps = 0);

}  // namespace pt::testing
