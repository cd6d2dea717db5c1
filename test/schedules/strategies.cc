#include "test/schedules/strategies.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace pt::schedules {
namespace {

uint32_t Bit(size_t fiber) { return uint32_t{1} << fiber; }

bool AreIndependent(const Op& a, const Op& b) {
  return a.object == nullptr || a.object != b.object || (!a.writes && !b.writes);
}

template <typename Clock>
void Join(Clock& into, const Clock& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

size_t EveryOrder::First(uint32_t ready, size_t current, uint32_t asleep) const {
  if (current != kNobody && (asleep & Bit(current)) == 0) return current;
  return static_cast<size_t>(std::countr_zero(ready & ~asleep));
}

// Whose operation the point before has already gone on with in another execution, and cannot tell the order.
uint32_t EveryOrder::StillAsleep(const Point& before) const {
  uint32_t asleep = 0;
  const uint32_t candidates = (before.asleep | before.done) & ~Bit(before.picked);
  for (size_t i = 0; i < kMostFibers; ++i) {
    if ((candidates & Bit(i)) != 0 && AreIndependent(before.ops[i], before.ops[before.picked])) asleep |= Bit(i);
  }
  return asleep;
}

size_t EveryOrder::Pick(uint64_t all_ready, size_t current, std::span<const Op> ops) {
  const auto ready = static_cast<uint32_t>(all_ready);
  if (pruned_) return First(ready, current, 0);
  if (at_ == points_.size()) {
    Point point;
    point.ready = ready;
    point.asleep = points_.empty() ? 0 : StillAsleep(points_.back());
    std::copy(ops.begin(), ops.end(), point.ops.begin());
    if ((ready & ~point.asleep) == 0) {
      pruned_ = true;
      ++redundant_;
      return First(ready, current, 0);
    }
    point.picked = First(ready, current, point.asleep);
    point.wanted = Bit(point.picked);
    points_.push_back(point);
  }
  Point& point = points_[at_++];
  assert(point.ready == ready);
  const size_t picked = point.picked;
  Note(picked, ops[picked]);
  return picked;
}

// Operations of others that could have come after this one instead: those orders have to be run as well. `clock`: of
// the fiber, before this operation.
void EveryOrder::FindRaces(size_t fiber, const Op& op, const Clock& clock) {
  if (op.object == nullptr) return;
  const Object& object = objects_[op.object];
  bool read = false;
  for (size_t i = 0; op.writes && i < kMostFibers; ++i) {
    if (i == fiber || clock[i] >= object.reads[i]) continue;
    read = true;
    WantBefore(object.reads[i]);
  }
  const bool wrote = object.written > 0 && object.writer != fiber && clock[object.writer] < object.written;
  if (wrote && !read) WantBefore(object.written);
}

// At that position (from 1), somebody who begins what has come since and does not follow from what was picked there.
void EveryOrder::WantBefore(uint32_t position) {
  Point& point = points_[position - 1];
  uint32_t beginners = 0, begun = 0;
  std::vector<uint32_t> since;
  for (auto later = static_cast<uint32_t>(position + 1); later <= at_; ++later) {
    const Event& event = events_[later - 1];
    if (event.clock[point.picked] >= position) {
      if (later != at_) continue;  // the last one follows from it by this race alone
    }
    const bool follows =
        std::ranges::any_of(since, [&](uint32_t before) { return event.clock[events_[before - 1].fiber] >= before; });
    if (!follows && (begun & Bit(event.fiber)) == 0) beginners |= Bit(event.fiber);
    begun |= Bit(event.fiber);
    since.push_back(later);
  }
  beginners &= point.ready;
  if ((point.wanted & beginners) != 0) return;
  point.wanted |= beginners == 0 ? point.ready : beginners & (~beginners + 1);
}

void EveryOrder::Note(size_t fiber, const Op& op) {
  Clock& clock = clocks_[fiber];
  const Clock before = clock;
  const auto position = static_cast<uint32_t>(at_);
  clock[fiber] = position;
  if (op.object == nullptr) {
    events_.push_back({fiber, clock});
    return;
  }
  Object& object = objects_[op.object];
  Join(clock, object.write_clock);
  if (op.writes) Join(clock, object.read_clock);
  events_.push_back({fiber, clock});
  FindRaces(fiber, op, before);
  if (op.writes) {
    object.writer = fiber;
    object.written = position;
    object.reads = {};
    object.write_clock = clock;
    object.read_clock = {};
  } else {
    object.reads[fiber] = position;
    Join(object.read_clock, clock);
  }
}

void EveryOrder::Woke(size_t by, size_t whom) { Join(clocks_[whom], clocks_[by]); }

// Whoever locks it next comes after all that was done under it.
void EveryOrder::Unlocked(size_t by, const void* mutex) { Join(objects_[mutex].write_clock, clocks_[by]); }

bool EveryOrder::Next() {
  at_ = 0;
  pruned_ = false;
  clocks_ = {};
  objects_.clear();
  events_.clear();
  while (!points_.empty()) {
    Point& last = points_.back();
    last.done |= Bit(last.picked);
    const uint32_t left = last.wanted & ~last.done & ~last.asleep;
    if (left != 0) {
      last.picked = static_cast<size_t>(std::countr_zero(left));
      return true;
    }
    points_.pop_back();
  }
  return false;
}

size_t FewDelays::Pick(uint64_t ready, size_t current, std::span<const Op>) {
  const auto many = static_cast<uint32_t>(std::popcount(ready));
  if (at_ == points_.size()) points_.push_back({0, std::min(many - 1, left_)});
  Point& point = points_[at_++];
  left_ -= point.passed_over;
  size_t entity = current != kNobody ? current : last_;
  for (uint32_t passed = 0;; entity = (entity + 1) % (kTime + 1)) {
    if ((ready >> entity & 1) == 0) continue;
    if (passed++ == point.passed_over) break;
  }
  return last_ = entity;
}

bool FewDelays::Next() {
  at_ = 0;
  last_ = 0;
  left_ = delays_;
  while (!points_.empty()) {
    Point& last = points_.back();
    if (last.passed_over < last.most) {
      ++last.passed_over;
      return true;
    }
    points_.pop_back();
  }
  return false;
}

DrawnOrders::DrawnOrders(uint64_t first_seed, uint64_t count, uint32_t changes)
    : seed_(first_seed), end_(first_seed + count), changes_(changes) {
  Draw();
}

void DrawnOrders::Draw() {
  random_.seed(seed_);
  at_ = 0;
  lowest_ = 0;
  for (int64_t& priority : priorities_) priority = 1 + static_cast<int64_t>(random_() >> 2);
  change_at_.clear();
  const uint64_t length = uint64_t{32} << (random_() % 6);
  for (uint32_t i = 0; i < changes_; ++i) change_at_.push_back(random_() % length);
}

size_t DrawnOrders::Pick(uint64_t ready, size_t, std::span<const Op>) {
  const auto highest = [&] {
    size_t best = kNobody;
    for (size_t i = 0; i <= kTime; ++i) {
      if ((ready >> i & 1) != 0 && (best == kNobody || priorities_[i] > priorities_[best])) best = i;
    }
    return best;
  };
  const uint64_t here = at_++;
  if (std::find(change_at_.begin(), change_at_.end(), here) != change_at_.end()) priorities_[highest()] = --lowest_;
  return highest();
}

bool DrawnOrders::Next() {
  if (++seed_ == end_) return false;
  Draw();
  return true;
}

Outcome Explore(World& world, Strategy& strategy, const std::vector<std::function<void()>>& callers, uint64_t most,
                const std::function<void()>& before_each) {
  Outcome outcome;
  while (true) {
    before_each();
    outcome.failure = world.Run(callers, strategy);
    ++outcome.executions;
    if (!outcome.failure.empty() || !strategy.Next()) return outcome;
    if (outcome.executions == most) {
      outcome.finished = false;
      return outcome;
    }
  }
}

}  // namespace pt::schedules
