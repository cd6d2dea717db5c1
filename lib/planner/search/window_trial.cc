// A trial of WindowScheduler: the change scheduled from where it begins until what follows is known.
#include <algorithm>

#include "lib/planner/search/window_scheduler.h"

namespace pt {
namespace {

// Readers of one value that a comparison looks at: what it leaves out costs sharpness, not truth.
constexpr size_t kReaders = 64;

}  // namespace

// Goes on from next_. Comparisons become rarer the further the end of the change is behind: they look at all of it.
WindowScheduler::Verdict WindowScheduler::Continue(bool to_the_end) {
  while (next_ <= Size()) {
    const Verdict verdict = Judge(to_the_end);
    if (verdict != Verdict::kOpen) return verdict;
    const size_t first = steps_.size();
    if (!EmitNext()) return Verdict::kWorse;
    for (size_t s = first; s < steps_.size(); ++s) latest_ = std::max(latest_, steps_[s].end_ns);
    if (!to_the_end && !MayBeBetter(first)) return Verdict::kWorse;
  }
  return Verdict::kOpen;
}

WindowScheduler::Verdict WindowScheduler::Judge(bool to_the_end) {
  if (next_ < WindowEnd() || next_ >= Size()) return Verdict::kOpen;
  const uint32_t old = OldPosition(next_);
  if (old < next_look_ || (settled_ && to_the_end)) return Verdict::kOpen;
  next_look_ = old + 1 + (old - not_before_) / 2;
  if (!settled_) {
    if (!MovesAgree(old)) return Verdict::kOpen;
    settled_ = true;
    settled_step_ = static_cast<uint32_t>(steps_.size());
  }
  return to_the_end ? Verdict::kOpen : Compare(old);
}

bool WindowScheduler::EmitNext() {
  const uint32_t now = next_++;
  if (!settled_) {
    while (next_anew_ < anew_.size() && anew_[next_anew_] < now) ++next_anew_;
    if (next_anew_ < anew_.size() && anew_[next_anew_] == now) {
      const bool possible = now == Size() ? EmitOutputs() : EmitChoice(now, ChoiceAt(now), IsElidedAt(now));
      spent_ += (steps_.size() - base_steps_ - repeated_.size()) * kOfChoice;
      repeated_.resize(steps_.size() - base_steps_, kNothing);
      return possible;
    }
  }
  // Choices inside the window that are not made anew stand where they stood.
  return Repeat(now < WindowEnd() ? now : OldPosition(now), now);
}

// The steps at an old position once more: the same except for their times, and for the units of moves that have several
// ways to go. False when something is read before it is made.
bool WindowScheduler::Repeat(uint32_t old, uint32_t now) {
  first_step_.push_back(static_cast<uint32_t>(steps_.size()));
  const uint32_t first = first_step_[old], end = StepsBehind(old);
  spent_ += (end - first) * kOfRepeat;
  for (uint32_t s = first; s < end; ++s) {
    if (!RepeatStep(s, now)) return false;
  }
  return true;
}

bool WindowScheduler::RepeatStep(uint32_t s, uint32_t now) {
  const auto first_wait = static_cast<uint32_t>(waits_.size());
  bool same = steps_[s].single_way;
  for (uint32_t w = steps_[s].first_wait; same && w < steps_[s].end_wait; ++w) {
    uint32_t maker = waits_[w];
    if (maker >= hidden_from_) {
      maker = Again(maker);
      same = maker != kNothing && steps_[maker].made_on == steps_[waits_[w]].made_on;
    }
    waits_.push_back(maker);
  }
  if (same) {
    ScheduledStep step = steps_[s];
    if (step.choice != kNothing) step.choice = now;
    step.first_wait = first_wait;
    step.end_wait = static_cast<uint32_t>(waits_.size());
    step.blocker = kNothing;
    Emit(step);
  } else {
    waits_.resize(first_wait);
    if (!IsThereFor(s)) return false;
    if (steps_[s].choice == kNothing) {
      EmitMove(steps_[s].value, Move{steps_[s].from, steps_[s].to, false});
    } else {
      EmitGroup(now, ChoiceAt(now), elided_[steps_[s].choice]);
    }
  }
  again_[s] = static_cast<uint32_t>(steps_.size() - 1);
  repeated_.push_back(s);
  is_faster_ = is_faster_ || steps_.back().run_ns < steps_[s].run_ns;
  return true;
}

// What the step of the old schedule reads has been made.
bool WindowScheduler::IsThereFor(uint32_t s) const {
  const ScheduledStep& step = steps_[s];
  if (step.choice == kNothing) return writer(step.value, step.from) != kNothing;
  const Option& option = space_.option(solution_[step.choice].option);
  const Group& group = space_.group(option.group);
  for (size_t i = 0; i < group.in.size(); ++i) {
    if (writer(group.in[i], option.in[i]) == kNothing) return false;
  }
  return true;
}

// What was emitted last ends early enough, as far as can be seen, and so does what must follow it.
bool WindowScheduler::MayBeBetter(size_t first) {
  if (latest_ > limit_.makespan_ns) return false;
  if (!settled_ || next_ > Size()) return true;
  int64_t least = LatestNow() + saved_ns_;
  for (size_t n = first; n < steps_.size(); ++n) {
    if (steps_[n].single_way) least = std::max(least, steps_[n].start_ns + tails_[repeated_[n - base_steps_]].run_ns);
  }
  return !IsHopeless(least - saved_ns_, OldPosition(next_));
}

// With so long a makespan at least, the change is not what is wanted; `at`: the old position that comes next.
bool WindowScheduler::IsHopeless(int64_t least_ns, uint32_t at) const {
  if (least_ns != limit_.makespan_ns) return least_ns > limit_.makespan_ns;
  const int64_t work_ns = WorkNow() + score_.work_ns - work_before_[at] - spare_work_from_[at] - saved_ns_;
  return work_ns > limit_.work_ns || (work_ns == limit_.work_ns && wanted_ == Wanted::kBetter);
}

WindowScheduler::Verdict WindowScheduler::Known(int64_t makespan_ns, uint32_t at) {
  result_ = {makespan_ns, WorkNow() + score_.work_ns - work_before_[at]};
  return limit_ < result_ ? Verdict::kWorse : Verdict::kKnown;
}

// From `at` on the same moves are left, so that the same steps follow.
bool WindowScheduler::MovesAgree(uint32_t at) const {
  const auto was_made = [&](ValueId v, uint32_t slot) { return writer_[instance(v, slot)] < first_step_[at]; };
  return std::all_of(touched_.begin(), touched_.end(), [&](const auto& touched) {
    const ValueId v = touched.first;
    const ValueState& before = touched.second;
    const ValueState& state = values_[v.index()];
    const auto old_moves = std::span(moves_).subspan(before.first_move, before.end_move - before.first_move);
    const auto new_moves = std::span(moves_).subspan(state.first_move, state.end_move - state.first_move);
    const bool same = state.primary == before.primary &&
                      std::equal(old_moves.begin(), old_moves.end(), new_moves.begin(), new_moves.end());
    return std::all_of(new_moves.begin(), new_moves.end(),
                       [&](const Move& move) {
                         const bool made = writer(v, move.to) != kNothing;
                         return same ? made == was_made(v, move.to) : made;
                       }) &&
           (same ||
            std::all_of(old_moves.begin(), old_moves.end(), [&](const Move& move) { return was_made(v, move.to); }));
  });
}

// The trial's state before old position `at`, from where on it repeats all, with that of the old schedule. Where it
// lies later or earlier by the same throughout, all that follows does. Else what follows is the longest way through
// it, as long as nothing else changes: lists and data are the same. And no way becomes shorter than by what is saved.
WindowScheduler::Verdict WindowScheduler::Compare(uint32_t at) {
  // Ways through steps that fetched less than before are shorter than they were: those are behind now.
  if (is_faster_) settled_step_ = static_cast<uint32_t>(steps_.size());
  is_faster_ = false;
  Comparison found;
  CompareLanes(at, found);
  CompareMade(at, found);
  CompareRepeated(at, found);
  elided_moves_ = elided_moves_ || found.elided_moves;
  saved_ns_ = found.saved_ns + (elided_moves_ ? elided_fetch_from_[at] : 0);
  if (IsShifted(found, at)) return Known(std::max(LatestNow(), latest_from_[at] + found.shift.ns), at);
  const int64_t least = std::max(LatestNow(), found.least_ns - saved_ns_);
  if (IsHopeless(least, at)) return Verdict::kWorse;
  if (!found.all_known || elided_moves_ || first_step_[at] < behind_unsure_) return Verdict::kOpen;
  return Known(std::max(least, LongestAcross(at)), at);
}

void WindowScheduler::CompareLanes(uint32_t at, Comparison& found) {
  LanesBefore(at, old_free_, old_last_);
  LaneTailsFrom(at, old_tail_);
  const bool all_matter = first_step_[at] < behind_unsure_, some_are_bare = first_step_[at] < behind_bare_;
  for (size_t lane = 0; lane < old_free_.size(); ++lane) {
    const bool used = old_tail_[lane] != kUnused;
    if (used) found.least_ns = std::max(found.least_ns, lane_free_[lane] + old_tail_[lane]);
    // Which lanes moves with several ways look at is not known. On a lane that is still unused what comes first waits
    // for its inputs.
    const bool unused = old_last_[lane] == kNothing && lane_last_[lane] == kNothing;
    if (!used && !all_matter) continue;
    if (!unused || some_are_bare) found.shift.Add(lane_free_[lane] - old_free_[lane]);
  }
}

// What was made before everything was repeated.
void WindowScheduler::CompareMade(uint32_t at, Comparison& found) {
  for (; compared_to_ < settled_step_; ++compared_to_) {
    const uint32_t s = repeated_[compared_to_ - base_steps_];
    if (s != kNothing && last_follower_[s] < first_step_[at]) continue;
    ForEachMade(compared_to_, [&](ValueId v, uint32_t slot) { crossings_.push_back({v, slot, compared_to_}); });
  }
  std::erase_if(crossings_, [&](const Crossing& made) { return !CompareInstance(made, at, found); });
}

// What was repeated since.
void WindowScheduler::CompareRepeated(uint32_t at, Comparison& found) const {
  for (uint32_t n = settled_step_; n < steps_.size(); ++n) {
    const uint32_t s = repeated_[n - base_steps_];
    if (last_follower_[s] < first_step_[at]) continue;
    const ScheduledStep &now = steps_[n], &before = steps_[s];
    const bool same_place = now.unit == before.unit && now.made_on == before.made_on;
    found.shift.Add(now.end_ns - before.end_ns);
    found.same_places = found.same_places && same_place;
    found.all_known = found.all_known && same_place;
    if (same_place) found.least_ns = std::max(found.least_ns, now.end_ns + after_[s]);
  }
}

// False when nothing reads the instance from `at` on.
bool WindowScheduler::CompareInstance(const Crossing& made, uint32_t at, Comparison& found) const {
  const ValueState& state = values_[made.value.index()];
  if (last_read_[made.value.index()] <= at && state.first_move == state.end_move) return false;
  const uint32_t before = writer_[instance(made.value, made.slot)];
  if (before >= base_steps_) return false;  // nor was it there before: what reads from `at` on is the same
  bool is_read = false;
  const uint64_t bytes = BytesIn(made.value, made.slot);
  const std::vector<NodeId>& consumers = space_.value(made.value).consumers;
  for (size_t n = 0; n < std::min(consumers.size(), kReaders); ++n) {
    const uint32_t reader = choice_of_[consumers[n].index()];
    if (reader < at) continue;
    const Option& option = space_.option(solution_[reader].option);
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.in.size(); ++i) {
      if (group.in[i] != made.value || option.in[i] != made.slot) continue;
      // The reader's own step stands behind the moves that it needs and before those that its results need.
      uint32_t r = first_step_[reader];
      while (steps_[r].choice != reader) ++r;
      is_read = true;
      Follow(made.step, before, r, bytes, found);
    }
  }
  for (uint32_t m = state.first_move; m < state.end_move; ++m) {
    if (moves_[m].from != made.slot) continue;
    const uint32_t mover = writer_[instance(made.value, moves_[m].to)];
    if (mover >= base_steps_ || mover < first_step_[at]) continue;
    is_read = true;
    Follow(made.step, before, mover, bytes, found);
  }
  const ScheduledStep &now = steps_[made.step], &old = steps_[before];
  if (consumers.size() > kReaders) {
    is_read = true;
    found.all_known = false;
    if (now.made_on != old.made_on) found.saved_ns = kImpossible, found.elided_moves = true;
  }
  if (!is_read) return false;
  found.shift.Add(now.end_ns - old.end_ns);
  found.same_places = found.same_places && now.unit == old.unit && now.made_on == old.made_on;
  return true;
}

// Of a step that reads what the trial's step `step` makes, and what step `before` made in the old schedule.
void WindowScheduler::Follow(uint32_t step, uint32_t before, uint32_t reader, uint64_t bytes, Comparison& found) const {
  const Simulator& simulator = space_.simulator();
  const ScheduledStep &now = steps_[step], &old = steps_[before], &next = steps_[reader];
  if (now.made_on != old.made_on && elided_step_[reader]) {
    found.elided_moves = true;
  } else if (now.made_on != old.made_on) {
    const double share = FetchShareOf(next);
    const int64_t fetched = simulator.fetch_ns(old.made_on, next.unit, bytes, share);
    const int64_t fetches = simulator.fetch_ns(now.made_on, next.unit, bytes, share);
    found.saved_ns = std::min(kImpossible, found.saved_ns + std::max<int64_t>(0, fetched - fetches));
    found.all_known = found.all_known && fetched == fetches;
  }
  const bool fixed = next.single_way;
  const bool on_device = !fixed || simulator.waits_on_device(now.unit, next.unit);
  const int64_t wait_ns = fixed ? simulator.wait_ns(now.unit, next.unit) : 0;
  const int64_t tail_ns = on_device ? tails_[reader].run_ns : tails_[reader].launch_ns;
  found.least_ns = std::max(found.least_ns, now.end_ns + wait_ns + tail_ns);
}

// All that the rest depends on is the same, by one time earlier or later. What was made before the trial began is where
// it was: it must not be what the rest waits for.
bool WindowScheduler::IsShifted(const Comparison& found, uint32_t at) const {
  if (!found.shift.same || !found.same_places) return false;
  const int64_t by_ns = found.shift.ns;
  if (by_ns == 0) return true;
  for (uint32_t s = first_step_[at]; s < base_steps_; ++s) {
    for (uint32_t w = steps_[s].first_wait; w < steps_[s].end_wait; ++w) {
      if (waits_[w] < hidden_from_ && !IsSlack(waits_[w], s, by_ns)) return false;
    }
  }
  return true;
}

// All else that the step waits for still holds it up for longer, if that comes later or earlier by so much.
bool WindowScheduler::IsSlack(uint32_t maker, uint32_t s, int64_t by_ns) const {
  const Simulator& simulator = space_.simulator();
  const ScheduledStep &made = steps_[maker], &step = steps_[s];
  if (!step.single_way) return false;
  const bool launched = simulator.lanes().driver[step.unit.index()] != Lanes::kNone;
  const bool on_device = simulator.waits_on_device(made.unit, step.unit);
  const int64_t held_ns = launched && !on_device ? step.launched_ns - step.overhead_ns : step.start_ns;
  const int64_t arrival_ns = made.end_ns + simulator.wait_ns(made.unit, step.unit);
  return by_ns > 0 ? arrival_ns < held_ns : arrival_ns <= held_ns + by_ns;
}

// The longest way through the schedule over a wait of what lies behind `at` for what was made before the trial began.
int64_t WindowScheduler::LongestAcross(uint32_t at) const {
  int64_t longest = 0;
  if (first_step_[at] == base_steps_) return longest;
  for (uint32_t w = steps_[first_step_[at]].first_wait; w < base_waits_; ++w) {
    if (waits_[w] < hidden_from_) longest = std::max(longest, through_[w]);
  }
  return longest;
}

}  // namespace pt
