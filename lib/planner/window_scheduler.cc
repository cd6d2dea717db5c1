#include "lib/planner/window_scheduler.h"

#include <algorithm>
#include <functional>

namespace pt {
namespace {

// Readers of one value that a comparison looks at: what it leaves out costs sharpness, not truth.
constexpr size_t kReaders = 64;

// Connected views and concatenations beyond this many values are not told apart from the whole.
constexpr size_t kMarked = 512;

}  // namespace

WindowScheduler::WindowScheduler(const Space& space)
    : Scheduler(space),
      whole_only_(space.simulator().has_contention()),
      choice_of_(space.graph().nodes().size()),
      reads_(space.slot_count()),
      elidable_(space.graph().values().size(), false),
      node_stamp_(space.graph().nodes().size(), 0),
      value_stamp_(space.graph().values().size(), 0),
      mark_stamp_(space.graph().values().size(), 0),
      local_(space.graph().nodes().size()) {
  trial_of_.assign(space.slot_count(), 0);
  trial_writer_.resize(space.slot_count());
  spacing_ = std::max<uint32_t>(1, space.simulator().lanes().count / 4);
  for (const Option& option : space.options()) {
    if (!option.view && !option.slices) continue;
    const Group& group = space.group(option.group);
    for (ValueId v : group.in) elidable_[v.index()] = true;
    for (ValueId v : group.out) elidable_[v.index()] = true;
  }
}

bool WindowScheduler::Reset(Solution solution) {
  pending_ = false;
  trial_ = 0;
  hidden_from_ = hidden_to_ = 0;
  solution_ = std::move(solution);
  score_ = {};
  score_.makespan_ns = Run(solution_);
  if (score_.makespan_ns >= kImpossible) return false;
  score_.work_ns = work_ns();
  std::fill(reads_.begin(), reads_.end(), 0);
  for (const Choice& choice : solution_) CountReads(choice, 1);
  Index();
  return true;
}

void WindowScheduler::CountReads(const Choice& choice, int by) {
  const Option& option = space_.option(choice.option);
  const Group& group = space_.group(option.group);
  for (size_t i = 0; i < group.in.size(); ++i) reads_[instance(group.in[i], option.in[i])] += static_cast<uint32_t>(by);
}

uint32_t WindowScheduler::NewPositionOf(NodeId node) const {
  if (node_stamp_[node.index()] == stamp_) return change_.from + local_[node.index()];
  const uint32_t old = choice_of_[node.index()];
  return old < change_.from ? old : NewPosition(old);
}

const Choice& WindowScheduler::ChoiceAt(uint32_t now) const {
  if (now < change_.from) return solution_[now];
  return now < WindowEnd() ? change_.choices[now - change_.from] : solution_[OldPosition(now)];
}

Score WindowScheduler::Try(Window change) {
  change_ = std::move(change);
  pending_ = true;
  as_whole_ = false;
  if (whole_only_) return TryWhole();
  trial_ = ++stamp_;
  from_the_start_ = false;
  start_ = change_.from;
  not_before_ = change_.to;
  latest_ = 0;
  if (!PrepareChange()) {
    Drop();
    return {};
  }
  if (marked_.size() > kMarked) {
    Drop();
    pending_ = true;
    return TryWhole();
  }
  hidden_from_ = from_the_start_ ? 0 : first_step_[start_];
  hidden_to_ = base_steps_;
  Scheduler::work_ns_ = 0;
  RestoreLanes(start_);
  next_ = start_;
  if (from_the_start_) {
    for (ValueId input : space_.graph().inputs()) EmitEarlyMoves(input);
  }
  const Verdict verdict = Continue(false);
  spent_ += 20 + steps_.size() - base_steps_;  // and what every trial takes
  const Score score = verdict == Verdict::kWorse ? Score() : ScoreNow();
  if (score_ < score) {
    Drop();
    return {};
  }
  return score;
}

Solution WindowScheduler::Changed() const {
  Solution changed;
  changed.reserve(Size());
  for (uint32_t c = 0; c < Size(); ++c) changed.push_back(ChoiceAt(c));
  return changed;
}

Score WindowScheduler::TryWhole() {
  as_whole_ = true;
  spent_ += 2 * solution_.size();
  if (whole_ == nullptr) whole_ = std::make_unique<Scheduler>(space_);
  Score score;
  score.makespan_ns = whole_->Run(Changed());
  if (score.makespan_ns < kImpossible) score.work_ns = whole_->work_ns();
  if (score_ < score) {
    Drop();
    return {};
  }
  return score;
}

bool WindowScheduler::PrepareChange() {
  touched_.clear();
  marked_.clear();
  elided_now_.clear();
  for (uint32_t c = 0; c < change_.choices.size(); ++c) {
    for (NodeId node : space_.group_of(change_.choices[c].option).nodes) {
      node_stamp_[node.index()] = stamp_;
      local_[node.index()] = c;
    }
  }
  const auto read = [&](const Choice& choice, int by) {
    const Group& group = space_.group_of(choice.option);
    for (ValueId v : group.in) Touch(v);
    for (ValueId v : group.out) Touch(v);
    CountReads(choice, by);
  };
  for (uint32_t c = change_.from; c < change_.to; ++c) read(solution_[c], -1);
  for (const Choice& choice : change_.choices) {
    read(choice, 1);
    const Option& option = space_.option(choice.option);
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.out.size(); ++i) values_[group.out[i].index()].primary = option.out[i];
  }
  return PlanTouched() && FindElidedAround();
}

void WindowScheduler::Touch(ValueId v) {
  if (value_stamp_[v.index()] == stamp_) return;
  value_stamp_[v.index()] = stamp_;
  touched_.emplace_back(v, values_[v.index()]);
}

// The moves of the values that the change reads and makes. Where they differ, all from the value's maker on is anew.
bool WindowScheduler::PlanTouched() {
  for (const auto& [v, before] : touched_) {
    ValueState& state = values_[v.index()];
    const ValueSlots& value = space_.value(v);
    state.needed.Clear();
    state.first_move = state.end_move = 0;
    for (uint32_t slot = 0; slot < space_.routes(v).slots; ++slot) {
      if (reads_[value.first + slot] != 0) state.needed.Insert(slot);
    }
    if (value.is_output) state.needed.Insert(value.external);
    state.needed.Remove(SlotSet(state.primary));
    if (!state.needed.empty() && !PlanMoves(v)) return false;
    const bool same = std::equal(moves_.begin() + state.first_move, moves_.begin() + state.end_move,
                                 moves_.begin() + before.first_move, moves_.begin() + before.end_move);
    if (same) continue;
    from_the_start_ |= value.is_input;
    start_ = value.is_input ? 0 : std::min(start_, choice_of_[value.producer.index()]);
  }
  return true;
}

// Elision is decided anew for the views of what the change touches and for the concatenations that share values,
// directly or through each other, with those: nothing else can come out otherwise. A view asks only who overwrites its
// two values, so it passes nothing on unless the change touches one of them.
bool WindowScheduler::FindElidedAround() {
  for (const auto& touched : touched_) {
    if (elidable_[touched.first.index()]) MarkForElision(touched.first);
  }
  if (marked_.empty()) return true;
  const size_t changed = marked_.size();
  std::vector<uint32_t> around;  // new positions
  std::vector<ValueId> beside;   // the other values of views that the change does not touch
  const auto visit = [&](NodeId node, bool is_changed) {
    const uint32_t position = NewPositionOf(node);
    const Option& option = space_.option(ChoiceAt(position).option);
    if (!option.view && !option.slices && option.overwrites.empty()) return;
    around.push_back(position);
    const Group& group = space_.group(option.group);
    for (const std::vector<ValueId>& values : {std::cref(group.in), std::cref(group.out)}) {
      if (option.slices || (option.view && is_changed)) {
        std::for_each(values.begin(), values.end(), [&](ValueId v) { MarkForElision(v); });
      } else if (option.view) {
        beside.insert(beside.end(), values.begin(), values.end());
      }
    }
  };
  for (size_t m = 0; m < marked_.size(); ++m) {
    if (marked_.size() > kMarked) return true;
    const ValueSlots& value = space_.value(marked_[m]);
    if (value.producer.valid()) visit(value.producer, m < changed);
    for (NodeId reader : value.consumers) visit(reader, m < changed);
  }
  const auto overwrites = [&](NodeId node) {
    const uint32_t position = NewPositionOf(node);
    if (!space_.option(ChoiceAt(position).option).overwrites.empty()) around.push_back(position);
  };
  for (ValueId v : beside) {
    const ValueSlots& value = space_.value(v);
    if (value.producer.valid()) overwrites(value.producer);
    std::for_each(value.consumers.begin(), value.consumers.end(), overwrites);
  }
  spent_ += marked_.size() + beside.size();
  std::sort(around.begin(), around.end());
  around.erase(std::unique(around.begin(), around.end()), around.end());
  for (const std::vector<ValueId>& values : {std::cref(marked_), std::cref(beside)}) {
    for (ValueId v : values) std::fill_n(flags_.begin() + instance(v, 0), space_.routes(v).slots, uint8_t{0});
  }
  for (ValueId v : marked_) FlagCopies(v);
  for (uint32_t position : around) FlagOverwrites(space_.option(ChoiceAt(position).option));
  for (const bool view : {true, false}) {
    for (uint32_t position : around) {
      const Option& option = space_.option(ChoiceAt(position).option);
      if (view ? !option.view : !option.slices) continue;
      elided_now_.emplace_back(position, view ? IsViewElided(option) : AreSlicesElided(option));
    }
  }
  std::stable_sort(elided_now_.begin(), elided_now_.end(), [](auto a, auto b) { return a.first < b.first; });
  for (const auto& [position, elided] : elided_now_) {
    if (position >= change_.from && position < WindowEnd()) continue;
    const uint32_t old = position < change_.from ? position : OldPosition(position);
    if (elided_[old] == elided) continue;
    start_ = std::min(start_, old);
    not_before_ = std::max(not_before_, old + 1);
  }
  return true;
}

void WindowScheduler::MarkForElision(ValueId v) {
  if (mark_stamp_[v.index()] == stamp_) return;
  mark_stamp_[v.index()] = stamp_;
  marked_.push_back(v);
}

void WindowScheduler::RestoreLanes(uint32_t position) {
  const Lanes& lanes = space_.simulator().lanes();
  if (from_the_start_) {
    std::fill(lane_free_.begin(), lane_free_.end(), 0);
    std::fill(lane_last_.begin(), lane_last_.end(), kNothing);
    return;
  }
  const uint32_t known = position / spacing_;
  std::copy_n(lanes_free_.begin() + known * lanes.count, lanes.count, lane_free_.begin());
  std::copy_n(lanes_last_.begin() + known * lanes.count, lanes.count, lane_last_.begin());
  for (uint32_t s = first_step_[known * spacing_]; s < first_step_[position]; ++s) Occupy(s, lane_free_, lane_last_);
}

// Goes on from next_. Comparisons become rarer the further the end of the change is behind: they look at all of it.
WindowScheduler::Verdict WindowScheduler::Continue(bool to_the_end) {
  uint32_t next_comparison = not_before_;
  auto elided = std::lower_bound(elided_now_.begin(), elided_now_.end(), std::pair(next_, false));
  const auto note_steps = [&](size_t first) {
    for (size_t s = first; s < steps_.size(); ++s) latest_ = std::max(latest_, steps_[s].end_ns);
    return to_the_end || latest_ <= score_.makespan_ns;
  };
  if (!note_steps(base_steps_)) return Verdict::kWorse;
  while (next_ < Size()) {
    if (const uint32_t old = next_ < WindowEnd() ? 0 : OldPosition(next_);
        !to_the_end && next_ >= WindowEnd() && old >= next_comparison && old % spacing_ == 0) {
      const Verdict verdict = Compare(old);
      if (verdict != Verdict::kOpen) return verdict;
      next_comparison = old + 1 + (old - not_before_) / 2;
    }
    const size_t first = steps_.size();
    const uint32_t c = next_++;
    bool is_elided = c < change_.from ? elided_[c] : c >= WindowEnd() && elided_[OldPosition(c)];
    for (; elided != elided_now_.end() && elided->first <= c; ++elided) is_elided = elided->second;
    if (!EmitChoice(c, ChoiceAt(c), is_elided) || !note_steps(first)) return Verdict::kWorse;
  }
  const size_t first = steps_.size();
  if (!EmitOutputs() || !note_steps(first)) return Verdict::kWorse;
  next_ = Size() + 1;
  return Verdict::kOpen;
}

// The state before old position `at`, where the change is behind, with that of the old schedule.
WindowScheduler::Verdict WindowScheduler::Compare(uint32_t at) const {
  if (!MovesAgree(at)) return Verdict::kOpen;
  const Lanes& lanes = space_.simulator().lanes();
  spent_ += (steps_.size() - base_steps_) / 2;
  bool agrees = true;
  const int64_t latest = std::max(from_the_start_ ? 0 : latest_before_[start_], latest_);
  int64_t least = 0, saved = 0;  // by steps that follow, and what those fetch less than before
  const size_t known = size_t{at / spacing_} * lanes.count;
  for (uint32_t lane = 0; lane < lanes.count; ++lane) {
    agrees = agrees && lane_free_[lane] == lanes_free_[known + lane];
    if (lanes_tail_[known + lane] > 0) least = std::max(least, lane_free_[lane] + lanes_tail_[known + lane]);
  }
  for (auto s = base_steps_; s < steps_.size(); ++s) {
    const ScheduledStep& step = steps_[s];
    if (step.choice == kNothing) {
      agrees = CompareInstance(s, step.value, step.to, at, least, saved) && agrees;
      continue;
    }
    const Option& option = space_.option(ChoiceAt(step.choice).option);
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.out.size(); ++i) {
      agrees = CompareInstance(s, group.out[i], option.out[i], at, least, saved) && agrees;
    }
  }
  if (agrees) return Verdict::kAgrees;
  least = std::max(latest, least - saved);
  if (least > score_.makespan_ns) return Verdict::kWorse;
  const int64_t work_before = from_the_start_ ? 0 : work_before_[start_];
  const int64_t work = work_before + work_ns_ + score_.work_ns - work_before_[at] - spare_work_from_[at] - saved;
  return least == score_.makespan_ns && work > score_.work_ns ? Verdict::kWorse : Verdict::kOpen;
}

// From `at` on the same moves are left, so that the same steps follow.
bool WindowScheduler::MovesAgree(uint32_t at) const {
  const auto was_made = [&](ValueId v, uint32_t slot) { return writer_[instance(v, slot)] < first_step_[at]; };
  return std::all_of(touched_.begin(), touched_.end(), [&](const auto& touched) {
    const auto& [v, before] = touched;
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

bool WindowScheduler::CompareInstance(uint32_t s, ValueId v, uint32_t slot, uint32_t at, int64_t& least,
                                      int64_t& saved) const {
  const ScheduledStep& step = steps_[s];
  const ValueState& state = values_[v.index()];
  if (last_read_[v.index()] <= at && state.first_move == state.end_move) return true;  // over and done with
  const uint32_t before = writer_[instance(v, slot)];
  bool is_read = false;
  const auto follow = [&](uint32_t reader) {
    is_read = true;
    const ScheduledStep& next = steps_[reader];
    if (before < base_steps_) {
      const uint64_t bytes = BytesIn(v, slot);
      const double share =
          next.choice == kNothing ? kWholeFetch : space_.option(solution_[next.choice].option).fetch_share;
      const int64_t fetched = space_.simulator().fetch_ns(steps_[before].made_on, next.unit, bytes, share);
      saved += std::max<int64_t>(0, fetched - space_.simulator().fetch_ns(step.made_on, next.unit, bytes, share));
    }
    const bool fixed = single_way_[reader];
    const bool on_device = !fixed || space_.simulator().waits_on_device(step.unit, next.unit);
    const int64_t wait_ns = fixed ? space_.simulator().wait_ns(step.unit, next.unit) : 0;
    least = std::max(least, step.end_ns + wait_ns + (on_device ? tails_[reader].run_ns : tails_[reader].launch_ns));
  };
  const std::vector<NodeId>& consumers = space_.value(v).consumers;
  for (size_t n = 0; n < std::min(consumers.size(), kReaders); ++n) {
    const uint32_t reader = choice_of_[consumers[n].index()];
    if (reader < at) continue;
    const Option& option = space_.option(solution_[reader].option);
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.in.size(); ++i) {
      if (group.in[i] != v || option.in[i] != slot) continue;
      // The reader's own step stands behind the moves that it needs and before those that its results need.
      uint32_t r = first_step_[reader];
      while (steps_[r].choice != reader) ++r;
      follow(r);
    }
  }
  if (consumers.size() > kReaders) {
    is_read = true;
    saved = kImpossible;  // not known
  }
  for (uint32_t m = state.first_move; m < state.end_move; ++m) {
    if (moves_[m].from != slot) continue;
    const uint32_t mover = writer_[instance(v, moves_[m].to)];
    if (mover < base_steps_ && mover >= first_step_[at]) follow(mover);
  }
  if (!is_read) return true;
  return before < first_step_[at] && steps_[before].end_ns == step.end_ns && steps_[before].unit == step.unit &&
         steps_[before].made_on == step.made_on;
}

Score WindowScheduler::ScoreNow() const {
  const int64_t latest = std::max(from_the_start_ ? 0 : latest_before_[start_], latest_);
  const int64_t work = (from_the_start_ ? 0 : work_before_[start_]) + work_ns_;
  if (next_ > Size()) return {latest, work};
  const uint32_t at = OldPosition(next_);
  return {std::max(latest, latest_from_[at]), work + score_.work_ns - work_before_[at]};
}

void WindowScheduler::Drop() {
  if (!pending_) return;
  pending_ = false;
  if (as_whole_) return;
  trial_ = 0;
  hidden_from_ = hidden_to_ = 0;
  steps_.resize(base_steps_);
  waits_.resize(base_waits_);
  first_step_.resize(solution_.size() + 1);
  for (const auto& [v, before] : touched_) values_[v.index()] = before;
  moves_.resize(base_moves_);
  for (uint32_t c = change_.from; c < change_.to; ++c) CountReads(solution_[c], 1);
  for (const Choice& choice : change_.choices) CountReads(choice, -1);
}

void WindowScheduler::Commit() {
  const bool many_moves = moves_.size() > 4 * (values_.size() + 64);
  if (as_whole_ || many_moves) {
    Reset(Changed());
    return;
  }
  if (next_ <= Size()) Continue(true);
  Adopt();
}

// The trial's steps, which reach to the end, take the place of those that it hid.
void WindowScheduler::Adopt() {
  const Score score = ScoreNow();
  const auto for_each_made = [&](const ScheduledStep& step, const Choice* choice, auto visit) {
    if (choice == nullptr) return visit(instance(step.value, step.to));
    const Option& option = space_.option(choice->option);
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.out.size(); ++i) visit(instance(group.out[i], option.out[i]));
  };
  const uint32_t from = hidden_from_, hidden = base_steps_ - from;
  const uint32_t first_wait = from < base_steps_ ? steps_[from].first_wait : base_waits_;
  const uint32_t hidden_waits = base_waits_ - first_wait;
  for (uint32_t s = from; s < base_steps_; ++s) {
    const Choice* choice = steps_[s].choice == kNothing ? nullptr : &solution_[steps_[s].choice];
    for_each_made(steps_[s], choice, [&](uint32_t i) { writer_[i] = kNothing; });
  }
  const auto renumber = [&](uint32_t& step) {
    if (step != kNothing && step >= base_steps_) step -= hidden;
  };
  for (uint32_t s = base_steps_; s < steps_.size(); ++s) {
    ScheduledStep& step = steps_[s];
    const Choice* choice = step.choice == kNothing ? nullptr : &ChoiceAt(step.choice);
    for_each_made(step, choice, [&](uint32_t i) { writer_[i] = s - hidden; });
    step.first_wait -= hidden_waits;
    step.end_wait -= hidden_waits;
    renumber(step.blocker);
  }
  for (size_t w = base_waits_; w < waits_.size(); ++w) renumber(waits_[w]);
  steps_.erase(steps_.begin() + from, steps_.begin() + base_steps_);
  waits_.erase(waits_.begin() + first_wait, waits_.begin() + base_waits_);
  for (size_t c = solution_.size() + 1; c < first_step_.size(); ++c) first_step_[c] -= hidden;
  first_step_.erase(first_step_.begin() + start_, first_step_.begin() + static_cast<int64_t>(solution_.size()) + 1);

  const auto replace = [&](auto& by_position, auto first, auto last) {
    by_position.erase(by_position.begin() + change_.from, by_position.begin() + change_.to);
    by_position.insert(by_position.begin() + change_.from, first, last);
  };
  const std::vector<bool> plain(change_.choices.size(), false);
  replace(solution_, change_.choices.begin(), change_.choices.end());
  replace(elided_, plain.begin(), plain.end());
  for (const auto& [position, elided] : elided_now_) elided_[position] = elided;
  score_ = score;
  pending_ = false;
  trial_ = 0;
  hidden_from_ = hidden_to_ = 0;
  Index();
}

}  // namespace pt
