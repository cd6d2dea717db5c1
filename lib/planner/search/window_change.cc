// What a change touches: which values it reads and makes in other places or forms, which moves and elisions around them
// come out differently, and from which position on that shows.
#include <algorithm>
#include <functional>

#include "lib/planner/search/window_scheduler.h"

namespace pt {
namespace {

// Connected views and concatenations beyond this many values are not told apart from the whole.
constexpr size_t kMarked = 512;

}  // namespace

// False when some value cannot be moved where it is read.
bool WindowScheduler::PrepareChange() {
  touched_.clear();
  marked_.clear();
  elided_now_.clear();
  anew_.clear();
  removed_.clear();
  added_.clear();
  for (uint32_t c = 0; c < change_.choices.size(); ++c) {
    for (NodeId node : space_.group_of(change_.choices[c].option).nodes) {
      node_stamp_[node.index()] = stamp_;
      local_[node.index()] = c;
    }
  }
  const bool in_place = IsInPlace();
  for (uint32_t c = change_.from; c < WindowEnd(); ++c) {
    const Choice& choice = ChoiceAt(c);
    if (in_place && choice == solution_[c]) continue;
    anew_.push_back(c);
    const uint32_t before = StoodAt(c);
    if (before == kNothing) {
      added_.push_back(c);
    } else if (before != c) {
      const Option& option = space_.option(choice.option);
      if (option.view || option.slices || !option.overwrites.empty()) TouchAll(option);  // their order counts
    }
  }
  for (uint32_t c = change_.from; c < change_.to; ++c) {
    if (in_place && ChoiceAt(c) == solution_[c]) continue;
    const NodeId node = space_.group_of(solution_[c].option).nodes.front();
    if (change_.choices[local_[node.index()]].option != solution_[c].option) removed_.push_back(c);
  }
  for (uint32_t c : removed_) {
    TouchAll(space_.option(solution_[c].option));
    CountReads(solution_[c], -1);
  }
  for (uint32_t c : added_) {
    const Option& option = space_.option(ChoiceAt(c).option);
    const Group& group = space_.group(option.group);
    TouchAll(option);
    CountReads(ChoiceAt(c), 1);
    for (size_t i = 0; i < group.out.size(); ++i) values_[group.out[i].index()].primary = option.out[i];
  }
  if (!PlanTouched()) return false;
  too_far_ = !FindElidedAround();
  std::sort(anew_.begin(), anew_.end());
  anew_.erase(std::unique(anew_.begin(), anew_.end()), anew_.end());
  return true;
}

// The same groups stand in the same order, so that what stays as it is has the same before it.
bool WindowScheduler::IsInPlace() const {
  if (change_.to != WindowEnd()) return false;
  const auto same_group = [&](const Choice& a, const Choice& b) {
    return a == b || space_.option(a.option).group == space_.option(b.option).group;
  };
  return std::equal(change_.choices.begin(), change_.choices.end(), solution_.begin() + change_.from, same_group);
}

void WindowScheduler::TouchAll(const Option& option) {
  const Group& group = space_.group(option.group);
  for (const std::vector<ValueId>& values : {std::cref(group.in), std::cref(group.out)}) {
    for (ValueId v : values) {
      if (value_stamp_[v.index()] == stamp_) continue;
      value_stamp_[v.index()] = stamp_;
      touched_.emplace_back(v, values_[v.index()]);
    }
  }
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
    const bool moves = state.first_move != state.end_move || before.first_move != before.end_move;
    if (moves || state.primary != before.primary) MarkAnew(v);
    const bool same = std::equal(moves_.begin() + state.first_move, moves_.begin() + state.end_move,
                                 moves_.begin() + before.first_move, moves_.begin() + before.end_move);
    if (same) continue;
    from_the_start_ |= value.is_input;
    start_ = value.is_input ? 0 : std::min(start_, choice_of_[value.producer.index()]);
  }
  return true;
}

// Whoever makes the value or reads it may have other moves beside it, or other steps to wait for.
void WindowScheduler::MarkAnew(ValueId v) {
  const ValueSlots& value = space_.value(v);
  if (value.producer.valid()) anew_.push_back(NewPositionOf(value.producer));
  for (NodeId reader : value.consumers) anew_.push_back(NewPositionOf(reader));
  if (value.is_output) anew_.push_back(Size());
}

// Elision is decided anew for the views of what the change touches and for the concatenations that share values,
// directly or through each other, with those: nothing else can come out otherwise. A view asks only who overwrites its
// two values, so it passes nothing on unless the change touches one of them. False when that reaches too far.
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
    if (marked_.size() > kMarked) return false;
    const ValueSlots& value = space_.value(marked_[m]);
    if (value.producer.valid()) visit(value.producer, m < changed);
    for (NodeId reader : value.consumers) visit(reader, m < changed);
  }
  if (marked_.size() > kMarked) return false;
  const auto overwrites = [&](NodeId node) {
    const uint32_t position = NewPositionOf(node);
    if (!space_.option(ChoiceAt(position).option).overwrites.empty()) around.push_back(position);
  };
  for (ValueId v : beside) {
    const ValueSlots& value = space_.value(v);
    if (value.producer.valid()) overwrites(value.producer);
    std::for_each(value.consumers.begin(), value.consumers.end(), overwrites);
  }
  spent_ += (marked_.size() + beside.size()) * kOfChoice;
  std::sort(around.begin(), around.end());
  around.erase(std::unique(around.begin(), around.end()), around.end());
  for (const std::vector<ValueId>& values : {std::cref(marked_), std::cref(beside)}) {
    for (ValueId v : values) std::fill_n(flags_.begin() + instance(v, 0), space_.routes(v).slots, uint8_t{0});
  }
  for (ValueId v : marked_) FlagCopies(v);
  for (uint32_t position : around) FlagOverwrites(space_.option(ChoiceAt(position).option));
  DecideElisions(around);
  return true;
}

// Views before concatenations, each in the order of their positions.
void WindowScheduler::DecideElisions(const std::vector<uint32_t>& around) {
  for (const bool view : {true, false}) {
    for (uint32_t position : around) {
      const Option& option = space_.option(ChoiceAt(position).option);
      if (view ? !option.view : !option.slices) continue;
      elided_now_.emplace_back(position, view ? IsViewElided(option) : AreSlicesElided(option));
    }
  }
  std::stable_sort(elided_now_.begin(), elided_now_.end(), [](auto a, auto b) { return a.first < b.first; });
  for (const auto& [position, elided] : elided_now_) {
    const bool inside = position >= change_.from && position < WindowEnd();
    const uint32_t old = inside ? StoodAt(position) : position < change_.from ? position : OldPosition(position);
    if (old != kNothing && elided_[old] == elided) continue;
    anew_.push_back(position);
    if (inside) continue;
    start_ = std::min(start_, old);
    not_before_ = std::max(not_before_, old + 1);
  }
}

void WindowScheduler::MarkForElision(ValueId v) {
  if (mark_stamp_[v.index()] == stamp_) return;
  mark_stamp_[v.index()] = stamp_;
  marked_.push_back(v);
}

}  // namespace pt
