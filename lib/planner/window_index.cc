// What WindowScheduler knows of the schedule that changes are compared with, by position.
#include <algorithm>

#include "lib/planner/window_scheduler.h"

namespace pt {

void WindowScheduler::Index() {
  spent_ += solution_.size();
  last_read_.assign(values_.size(), 0);
  for (uint32_t c = 0; c < solution_.size(); ++c) {
    const Group& group = space_.group_of(solution_[c].option);
    for (NodeId node : group.nodes) choice_of_[node.index()] = c;
    for (ValueId in : group.in) last_read_[in.index()] = c + 1;
  }
  base_steps_ = static_cast<uint32_t>(steps_.size());
  base_waits_ = static_cast<uint32_t>(waits_.size());
  base_moves_ = static_cast<uint32_t>(moves_.size());
  if (whole_only_) return;
  IndexTails();
  IndexLanes();
}

// The least that a step takes of its unit's time over all units that it could run on; `single` when that is one.
int64_t WindowScheduler::LeastWork(const ScheduledStep& step, bool& single) const {
  single = true;
  if (step.choice != kNothing) return step.overhead_ns + step.run_ns;
  int64_t least = kImpossible;
  int ways = 0;
  ForEachWay(space_, step.value, step.from, step.to, [&](UnitId, int64_t overhead_ns, int64_t run_ns) {
    least = std::min(least, overhead_ns + run_ns);
    ++ways;
  });
  single = ways < 2;
  return least;
}

// What the step fetches from where the place of the maker's results may depend on what comes before: a move with
// several ways to go, or an elided step, whose results lie where its inputs do.
int64_t WindowScheduler::UnsureFetch(const ScheduledStep& step) const {
  if (step.choice != kNothing && elided_[step.choice]) return 0;
  int64_t fetch_ns = 0;
  const auto add = [&](ValueId v, uint32_t slot, double share) {
    const uint32_t made_by = writer_[instance(v, slot)];
    if (made_by == kBound) return;
    const ScheduledStep& maker = steps_[made_by];
    bool sure = true;
    if (maker.choice == kNothing) {
      LeastWork(maker, sure);
    } else {
      sure = !elided_[maker.choice];
    }
    if (!sure) fetch_ns += space_.simulator().fetch_ns(maker.made_on, step.unit, BytesIn(v, slot), share);
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

// Only what holds whatever changes before: a move with several ways to go holds its place in no list and takes its
// least time.
void WindowScheduler::IndexTails() {
  const Lanes& lanes = space_.simulator().lanes();
  const Simulator& simulator = space_.simulator();
  const auto size = static_cast<uint32_t>(solution_.size());
  tails_.assign(steps_.size(), {});
  single_way_.assign(steps_.size(), true);
  latest_from_.assign(size + 1, 0);
  spare_work_from_.assign(size + 1, 0);
  lanes_tail_.assign((size / spacing_ + 1) * lanes.count, 0);
  std::vector<int64_t> lane_tail(lanes.count, 0), after(steps_.size(), 0);
  int64_t latest = 0, spare = 0;
  auto position = static_cast<int64_t>(size);
  const auto note_positions = [&](uint32_t first) {
    for (; position >= 0 && first_step_[position] >= first; --position) {
      latest_from_[position] = latest;
      spare_work_from_[position] = spare;
      if (position % spacing_ != 0) continue;
      std::copy(lane_tail.begin(), lane_tail.end(), lanes_tail_.begin() + position / spacing_ * lanes.count);
    }
  };
  for (auto s = static_cast<uint32_t>(steps_.size()); s-- > 0;) {
    note_positions(s + 1);
    const ScheduledStep& step = steps_[s];
    const uint32_t driver = lanes.driver[step.unit.index()];
    bool single = true;
    const int64_t work_ns = LeastWork(step, single);
    const int64_t unsure_ns = single ? UnsureFetch(step) : 0;
    spare += step.overhead_ns + step.run_ns - work_ns + unsure_ns;
    single_way_[s] = single;
    Tail& tail = tails_[s];
    if (!single) {
      // On a queue its launch may be hidden, so only half of what is known of its least time is sure.
      int64_t least = kImpossible;
      ForEachWay(space_, step.value, step.from, step.to, [&](UnitId unit, int64_t overhead_ns, int64_t run_ns) {
        const bool launched = lanes.driver[unit.index()] != Lanes::kNone;
        least = std::min(least, run_ns + (launched ? 0 : overhead_ns));
      });
      tail.run_ns = tail.launch_ns = least + after[s];
    } else {
      int64_t rest = after[s];
      for (uint32_t lane : lanes.of_unit[step.unit.index()]) rest = std::max(rest, lane_tail[lane]);
      tail.run_ns = tail.launch_ns = step.run_ns - unsure_ns + rest + (driver == Lanes::kNone ? step.overhead_ns : 0);
      for (uint32_t lane : lanes.of_unit[step.unit.index()]) lane_tail[lane] = tail.run_ns;
      if (driver != Lanes::kNone) {
        tail.launch_ns = step.overhead_ns + std::max(tail.run_ns, lane_tail[driver]);
        lane_tail[driver] = tail.launch_ns;
      }
    }
    for (uint32_t w = step.first_wait; w < step.end_wait; ++w) {
      const ScheduledStep& maker = steps_[waits_[w]];
      bool fixed = single;
      if (maker.choice == kNothing) LeastWork(maker, fixed);
      fixed = fixed && single;
      const bool on_device = !fixed || simulator.waits_on_device(maker.unit, step.unit);
      const int64_t wait_ns = fixed ? simulator.wait_ns(maker.unit, step.unit) : 0;
      after[waits_[w]] = std::max(after[waits_[w]], wait_ns + (on_device ? tail.run_ns : tail.launch_ns));
    }
    latest = std::max(latest, step.end_ns);
  }
  note_positions(0);
}

// The lanes of step s as it leaves them.
void WindowScheduler::Occupy(uint32_t s, std::vector<int64_t>& free, std::vector<uint32_t>& last) const {
  const Lanes& lanes = space_.simulator().lanes();
  const ScheduledStep& step = steps_[s];
  const uint32_t driver = lanes.driver[step.unit.index()];
  if (driver != Lanes::kNone) free[driver] = step.launched_ns, last[driver] = s;
  for (uint32_t lane : lanes.of_unit[step.unit.index()]) free[lane] = step.end_ns, last[lane] = s;
}

void WindowScheduler::IndexLanes() {
  const Lanes& lanes = space_.simulator().lanes();
  const auto size = static_cast<uint32_t>(solution_.size());
  latest_before_.assign(size + 1, 0);
  work_before_.assign(size + 1, 0);
  lanes_free_.assign((size / spacing_ + 1) * lanes.count, 0);
  lanes_last_.assign(lanes_free_.size(), kNothing);
  std::vector<int64_t> free(lanes.count, 0);
  std::vector<uint32_t> last(lanes.count, kNothing);
  int64_t latest = 0, work = 0;
  uint32_t s = 0;
  for (uint32_t position = 0; position <= size; ++position) {
    for (; s < first_step_[position]; ++s) {
      Occupy(s, free, last);
      latest = std::max(latest, steps_[s].end_ns);
      work += steps_[s].overhead_ns + steps_[s].run_ns;
    }
    latest_before_[position] = latest;
    work_before_[position] = work;
    if (position % spacing_ != 0) continue;
    std::copy(free.begin(), free.end(), lanes_free_.begin() + position / spacing_ * lanes.count);
    std::copy(last.begin(), last.end(), lanes_last_.begin() + position / spacing_ * lanes.count);
  }
}

}  // namespace pt
