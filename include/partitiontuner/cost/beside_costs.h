// BesideCosts: another cost model, which also knows how steps on host cores slow each other down.
//
// Candidates of one class (operator of the heaviest node, library, unit class, math) share what was measured of the
// heaviest of them: how much longer it takes while all other cores read and write memory, and while all of them
// compute. Between these two lies what it takes beside real work, by how fast that reads and writes: its bytes over its
// time, as a share of what the memory hogs came to, nothing where caches hold what a run touches; and by how many cores
// are busy.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/cost/profile.h"

namespace pt {

// What MemoryHogKey gives the time of.
inline constexpr double kHogBytes = 1 << 20;

// Cores of the host that a unit of that class leaves to others.
uint32_t OtherCores(const Platform& platform, UnitClassId unit_class);

// profile: with the rows that NeededKeys lists for these candidates; a class without them is not slowed down. What is
// on no host core, and work of sizes not known until run time, neither slows nor is slowed. graph, platform and
// `alone` must outlive the model.
std::unique_ptr<CostModel> MakeBesideCosts(const Graph& graph, const Platform& platform,
                                           std::span<const Candidate> candidates, const Profile& profile,
                                           const std::map<std::string, std::string>& library_versions,
                                           const CostModel& alone);

}  // namespace pt
