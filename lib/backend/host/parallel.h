// Spreading loops over a team. Every output element is computed by one call in one fixed order, so results do not
// depend on the width.
#pragma once

#include <algorithm>
#include <cstdint>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/support/even_share.h"

namespace pt {

// Calls f(part, begin, end) on ranges that cover 0..count-1: on several cores where the work is worth it, in at most
// `most` parts, which are numbered from 0 on. `work` is roughly the nanoseconds of one item.
template <typename F>
void ParallelParts(Team* team, int64_t count, double work, int64_t most, F&& f) {
  if (count <= 0) return;
  const double total = static_cast<double>(count) * work;
  const int64_t worth = total > 1e9 ? 1'000'000 : static_cast<int64_t>(total / 2500.0);
  const int64_t parts = std::min({count, worth, most});
  if (team == nullptr || team->width() < 2 || parts <= 1) {
    f(int64_t{0}, int64_t{0}, count);
    return;
  }
  auto body = [&](uint32_t i, uint32_t n) {
    const auto [begin, end] = EvenShare(count, i, n);
    f(static_cast<int64_t>(i), begin, end);
  };
  team->ParallelFor(static_cast<uint32_t>(parts), body);
}

// The same in up to four parts a core, for work that needs no number: f(begin, end).
template <typename F>
void ParallelRanges(Team* team, int64_t count, double work, F&& f) {
  const int64_t width = team != nullptr ? team->width() : 1;
  ParallelParts(team, count, work, width * 4, [&f](int64_t, int64_t begin, int64_t end) { f(begin, end); });
}

// The same in at most one part a core, for items whose elements lie between each other's: the fewer parts, the fewer
// cache lines are written by two cores.
template <typename F>
void ParallelShares(Team* team, int64_t count, double work, F&& f) {
  const int64_t width = team != nullptr ? team->width() : 1;
  ParallelParts(team, count, work, width, [&f](int64_t, int64_t begin, int64_t end) { f(begin, end); });
}

}  // namespace pt
