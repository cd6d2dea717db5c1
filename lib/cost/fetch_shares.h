// How much of what fetching costs candidates feel: measured of one of a class, whose inputs another unit has made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/cost/candidate_classes.h"
#include "partitiontuner/cost/profile.h"

namespace pt {

// A class of candidates, and the magnitude of what they read.
using FetchClass = std::pair<CandidateClass, int>;

// By unit class: on units of which class inputs are made when that is measured, the narrowest one that such a unit
// fetches from; empty where it fetches from none.
using Makers = std::vector<std::optional<UnitClassId>>;
Makers FindMakers(const Platform& platform);

// Empty where the candidate fetches nothing from other units' caches.
std::optional<FetchClass> FetchClassOf(const Graph& graph, const Platform& platform, const Makers& makers,
                                       const Candidate& candidate);

// Of each class the candidate whose time depends most on its inputs, by index; of equals the first.
std::map<FetchClass, size_t> KeenestOfClasses(const Graph& graph, const Platform& platform, const Makers& makers,
                                              std::span<const Candidate> candidates);

// fetch_ns: PairCost::fetch. The shares of classes that the profile knows.
std::map<FetchClass, double> ReadFetchShares(
    const Graph& graph, const Platform& platform, const Makers& makers, std::span<const Candidate> candidates,
    const Profile& profile, const std::map<std::string, std::string>& library_versions, uint64_t reuse_distance,
    const std::function<int64_t(UnitClassId from, UnitClassId to, uint64_t bytes)>& fetch_ns);

}  // namespace pt
