#include "partitiontuner/cost/beside_costs.h"

#include <algorithm>

#include "lib/cost/candidate_classes.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/costs_over.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

class BesideCosts : public CostsOver {
 public:
  BesideCosts(const Graph& graph, const Platform& platform, const CostModel& alone)
      : CostsOver(alone),
        graph_(graph),
        platform_(platform),
        reuse_distance_(ReuseDistance(graph, platform)),
        in_memory_(reuse_distance_ >= InMemoryDistance(platform)) {}

  void Read(std::span<const Candidate> candidates, const Profile& profile,
            const std::map<std::string, std::string>& library_versions);

  double Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const override;
  bool has_slowdown() const override { return !longer_.empty(); }

 private:
  // Shares of the time alone.
  struct Longer {
    double beside_memory = 0, beside_compute = 0;
  };

  double HogsIn(const Candidate& candidate) const;

  const Graph& graph_;
  const Platform& platform_;
  const uint64_t reuse_distance_;
  const bool in_memory_;  // a run touches more than caches hold
  std::map<CandidateClass, Longer> longer_;
  std::map<UnitClassId, double> hog_bytes_per_ns_;  // of one, beside a unit of that class
};

void BesideCosts::Read(std::span<const Candidate> candidates, const Profile& profile,
                       const std::map<std::string, std::string>& library_versions) {
  const auto ns_of = [&](const MeasurementKey& key) -> double {
    const Measurement* m = profile.find(key.hash);
    return m != nullptr && m->failure.empty() ? static_cast<double>(m->median_ns) : 0.0;
  };
  for (const auto& [of, index] : HeaviestOfClasses(graph_, platform_, candidates)) {
    const Candidate& candidate = candidates[index];
    const auto version = library_versions.find(candidate.library);
    if (version == library_versions.end()) continue;
    const MeasurementKey key = CostKey(graph_, platform_, candidate, version->second, reuse_distance_);
    const double alone = ns_of(key), beside_memory = ns_of(BesideKey(key, kMemoryHogs)),
                 beside_compute = ns_of(BesideKey(key, kComputeHogs));
    const double hog_ns = ns_of(MemoryHogKey(platform_, candidate.unit_class));
    if (alone <= 0 || beside_memory <= 0 || beside_compute <= 0 || hog_ns <= 0) continue;
    longer_[of] = {beside_memory / alone, beside_compute / alone};
    hog_bytes_per_ns_[candidate.unit_class] = kHogBytes / hog_ns;
  }
}

// As how many hogs the candidate uses memory, at most one on each of its cores. What caches hold from run to run asks
// nothing of memory.
double BesideCosts::HogsIn(const Candidate& candidate) const {
  if (!in_memory_) return 0;
  const auto rate = hog_bytes_per_ns_.find(candidate.unit_class);
  const std::optional<Estimate> time = under().OfStep(candidate).run;
  if (rate == hog_bytes_per_ns_.end() || !time || time->ns <= 0) return 0;
  const double hogs = WorkSizeOf(graph_, candidate.nodes).bytes / static_cast<double>(time->ns) / rate->second;
  return std::min(hogs, static_cast<double>(platform_.unit_class(candidate.unit_class).cores));
}

double BesideCosts::Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const {
  const std::optional<CandidateClass> of = ClassOf(graph_, platform_, candidate);
  const auto found = of ? longer_.find(*of) : longer_.end();
  if (found == longer_.end()) return 1;
  double hogs = 0, busy = 0;
  for (const Candidate* other : beside) {
    if (!ClassOf(graph_, platform_, *other)) continue;
    hogs += HogsIn(*other);
    busy += platform_.unit_class(other->unit_class).cores;
  }
  const double cores = OtherCores(platform_, candidate.unit_class);
  const Longer& longer = found->second;
  const double of_memory = std::max(0.0, longer.beside_memory - longer.beside_compute);
  return 1 + longer.beside_compute * std::min(1.0, busy / cores) + of_memory * std::min(1.0, hogs / cores);
}

}  // namespace

std::unique_ptr<CostModel> MakeBesideCosts(const Graph& graph, const Platform& platform,
                                           std::span<const Candidate> candidates, const Profile& profile,
                                           const std::map<std::string, std::string>& library_versions,
                                           const CostModel& alone) {
  auto costs = std::make_unique<BesideCosts>(graph, platform, alone);
  costs->Read(candidates, profile, library_versions);
  return costs;
}

}  // namespace pt
