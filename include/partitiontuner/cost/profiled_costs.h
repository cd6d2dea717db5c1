// ProfiledCosts: the CostModel over a profile: exact look-ups, then a fit per family marked as estimate.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/cost/profile.h"

namespace pt {

struct ProfiledCostsOptions {
  std::map<std::string, std::string> library_versions;  // name -> version, as in the keys
  bool allow_estimates = true;  // false: what was not measured cannot run
};

// graph and platform must outlive the model; the profile is copied as needed. The families are fitted as
// a·n^b + c (n = bytes or flops) in log space by robust regression from at least 10 samples.
std::unique_ptr<CostModel> MakeProfiledCosts(const Graph& graph, const Platform& platform, Profile profile,
                                             const ProfiledCostsOptions& options);

// Every key a planner over these candidates may ask for: candidates, reorders between the forms of one value,
// copies over each link, overheads and waits. What pt-profile measures.
struct NeededKey {
  MeasurementKey key;
  enum class Kind : uint8_t { kCandidate, kReorder, kCopy, kOverhead, kWait } kind = Kind::kCandidate;
  size_t candidate = 0;                // index, for kCandidate: the first with this key
  std::vector<int64_t> dims;           // kReorder
  Form from, to;                       // kReorder
  UnitClassId unit_class, to_class;    // kReorder, kOverhead, kWait
  LinkId link;                         // kCopy
  uint64_t bytes = 0;                  // kCopy
  double expected_flops = 0, expected_bytes = 0;  // for ordering
};
std::vector<NeededKey> NeededKeys(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                                  const std::map<std::string, std::string>& library_versions);

}  // namespace pt
