#include "lib/exec/dispatch_queue.h"

#include <algorithm>
#include <utility>

namespace pt {

DispatchQueue::DispatchQueue(const DispatchTable& table, size_t units)
    : table_(table),
      places_(units),
      choices_(table.tasks.size(), 0),
      waits_(table.tasks.size(), 0),
      next_(table.tasks.size(), kNoTask) {
  ready_.reserve(table.tasks.size());
}

void DispatchQueue::Begin() {
  std::ranges::fill(places_, Place());
  ready_.clear();
  unfinished_ = table_.tasks.size();
  for (uint32_t t = 0; t < table_.tasks.size(); ++t) {
    waits_[t] = table_.tasks[t].makers;
    if (waits_[t] == 0) ready_.push_back(t);
  }
}

void DispatchQueue::Finish(uint32_t task, int64_t now_ns) {
  Place& place = places_[placement(task).unit.index()];
  place.oldest = next_[task];
  if (place.oldest == kNoTask) {
    place = Place();
  } else {
    place.since_ns = now_ns;
    place.behind_ns -= placement(place.oldest).expected_ns;
  }
  --unfinished_;
  for (uint32_t reader : table_.tasks[task].readers) {
    if (--waits_[reader] == 0) ready_.push_back(reader);
  }
}

void DispatchQueue::Decide(int64_t now_ns) {
  std::ranges::sort(ready_, {}, [&](uint32_t t) { return std::pair(-table_.tasks[t].rank_ns, t); });
  for (uint32_t task : ready_) Give(task, now_ns);
  ready_.clear();
}

uint32_t DispatchQueue::Take(UnitId unit) {
  Place& place = places_[unit.index()];
  const uint32_t task = place.untaken;
  if (task != kNoTask) place.untaken = next_[task];
  return task;
}

int64_t DispatchQueue::FreeAt(const Place& place, int64_t now_ns) const {
  if (place.oldest == kNoTask) return now_ns;
  return std::max(now_ns, place.since_ns + placement(place.oldest).expected_ns) + place.behind_ns;
}

void DispatchQueue::Give(uint32_t task, int64_t now_ns) {
  const std::vector<DispatchPlacement>& placements = table_.tasks[task].placements;
  std::pair<bool, int64_t> best{true, INT64_MAX};  // its unit has work, when it would end
  for (uint32_t p = 0; p < placements.size(); ++p) {
    const Place& place = places_[placements[p].unit.index()];
    const std::pair rank(place.oldest != kNoTask, FreeAt(place, now_ns) + placements[p].expected_ns);
    if (p > 0 && rank >= best) continue;
    best = rank;
    choices_[task] = p;
  }
  Place& place = places_[placements[choices_[task]].unit.index()];
  next_[task] = kNoTask;
  if (place.oldest == kNoTask) {
    place.oldest = task;
    place.since_ns = now_ns;
  } else {
    next_[place.newest] = task;
    place.behind_ns += placements[choices_[task]].expected_ns;
  }
  place.newest = task;
  if (place.untaken == kNoTask) place.untaken = task;
}

}  // namespace pt
