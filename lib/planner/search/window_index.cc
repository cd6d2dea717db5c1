// What WindowScheduler knows of the schedule that changes are compared with, by position and by step.
#include <algorithm>

#include "lib/planner/search/window_scheduler.h"

namespace pt {
namespace {

// Positions between those whose lanes are known: what lies between is followed step by step.
constexpr uint32_t kSpacing = 16;

}  // namespace

void WindowScheduler::Index() {
  spent_ += solution_.size() * kOfChoice / 2;
  base_steps_ = static_cast<uint32_t>(steps_.size());
  base_waits_ = static_cast<uint32_t>(waits_.size());
  base_moves_ = static_cast<uint32_t>(moves_.size());
  again_.resize(base_steps_);
  IndexForward();
  IndexBackward();
}

// The least that a step takes of its unit's time over all units that it could run on.
int64_t WindowScheduler::LeastWork(const ScheduledStep& step) const {
  if (step.single_way) return step.overhead_ns + step.run_ns;
  int64_t least = kImpossible;
  ForEachWay(space_, step.value, step.from, step.to,
             [&](UnitId, int64_t overhead_ns, int64_t run_ns) { least = std::min(least, overhead_ns + run_ns); });
  return least;
}

// What a step that is not elided fetches from those of its makers that `from` names.
int64_t WindowScheduler::FetchOf(const ScheduledStep& step, const std::vector<bool>& from) const {
  int64_t fetch_ns = 0;
  const auto add = [&](ValueId v, uint32_t slot, double share) {
    const uint32_t made_by = writer_[instance(v, slot)];
    if (made_by == kBound || !from[made_by]) return;
    fetch_ns += space_.simulator().fetch_ns(steps_[made_by].made_on, step.unit, BytesIn(v, slot), share);
  };
  if (step.choice == kNothing) {
    add(step.value, step.from, kWholeFetch);
    return fetch_ns;
  }
  const Option& option = space_.option(solution_[step.choice].option);
  const Group& group = space_.group(option.group);
  for (size_t i = 0; i < group.in.size(); ++i) add(group.in[i], option.in[i], option.fetch_share);
  return fetch_ns;
}

// The lanes of step s as it leaves them.
void WindowScheduler::Occupy(uint32_t s, std::vector<int64_t>& free, std::vector<uint32_t>& last) const {
  const Lanes& lanes = space_.simulator().lanes();
  const ScheduledStep& step = steps_[s];
  const uint32_t driver = lanes.driver[step.unit.index()];
  if (driver != Lanes::kNone) free[driver] = step.launched_ns, last[driver] = s;
  for (uint32_t lane : lanes.of_unit[step.unit.index()]) free[lane] = step.end_ns, last[lane] = s;
}

// How long at least the lanes of step s are needed from its start on.
void WindowScheduler::FollowLanes(uint32_t s, std::vector<int64_t>& lane_tail) const {
  const Lanes& lanes = space_.simulator().lanes();
  const ScheduledStep& step = steps_[s];
  if (!step.single_way) return;  // which lanes it takes is not known
  for (uint32_t lane : lanes.of_unit[step.unit.index()]) lane_tail[lane] = tails_[s].run_ns;
  const uint32_t driver = lanes.driver[step.unit.index()];
  if (driver != Lanes::kNone) lane_tail[driver] = tails_[s].launch_ns;
}

void WindowScheduler::LanesBefore(uint32_t position, std::vector<int64_t>& free, std::vector<uint32_t>& last) const {
  const size_t count = space_.simulator().lanes().count;
  const uint32_t known = position / kSpacing;
  free.assign(lanes_free_.begin() + known * count, lanes_free_.begin() + (known + 1) * count);
  last.assign(lanes_last_.begin() + known * count, lanes_last_.begin() + (known + 1) * count);
  for (uint32_t s = first_step_[known * kSpacing]; s < first_step_[position]; ++s) Occupy(s, free, last);
}

void WindowScheduler::LaneTailsFrom(uint32_t position, std::vector<int64_t>& lane_tail) const {
  const size_t count = space_.simulator().lanes().count;
  const uint32_t known = (position + kSpacing - 1) / kSpacing;
  uint32_t end = base_steps_;
  if (size_t{known} * kSpacing <= solution_.size()) {
    lane_tail.assign(lanes_tail_.begin() + known * count, lanes_tail_.begin() + (known + 1) * count);
    end = first_step_[known * kSpacing];
  } else {
    lane_tail.assign(count, kUnused);
  }
  for (uint32_t s = end; s-- > first_step_[position];) FollowLanes(s, lane_tail);
}

void WindowScheduler::IndexForward() {
  const size_t count = space_.simulator().lanes().count;
  const auto size = static_cast<uint32_t>(solution_.size());
  latest_before_.resize(size + 1);
  work_before_.resize(size + 1);
  lanes_free_.resize((size / kSpacing + 1) * count);
  lanes_last_.resize(lanes_free_.size());
  last_follower_.assign(steps_.size(), 0);
  unsure_place_.assign(steps_.size(), false);
  elided_step_.assign(steps_.size(), false);
  ways_.clear();
  ways_of_.resize(steps_.size());
  behind_bare_ = 0;
  std::vector<int64_t> free(count, 0);
  std::vector<uint32_t> last(count, kNothing);
  int64_t latest = 0, work = 0;
  uint32_t s = 0;
  const auto look_at = [&](const ScheduledStep& step) {
    Occupy(s, free, last);
    latest = std::max(latest, step.end_ns);
    work += step.overhead_ns + step.run_ns;
    if (step.first_wait == step.end_wait) behind_bare_ = s + 1;
    bool unsure = false;
    for (uint32_t w = step.first_wait; w < step.end_wait; ++w) {
      last_follower_[waits_[w]] = s;
      unsure = unsure || unsure_place_[waits_[w]];
    }
    if (!step.single_way) AddWays(s);
    elided_step_[s] = step.choice != kNothing && elided_[step.choice];
    unsure_place_[s] = !step.single_way || (elided_step_[s] && unsure);
  };
  for (uint32_t position = 0; position <= size; ++position) {
    for (; s < first_step_[position]; ++s) look_at(steps_[s]);
    latest_before_[position] = latest;
    work_before_[position] = work;
    if (position % kSpacing != 0) continue;
    std::copy(free.begin(), free.end(), lanes_free_.begin() + position / kSpacing * count);
    std::copy(last.begin(), last.end(), lanes_last_.begin() + position / kSpacing * count);
  }
  for (; s < steps_.size(); ++s) look_at(steps_[s]);
}

void WindowScheduler::IndexBackward() {
  const size_t count = space_.simulator().lanes().count;
  const auto size = static_cast<uint32_t>(solution_.size());
  tails_.resize(steps_.size());
  after_.assign(steps_.size(), 0);
  through_.resize(waits_.size());
  latest_from_.resize(size + 1);
  spare_work_from_.resize(size + 1);
  elided_fetch_from_.resize(size + 1);
  lanes_tail_.resize((size / kSpacing + 1) * count);
  behind_unsure_ = 0;
  next_move_ = kNothing;
  std::vector<int64_t> lane_tail(count, kUnused);
  int64_t latest = 0, spare = 0, fetch = 0;
  auto position = static_cast<int64_t>(size);
  const auto note_positions = [&](uint32_t first) {
    for (; position >= 0 && first_step_[position] >= first; --position) {
      latest_from_[position] = latest;
      spare_work_from_[position] = spare;
      elided_fetch_from_[position] = fetch;
      if (position % kSpacing != 0) continue;
      std::copy(lane_tail.begin(), lane_tail.end(), lanes_tail_.begin() + position / kSpacing * count);
    }
  };
  for (auto s = static_cast<uint32_t>(steps_.size()); s-- > 0;) {
    note_positions(s + 1);
    const ScheduledStep& step = steps_[s];
    bool unsure = false, elided = false;
    for (uint32_t w = step.first_wait; w < step.end_wait; ++w) {
      unsure = unsure || unsure_place_[waits_[w]];
      elided = elided || elided_step_[waits_[w]];
    }
    const bool fetches = !elided_step_[s];
    const int64_t unsure_ns = fetches && unsure && step.single_way ? FetchOf(step, unsure_place_) : 0;
    if (fetches && elided) fetch += FetchOf(step, elided_step_);
    if (behind_unsure_ == 0 && (!step.single_way || unsure_ns > 0)) behind_unsure_ = s + 1;
    spare += step.overhead_ns + step.run_ns - LeastWork(step) + unsure_ns;
    IndexTail(s, unsure_ns, lane_tail);
    latest = std::max(latest, step.end_ns);
  }
  note_positions(0);
}

// Only what holds whatever changes before: a move with several ways to go holds its place in no list, and what is
// fetched from where that may change takes nothing.
void WindowScheduler::IndexTail(uint32_t s, int64_t unsure_ns, std::vector<int64_t>& lane_tail) {
  const Lanes& lanes = space_.simulator().lanes();
  const ScheduledStep& step = steps_[s];
  if (!step.single_way) return IndexWays(s, lane_tail);
  const uint32_t driver = lanes.driver[step.unit.index()];
  Tail& tail = tails_[s];
  int64_t rest = after_[s];
  for (uint32_t lane : lanes.of_unit[step.unit.index()]) rest = std::max(rest, lane_tail[lane]);
  if (next_move_ != kNothing && IsBeforeAllWays(step.unit, next_move_))
    rest = std::max(rest, tails_[next_move_].run_ns);
  tail.run_ns = tail.launch_ns = step.run_ns - unsure_ns + rest + (driver == Lanes::kNone ? step.overhead_ns : 0);
  if (driver != Lanes::kNone) tail.launch_ns = step.overhead_ns + std::max(tail.run_ns, lane_tail[driver]);
  FollowLanes(s, lane_tail);
  for (uint32_t w = step.first_wait; w < step.end_wait; ++w) {
    const ScheduledStep& maker = steps_[waits_[w]];
    NoteFollower(w, [&](UnitId made_on) {
      const int64_t ns = FromEnd(made_on, step.unit, tail);
      if (maker.single_way || elided_step_[s]) return ns;
      // Its fetch is not in the tail, as one that is not sure.
      return ns + space_.simulator().fetch_ns(made_on, step.unit, BytesIn(maker.value, maker.to), FetchShareOf(step));
    });
  }
}

// Of a move with several ways: the least over all of them. What each of them is followed by is known one by one.
void WindowScheduler::IndexWays(uint32_t s, const std::vector<int64_t>& lane_tail) {
  const Lanes& lanes = space_.simulator().lanes();
  const ScheduledStep& step = steps_[s];
  const std::span<Way> ways = WaysOf(s);
  for (Way& way : ways) {
    if (way.unit == step.unit) after_[s] = way.rest_ns;
    for (uint32_t lane : lanes.of_unit[way.unit.index()]) way.rest_ns = std::max(way.rest_ns, lane_tail[lane]);
  }
  const auto least = [&](auto wait_ns) {
    int64_t ns = kImpossible;
    for (const Way& way : ways) ns = std::min(ns, wait_ns(way.unit) + way.ns + way.rest_ns);
    return ns;
  };
  tails_[s].run_ns = tails_[s].launch_ns = least([](UnitId) { return int64_t{0}; });
  next_move_ = s;
  for (uint32_t w = step.first_wait; w < step.end_wait; ++w) {
    NoteFollower(w, [&](UnitId made_on) {
      return least([&](UnitId unit) { return space_.simulator().wait_ns(made_on, unit); });
    });
  }
}

// Whichever way the move goes, it waits for what runs on the unit before it.
bool WindowScheduler::IsBeforeAllWays(UnitId unit, uint32_t move) {
  const Lanes& lanes = space_.simulator().lanes();
  const std::vector<uint32_t>& mine = lanes.of_unit[unit.index()];
  return std::ranges::all_of(WaysOf(move), [&](const Way& way) {
    return std::ranges::any_of(lanes.of_unit[way.unit.index()],
                               [&](uint32_t lane) { return std::ranges::find(mine, lane) != mine.end(); });
  });
}

// From the end of a step on one unit: what follows from a step on another one that waits for it.
int64_t WindowScheduler::FromEnd(UnitId made_on, UnitId unit, const Tail& tail) const {
  const bool on_device = space_.simulator().waits_on_device(made_on, unit);
  return space_.simulator().wait_ns(made_on, unit) + (on_device ? tail.run_ns : tail.launch_ns);
}

std::span<WindowScheduler::Way> WindowScheduler::WaysOf(uint32_t s) {
  return std::span(ways_).subspan(ways_of_[s].first, ways_of_[s].second);
}

void WindowScheduler::AddWays(uint32_t s) {
  const Lanes& lanes = space_.simulator().lanes();
  const ScheduledStep& step = steps_[s];
  ways_of_[s].first = static_cast<uint32_t>(ways_.size());
  ForEachWay(space_, step.value, step.from, step.to, [&](UnitId unit, int64_t overhead_ns, int64_t run_ns) {
    // On a queue its launch may be hidden.
    const bool launched = lanes.driver[unit.index()] != Lanes::kNone;
    ways_.push_back({unit, run_ns + (launched ? 0 : overhead_ns), 0});
  });
  ways_of_[s].second = static_cast<uint32_t>(ways_.size()) - ways_of_[s].first;
}

}  // namespace pt
