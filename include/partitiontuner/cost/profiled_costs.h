// ProfiledCosts: the CostModel over a profile: exact look-ups, then a fit per family marked as estimate.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/cost/profile.h"

namespace pt {

// How many bytes a run touches, the step's own among them, until it comes to the same step again. It decides in which
// cache, if any, the step still finds its weights, its code and what its library keeps for it, so all work is measured
// after touching as much, and it is part of its keys. What is read of constants and the largest activations, as the
// nearest of four steps to the doubling; at most InMemoryDistance, beyond which nothing is left in a cache.
uint64_t ReuseDistance(const Graph& graph, const Platform& platform);
uint64_t InMemoryDistance(const Platform& platform);
// The key of the same work measured after touching that many bytes.
MeasurementKey AfterReuse(MeasurementKey key, uint64_t reuse_distance);
// Which of a candidate's inputs and outputs are buffers of the caller, by position: plain row-major tensors of the
// graph's ends, on the host. Nothing touched them since the step that used them in the run before, so they lie where
// the run has left them, while the plan's own tensors are made just before they are read. Of several readers of an
// input, the first finds it so.
struct CallersTensors {
  std::vector<uint32_t> in, out;
};
CallersTensors CallersTensorsOf(const Graph& graph, const Platform& platform, const Candidate& candidate);

// CandidateKey, AfterReuse, and which tensors are the caller's.
MeasurementKey CostKey(const Graph& graph, const Platform& platform, const Candidate& candidate,
                       std::string_view library_version, uint64_t reuse_distance);

struct ProfiledCostsOptions {
  std::map<std::string, std::string> library_versions;  // name -> version, as in the keys
  bool allow_estimates = true;                          // false: what was not measured cannot run
  // Candidates that will be asked for most. The costs of classes are read of them. Must outlive the model and stay
  // unchanged.
  std::span<const Candidate> candidates = {};
  // They are looked up at once, so that no thread waits for another's look-up; false: each when it is asked for.
  bool look_up_at_once = true;
};

// graph and platform must outlive the model. What was not measured is predicted from what was measured of its like on
// the same kind of unit (docs/profile-format.md, "What costs are made of it") and marked kEstimated: `ns` is a time
// that 80 % of such work keeps within, the interval its central 80 %. Simulated devices are answered from the platform.
std::unique_ptr<CostModel> MakeProfiledCosts(const Graph& graph, const Platform& platform, Profile profile,
                                             const ProfiledCostsOptions& options);

// Two different units of these classes, host units with different leading cores, so that a step on the first hands over
// to one on the second; units that can run at once if there are any. Empty: nothing is ever handed over between them.
std::optional<std::pair<UnitId, UnitId>> HandOverUnits(const Platform& platform, UnitClassId from, UnitClassId to);

// By unit class: on units of which class inputs are made when it is measured what fetching them costs: the narrowest
// one that such a unit fetches from; empty where it fetches from none.
using Makers = std::vector<std::optional<UnitClassId>>;
Makers FindMakers(const Platform& platform);

}  // namespace pt
