#include "lib/planner/search/window_scheduler.h"

#include <algorithm>

namespace pt {

WindowScheduler::WindowScheduler(const Space& space)
    : Scheduler(space),
      choice_of_(space.graph().nodes().size()),
      reads_(space.slot_count()),
      elidable_(space.graph().values().size(), false),
      node_stamp_(space.graph().nodes().size(), 0),
      value_stamp_(space.graph().values().size(), 0),
      mark_stamp_(space.graph().values().size(), 0),
      local_(space.graph().nodes().size()) {
  trial_of_.assign(space.slot_count(), 0);
  trial_writer_.resize(space.slot_count());
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
  const int64_t makespan_ns = Run(solution_);
  if (makespan_ns >= kImpossible) return false;
  SetScore({makespan_ns, work_ns()});
  std::fill(reads_.begin(), reads_.end(), 0);
  last_read_.assign(values_.size(), 0);
  for (uint32_t c = 0; c < solution_.size(); ++c) {
    CountReads(solution_[c], 1);
    const Group& group = space_.group_of(solution_[c].option);
    for (NodeId node : group.nodes) choice_of_[node.index()] = c;
    for (ValueId in : group.in) last_read_[in.index()] = c + 1;
  }
  Index();
  return true;
}

// Where steps slow each other down, times are rounded to nanoseconds, and each step by a thousandth of one: by so much
// a plan may seem shorter than without. Work decides between equals only when they have been run.
void WindowScheduler::SetScore(const Score& score) {
  score_ = limit_ = score;
  if (!contended_) return;
  limit_ = {score.makespan_ns + 1 + static_cast<int64_t>(steps_.size()) / 500, kImpossible};
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

uint32_t WindowScheduler::StoodAt(uint32_t now) const {
  const uint32_t option = ChoiceAt(now).option;
  const uint32_t before = choice_of_[space_.group_of(option).nodes.front().index()];
  return solution_[before].option == option ? before : kNothing;
}

bool WindowScheduler::IsElidedAt(uint32_t now) const {
  const auto decided = std::lower_bound(elided_now_.begin(), elided_now_.end(), std::pair(now, false));
  if (decided != elided_now_.end() && decided->first == now) return decided->second;
  if (now == Size()) return false;
  const uint32_t before = StoodAt(now);
  return before != kNothing && elided_[before];
}

Score WindowScheduler::Try(Window change, Wanted wanted) {
  change_ = std::move(change);
  wanted_ = wanted;
  pending_ = true;
  as_whole_ = false;
  trial_ = ++stamp_;
  from_the_start_ = settled_ = elided_moves_ = is_faster_ = false;
  start_ = change_.from;
  not_before_ = change_.to;
  latest_ = saved_ns_ = 0;
  next_anew_ = 0;
  compared_to_ = base_steps_;
  repeated_.clear();
  crossings_.clear();
  spent_ += 8 * kOfChoice;  // what every trial takes
  if (!PrepareChange()) {
    Drop();
    return {};
  }
  if (too_far_) {
    Drop();
    pending_ = true;
    return TryWhole();
  }
  next_ = start_;
  next_look_ = not_before_;
  hidden_from_ = from_the_start_ ? 0 : first_step_[start_];
  hidden_to_ = base_steps_;
  Scheduler::work_ns_ = 0;
  if (from_the_start_) {
    lane_free_.assign(lane_free_.size(), 0);
    lane_last_.assign(lane_last_.size(), kNothing);
    for (ValueId input : space_.graph().inputs()) EmitEarlyMoves(input);
    for (size_t s = base_steps_; s < steps_.size(); ++s) latest_ = std::max(latest_, steps_[s].end_ns);
    repeated_.assign(steps_.size() - base_steps_, kNothing);
  } else {
    LanesBefore(start_, lane_free_, lane_last_);
  }
  const Verdict verdict = Continue(false);
  const Score score = verdict == Verdict::kWorse   ? Score()
                      : verdict == Verdict::kKnown ? result_
                                                   : Score{LatestNow(), WorkNow()};
  if (limit_ < score) {
    Drop();
    return {};
  }
  return contended_ ? TrySlowed() : score;
}

Solution WindowScheduler::Changed() const {
  Solution changed;
  changed.reserve(Size());
  for (uint32_t c = 0; c < Size(); ++c) changed.push_back(ChoiceAt(c));
  return changed;
}

Score WindowScheduler::TryWhole() {
  as_whole_ = true;
  spent_ += 2 * solution_.size() * kOfChoice;
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
  for (uint32_t c : removed_) CountReads(solution_[c], 1);
  for (uint32_t c : added_) CountReads(ChoiceAt(c), -1);
}

void WindowScheduler::Commit() {
  const bool many_moves = moves_.size() > 4 * (values_.size() + 64);
  if (as_whole_ || many_moves) {
    Reset(Changed());
    return;
  }
  Continue(true);
  Adopt();
  if (contended_) SlowDown(*timeline_);
}

// The trial's steps, which reach to the end, take the place of those that it hid.
void WindowScheduler::Adopt() {
  const Score score = contended_ ? result_ : Score{LatestNow(), WorkNow()};
  AdoptWriters();
  AdoptSteps();
  SetScore(score);
  AdoptPositions();
  pending_ = false;
  trial_ = 0;
  hidden_from_ = hidden_to_ = 0;
  Index();
}

// Makers of instances by their numbers as they will be.
void WindowScheduler::AdoptWriters() {
  const uint32_t hidden = hidden_to_ - hidden_from_;
  // What is repeated at the end stands behind what changed, at one distance from where it stood.
  const uint32_t kept =
      settled_ && settled_step_ < steps_.size() ? repeated_[settled_step_ - base_steps_] : base_steps_;
  for (uint32_t s = hidden_from_; s < kept; ++s) {
    ForEachMade(s, [&](ValueId v, uint32_t slot) { writer_[instance(v, slot)] = kNothing; });
  }
  if (const uint32_t by = settled_step_ - hidden - kept; settled_ && kept < base_steps_ && by != 0) {
    for (uint32_t& writer : writer_) {
      if (writer >= kept && writer < base_steps_) writer += by;
    }
  }
  const auto end = static_cast<uint32_t>(kept < base_steps_ ? settled_step_ : steps_.size());
  for (uint32_t s = base_steps_; s < end; ++s) {
    ForEachMade(s, [&](ValueId v, uint32_t slot) { writer_[instance(v, slot)] = s - hidden; });
  }
}

void WindowScheduler::AdoptSteps() {
  const uint32_t from = hidden_from_, hidden = base_steps_ - from;
  const uint32_t first_wait = from < base_steps_ ? steps_[from].first_wait : base_waits_;
  const uint32_t hidden_waits = base_waits_ - first_wait;
  const auto renumber = [&](uint32_t& step) {
    if (step != kNothing && step >= base_steps_) step -= hidden;
  };
  for (uint32_t s = base_steps_; s < steps_.size(); ++s) {
    ScheduledStep& step = steps_[s];
    step.first_wait -= hidden_waits;
    step.end_wait -= hidden_waits;
    renumber(step.blocker);
  }
  for (size_t w = base_waits_; w < waits_.size(); ++w) renumber(waits_[w]);
  steps_.erase(steps_.begin() + from, steps_.begin() + base_steps_);
  waits_.erase(waits_.begin() + first_wait, waits_.begin() + base_waits_);
  for (size_t c = solution_.size() + 1; c < first_step_.size(); ++c) first_step_[c] -= hidden;
  first_step_.erase(first_step_.begin() + start_, first_step_.begin() + static_cast<int64_t>(solution_.size()) + 1);
}

void WindowScheduler::AdoptPositions() {
  std::vector<bool> elided;
  for (uint32_t c = change_.from; c < WindowEnd(); ++c) elided.push_back(IsElidedAt(c));
  const uint32_t end = WindowEnd(), by = end - change_.to;
  std::vector<ValueId> read;
  const auto note_reads = [&](const Choice& choice) {
    const Group& group = space_.group_of(choice.option);
    read.insert(read.end(), group.in.begin(), group.in.end());
  };
  std::for_each(solution_.begin() + change_.from, solution_.begin() + change_.to, note_reads);
  if (by != 0) {
    for (uint32_t& c : choice_of_) c += c >= change_.to ? by : 0;
    for (uint32_t& last : last_read_) last += last > change_.to ? by : 0;
  }
  const auto replace = [&](auto& by_position, auto first, auto last) {
    by_position.erase(by_position.begin() + change_.from, by_position.begin() + change_.to);
    by_position.insert(by_position.begin() + change_.from, first, last);
  };
  replace(solution_, change_.choices.begin(), change_.choices.end());
  replace(elided_, elided.begin(), elided.end());
  for (const auto& [position, is_elided] : elided_now_) elided_[position] = is_elided;
  for (uint32_t c = change_.from; c < end; ++c) {
    note_reads(solution_[c]);
    for (NodeId node : space_.group_of(solution_[c].option).nodes) choice_of_[node.index()] = c;
  }
  for (ValueId v : read) last_read_[v.index()] = LastRead(v);
}

// The position behind the last choice that reads the value from outside; 0: there is none.
uint32_t WindowScheduler::LastRead(ValueId v) const {
  const ValueSlots& value = space_.value(v);
  uint32_t last = 0;
  for (NodeId reader : value.consumers) {
    const uint32_t c = choice_of_[reader.index()];
    if (!value.producer.valid() || choice_of_[value.producer.index()] != c) last = std::max(last, c + 1);
  }
  return last;
}

}  // namespace pt
