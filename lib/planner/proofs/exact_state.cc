#include "lib/planner/proofs/exact_state.h"

#include <algorithm>
#include <bit>
#include <set>

namespace pt {
namespace {

// What may follow one schedule. Where a group's results or the graph's inputs are read are sets of slots of each value,
// all combined: there may be more than any memory holds.
constexpr size_t kMostWays = 4096;

constexpr uint64_t Bit(size_t at) { return uint64_t{1} << at; }

bool IsBefore(const Held& held, ValueId value, uint32_t slot) {
  return held.value != value ? held.value < value : held.slot < slot;
}

void Hold(PartialSchedule& schedule, const Held& held) {
  const auto place = std::find_if_not(schedule.held.begin(), schedule.held.end(),
                                      [&](const Held& h) { return IsBefore(h, held.value, held.slot); });
  schedule.held.insert(place, held);
}

uint8_t& FlagsOf(PartialSchedule& schedule, ValueId value, uint32_t slot) {
  return const_cast<Held*>(schedule.find(value, slot))->flags;
}

bool IsRequired(const Alias& alias) { return alias.kind == Alias::Kind::kRequired; }

}  // namespace

// Whether a step is elided, and what is so decided of slots: a flag for each.
struct PartialScheduler::Fate {
  struct Mark {
    ValueId value;
    uint32_t slot;
    uint8_t flags;
  };
  bool elided = false;
  std::vector<Mark> marks;
};

const Promise* PartialSchedule::promise(ValueId value) const {
  const auto found = std::find_if(promises.begin(), promises.end(), [&](const Promise& p) { return p.value == value; });
  return found == promises.end() ? nullptr : &*found;
}

const Held* PartialSchedule::find(ValueId value, uint32_t slot) const {
  const auto found =
      std::find_if(held.begin(), held.end(), [&](const Held& h) { return h.value == value && h.slot == slot; });
  return found == held.end() ? nullptr : &*found;
}

PartialScheduler::PartialScheduler(const Space& space, Reorders reorders) : space_(space), reorders_(reorders) {
  const size_t nodes = space.graph().nodes().size();
  const size_t values = space.graph().values().size();
  all_ = nodes == 64 ? ~uint64_t{0} : Bit(nodes) - 1;
  CompareFetches();
  consumers_.assign(values, 0);
  overwritable_.assign(values, 0);
  sharable_.assign(values, 0);
  readable_.resize(values);
  for (size_t v = 0; v < values; ++v) {
    const ValueSlots& value = space.value(ValueId(v));
    for (NodeId node : value.consumers) consumers_[v] |= Bit(node.index());
    readable_[v].assign(value.consumers.size(), 0);
  }
  const Platform& machine = space.platform();
  readers_.resize(machine.devices.size());
  for (size_t u = 0; u < machine.units.size(); ++u) {
    const std::optional<LinkId> link = machine.units[u].link;
    readers_[(link ? machine.link(*link).from : machine.device_of(UnitId(u))).index()].emplace_back(u);
  }
  for (const Group& group : space.groups()) {
    for (uint32_t o : group.options) {
      const Option& option = space.option(o);
      for (size_t i = 0; i < group.in.size(); ++i) {
        const ValueSlots& value = space.value(group.in[i]);
        for (size_t c = 0; c < value.consumers.size(); ++c) {
          if (!std::binary_search(group.nodes.begin(), group.nodes.end(), value.consumers[c])) continue;
          readable_[group.in[i].index()][c] |= Bit(option.in[i]);
        }
      }
      for (const Alias& alias : space.problem().candidates[option.candidate].aliases) {
        if (!IsRequired(alias)) continue;
        overwritable_[group.in[alias.in].index()] |= Bit(option.in[alias.in]);
        sharable_[group.in[alias.in].index()] |= Bit(option.in[alias.in]);
      }
      if (option.view) sharable_[group.in[0].index()] |= Bit(option.in[0]);
    }
  }
}

uint64_t PartialScheduler::BytesIn(const Held& held) const {
  return space_.routes(held.value).bytes[held.slot % space_.value(held.value).forms.size()];
}

int64_t PartialScheduler::FetchNs(const Held& held, UnitId unit, double share) const {
  return space_.simulator().fetch_ns(held.made_on, unit, BytesIn(held), share);
}

void PartialScheduler::CompareFetches() {
  std::set<uint64_t> sizes;
  for (size_t v = 0; v < space_.graph().values().size(); ++v) {
    const std::vector<uint64_t>& bytes = space_.routes(ValueId(v)).bytes;
    sizes.insert(bytes.begin(), bytes.end());
  }
  const size_t classes = space_.platform().unit_classes.size();
  std::vector<FetchCost> fetches;  // by class from * classes + class to
  for (size_t i = 0; i < classes * classes; ++i) {
    fetches.push_back(space_.problem().costs.OfPair(UnitClassId(i / classes), UnitClassId(i % classes)).fetch);
  }
  const auto fetch_ns = [&](size_t from, size_t to, uint64_t bytes) { return fetches[from * classes + to].ns(bytes); };
  const auto is_less = [&](size_t a, size_t b) {
    return std::all_of(sizes.begin(), sizes.end(), [&](uint64_t bytes) {
      for (size_t to = 0; to < classes; ++to) {
        if (fetch_ns(a, to, bytes) > fetch_ns(b, to, bytes)) return false;
      }
      return fetch_ns(a, b, bytes) <= 0;  // by the second unit itself
    });
  };
  std::vector<std::vector<bool>> of_class(classes, std::vector<bool>(classes));
  for (size_t a = 0; a < classes; ++a) {
    for (size_t b = 0; b < classes; ++b) of_class[a][b] = is_less(a, b);
  }
  const std::vector<Unit>& units = space_.platform().units;
  for (size_t a = 0; a < units.size(); ++a) {
    std::vector<bool>& less = fetched_for_less_.emplace_back();
    for (size_t b = 0; b < units.size(); ++b) {
      less.push_back(a == b || of_class[units[a].unit_class.index()][units[b].unit_class.index()]);
    }
  }
}

uint64_t PartialScheduler::Uncovered(ValueId value, uint64_t covered) const {
  return consumers_[value.index()] & ~covered;
}

// The sets of slots, besides the one where it is made, in which the readers that are left may read the value.
std::vector<uint64_t> PartialScheduler::NeedSets(ValueId v, Slot primary, uint64_t covered) {
  const ValueSlots& value = space_.value(v);
  const uint64_t fixed = value.is_output && value.external != primary ? Bit(value.external) : 0;
  std::vector<uint64_t> readers;
  uint64_t any = 0;
  for (size_t c = 0; c < value.consumers.size(); ++c) {
    if ((covered & Bit(value.consumers[c].index())) != 0) continue;
    readers.push_back(readable_[v.index()][c]);
    any |= readers.back();
  }
  any &= ~Bit(primary);
  std::vector<uint64_t> sets;
  for (uint64_t set = any;; set = (set - 1) & any) {  // all subsets
    const bool enough = std::all_of(readers.begin(), readers.end(),
                                    [&](uint64_t reader) { return (reader & (set | Bit(primary))) != 0; });
    if (enough && static_cast<size_t>(std::popcount(set)) <= readers.size()) {
      const Promise promise{v, primary, set | fixed, set};
      if (MovesOf(promise) != nullptr) sets.push_back(set | fixed);
    }
    if (set == 0) break;
  }
  // An output's place may be read too or not: both needs the same moves, and nothing has to read it.
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  return sets;
}

const std::vector<Move>* PartialScheduler::MovesOf(const Promise& promise) {
  const auto [found, fresh] = moves_.try_emplace({promise.value.value, promise.primary, promise.needed});
  auto& [possible, moves] = found->second;
  if (fresh) {
    SlotSet needed;
    for (uint32_t slot = 0; slot < 64; ++slot) {
      if ((promise.needed & Bit(slot)) != 0) needed.Insert(slot);
    }
    possible = AppendMoves(space_, promise.value, promise.primary, needed, moves);
  }
  return possible ? &moves : nullptr;
}

bool PartialScheduler::IsCopied(const Promise& promise, uint32_t slot) {
  const std::vector<Move>& moves = *MovesOf(promise);
  return std::any_of(moves.begin(), moves.end(), [&](const Move& move) {
    return (move.from == slot || move.to == slot) &&
           space_.device(promise.value, move.from) != space_.device(promise.value, move.to);
  });
}

bool PartialScheduler::IsFull(const Schedules& ways) {
  if (ways.size() < kMostWays) return false;
  dropped_ = true;
  return true;
}

// Decides of each schedule where the value will be read.
void PartialScheduler::Promised(ValueId v, Slot primary, Schedules& schedules) {
  Schedules after;
  for (const PartialSchedule& before : schedules) {
    for (uint64_t needed : NeedSets(v, primary, before.covered)) {
      if (IsFull(after)) break;
      const ValueSlots& value = space_.value(v);
      const uint64_t fixed = value.is_output ? Bit(value.external) : 0;
      PartialSchedule& schedule = after.emplace_back(before);
      const auto place = std::find_if(schedule.promises.begin(), schedule.promises.end(),
                                      [&](const Promise& p) { return v < p.value; });
      schedule.promises.insert(place, {v, primary, needed, needed & ~fixed});
    }
  }
  schedules = std::move(after);
}

std::vector<PartialSchedule> PartialScheduler::Begin() {
  Schedules schedules(1);
  schedules.front().lane_free.assign(space_.simulator().lanes().count, 0);
  for (ValueId input : space_.graph().inputs()) {
    const ValueSlots& value = space_.value(input);
    if (!value.is_input || consumers_[input.index()] == 0) continue;
    for (PartialSchedule& schedule : schedules) {
      Hold(schedule, {input, static_cast<Slot>(value.external), 0, UnitId(), UnitId(), 0});
    }
    Promised(input, static_cast<Slot>(value.external), schedules);
  }
  for (ValueId input : space_.graph().inputs()) EmitEarlyMoves(input, schedules);
  return schedules;
}

bool PartialScheduler::CanFollow(const PartialSchedule& before, const Group& group) const {
  for (NodeId node : group.nodes) {
    if ((before.covered & Bit(node.index())) != 0) return false;
  }
  return std::all_of(group.in.begin(), group.in.end(), [&](ValueId in) {
    const NodeId maker = space_.value(in).producer;
    return !maker.valid() || (before.covered & Bit(maker.index())) != 0;
  });
}

void PartialScheduler::Append(const PartialSchedule& before, const Choice& choice, Schedules& after) {
  const Option& option = space_.option(choice.option);
  const Group& group = space_.group(option.group);
  if (!MayRead(before, group, option)) return;
  const std::vector<Fate> fates = FatesOf(before, group, option);
  if (fates.empty()) return;
  Schedules moved = {before};
  for (size_t i = 0; i < group.in.size(); ++i) MakeAvailable(group.in[i], option.in[i], moved);
  for (const PartialSchedule& start : moved) {
    for (const Fate& fate : fates) {
      Schedules schedules = {start};
      RunStep(choice, fate, schedules.front());
      if (!Cover(option, schedules.front())) continue;
      const auto lives = [&](ValueId out) { return consumers_[out.index()] != 0 || space_.value(out).is_output; };
      for (size_t i = 0; i < group.out.size(); ++i) {
        if (lives(group.out[i])) Promised(group.out[i], option.out[i], schedules);
      }
      for (ValueId out : group.out) EmitEarlyMoves(out, schedules);
      if (schedules.empty()) continue;
      if (schedules.front().covered == all_) Finish(schedules);
      std::move(schedules.begin(), schedules.end(), std::back_inserter(after));
    }
  }
}

bool PartialScheduler::MayRead(const PartialSchedule& before, const Group& group, const Option& option) const {
  for (size_t i = 0; i < group.in.size(); ++i) {
    const Promise* promise = before.promise(group.in[i]);
    if (promise == nullptr) return false;
    if (option.in[i] != promise->primary && (promise->needed & Bit(option.in[i])) == 0) return false;
  }
  return true;
}

void PartialScheduler::MakeAvailable(ValueId v, uint32_t slot, Schedules& schedules) {
  if (schedules.empty() || schedules.front().find(v, slot) != nullptr) return;
  for (const Move& move : *MovesOf(*schedules.front().promise(v))) {
    if (move.to != slot) continue;
    MakeAvailable(v, move.from, schedules);
    EmitMove(v, move, schedules);
    return;
  }
  schedules.clear();
}

void PartialScheduler::EmitEarlyMoves(ValueId v, Schedules& schedules) {
  // Schedules differ in what is promised of a value, so in its moves.
  Schedules after;
  for (PartialSchedule& schedule : schedules) {
    const Promise* promise = schedule.promise(v);
    Schedules mine;
    const std::vector<Move>* moves = promise == nullptr ? nullptr : MovesOf(*promise);
    mine.push_back(std::move(schedule));
    for (size_t m = 0; moves != nullptr && m < moves->size(); ++m) {
      const Move& move = (*moves)[m];
      if (move.early && !mine.empty() && mine.front().find(v, move.to) == nullptr) EmitMove(v, move, mine);
    }
    std::move(mine.begin(), mine.end(), std::back_inserter(after));
  }
  schedules = std::move(after);
}

void PartialScheduler::EmitMove(ValueId v, const Move& move, Schedules& schedules) {
  struct Way {
    UnitId unit;
    int64_t overhead_ns, run_ns;
  };
  Schedules after;
  for (const PartialSchedule& before : schedules) {
    const Held read = *before.find(v, move.from);
    std::vector<Way> ways;
    int64_t best = kImpossible;
    ForEachWay(space_, v, move.from, move.to, [&](UnitId unit, int64_t overhead_ns, int64_t run_ns) {
      if (read.unit.valid()) run_ns += FetchNs(read, unit, kWholeFetch);
      if (reorders_ == Reorders::kAnywhere) {
        ways.push_back({unit, overhead_ns, run_ns});
        return;
      }
      PartialSchedule trial = before;
      const int64_t end = Place(trial, unit, overhead_ns, run_ns, {&read, 1}).end_ns;
      if (end >= best) return;
      best = end;
      ways.assign(1, {unit, overhead_ns, run_ns});
    });
    for (const Way& way : ways) {
      if (IsFull(after)) break;
      PartialSchedule& schedule = after.emplace_back(before);
      Held made = Place(schedule, way.unit, way.overhead_ns, way.run_ns, {&read, 1});
      made.value = v;
      made.slot = move.to;
      Hold(schedule, made);
    }
  }
  schedules = std::move(after);
}

// The rules of Scheduler::FindElided, where later choices decide: both ways.
std::vector<PartialScheduler::Fate> PartialScheduler::FatesOf(const PartialSchedule& before, const Group& group,
                                                              const Option& option) {
  for (uint8_t i : option.overwrites) {
    const Held* held = before.find(group.in[i], option.in[i]);
    if (held != nullptr && (held->flags & (Held::kKeep | Held::kAlone)) != 0) return {};
  }
  if (option.view) return FatesOfView(before, group, option);
  if (option.slices) return FatesOfSlices(before, group, option);
  return {Fate()};
}

std::vector<PartialScheduler::Fate> PartialScheduler::FatesOfView(const PartialSchedule& before, const Group& group,
                                                                  const Option& option) const {
  const ValueId in = group.in[0];
  const ValueId out = group.out[0];
  const auto bytes = [&](ValueId v, uint32_t slot) {
    return space_.routes(v).bytes[slot % space_.value(v).forms.size()];
  };
  const auto placed = [&](ValueId v, uint32_t slot) {
    return slot != space_.value(v).external && space_.routes(v).sized;
  };
  const bool fits =
      placed(in, option.in[0]) && placed(out, option.out[0]) && bytes(in, option.in[0]) == bytes(out, option.out[0]);
  if (!fits) return {Fate()};
  const Held* held = before.find(in, option.in[0]);
  const uint8_t flags = held != nullptr ? held->flags : 0;
  std::vector<Fate> fates;
  if ((flags & (Held::kAlone | Held::kMustBeOverwritten)) == 0) {
    fates.push_back(
        {true, {{in, option.in[0], Held::kShares | Held::kKeep}, {out, option.out[0], Held::kShares | Held::kKeep}}});
  }
  if ((flags & (Held::kKeep | Held::kAlone)) == 0 && has(overwritable_, in, option.in[0])) {
    fates.push_back({false, {{in, option.in[0], Held::kMustBeOverwritten}}});
  }
  if (has(overwritable_, out, option.out[0])) {
    fates.push_back({false, {{out, option.out[0], Held::kMustBeOverwritten}}});
  }
  return fates;
}

std::vector<PartialScheduler::Fate> PartialScheduler::FatesOfSlices(const PartialSchedule& before, const Group& group,
                                                                    const Option& option) {
  const auto placed = [&](ValueId v, uint32_t slot) {
    return slot != space_.value(v).external && space_.routes(v).sized;
  };
  const ValueId out = group.out[0];
  bool elided = placed(out, option.out[0]);
  for (size_t i = 0; i < group.in.size(); ++i) {
    const Held* held = before.find(group.in[i], option.in[i]);
    const uint8_t flags = held != nullptr ? held->flags : 0;
    elided = elided && placed(group.in[i], option.in[i]) && (flags & (Held::kShares | Held::kMustShare)) == 0 &&
             !IsCopied(*before.promise(group.in[i]), option.in[i]);
  }
  if (!elided) return {Fate()};
  std::vector<Fate> fates(1);
  fates[0].elided = true;
  for (size_t i = 0; i < group.in.size(); ++i) {
    fates[0].marks.push_back({group.in[i], option.in[i], Held::kShares | Held::kAlone});
    if (has(sharable_, group.in[i], option.in[i])) {
      fates.push_back({false, {{group.in[i], option.in[i], Held::kMustShare}}});
    }
  }
  fates[0].marks.push_back({out, option.out[0], Held::kShares | Held::kKeep});
  if (has(overwritable_, out, option.out[0]))
    fates.push_back({false, {{out, option.out[0], Held::kMustBeOverwritten}}});
  return fates;
}

void PartialScheduler::RunStep(const Choice& choice, const Fate& fate, PartialSchedule& schedule) const {
  const Option& option = space_.option(choice.option);
  const Group& group = space_.group(option.group);
  std::vector<Held> reads;
  for (size_t i = 0; i < group.in.size(); ++i) reads.push_back(*schedule.find(group.in[i], option.in[i]));
  // The rules of Scheduler::FindInputs.
  int64_t run_ns = fate.elided ? 0 : option.run_ns;
  UnitId made_on = choice.unit;
  uint64_t largest = 0;
  for (const Held& read : reads) {
    if (!read.unit.valid()) continue;
    if (!fate.elided) {
      run_ns += FetchNs(read, choice.unit, option.fetch_share);
    } else if (BytesIn(read) > largest) {
      largest = BytesIn(read);
      made_on = read.made_on;
    }
  }
  Held made = Place(schedule, choice.unit, fate.elided ? 0 : option.overhead_ns, run_ns, reads);
  made.made_on = made_on;
  for (size_t i = 0; i < group.out.size(); ++i) {
    if (consumers_[group.out[i].index()] == 0 && !space_.value(group.out[i]).is_output) continue;
    made.value = group.out[i];
    made.slot = option.out[i];
    Hold(schedule, made);
  }
  const auto mark = [&](ValueId v, uint32_t slot, uint8_t flags) {
    const Held* held = schedule.find(v, slot);
    if (held == nullptr) return;
    uint8_t& now = FlagsOf(schedule, v, slot);
    now |= flags;
    if ((flags & Held::kOverwritten) != 0) now &= ~Held::kMustBeOverwritten;
    // Slices do not count: they are looked for after all that shares otherwise.
    if ((flags & Held::kShares) != 0 && (flags & Held::kAlone) == 0) now &= ~Held::kMustShare;
  };
  for (const Fate::Mark& m : fate.marks) mark(m.value, m.slot, m.flags);
  if (option.overwrites.empty()) return;
  for (const Alias& alias : space_.problem().candidates[option.candidate].aliases) {
    if (!IsRequired(alias)) continue;
    mark(group.in[alias.in], option.in[alias.in], Held::kOverwritten | Held::kShares);
    mark(group.out[alias.out], option.out[alias.out], Held::kShares);
  }
}

// Forgets what nothing will read any more. False when something that was decided cannot come true.
bool PartialScheduler::Cover(const Option& option, PartialSchedule& schedule) const {
  const Group& group = space_.group(option.group);
  for (NodeId node : group.nodes) schedule.covered |= Bit(node.index());
  for (size_t i = 0; i < group.in.size(); ++i) {
    const_cast<Promise*>(schedule.promise(group.in[i]))->unread &= ~Bit(option.in[i]);
  }
  std::vector<ValueId> over;
  for (const Promise& promise : schedule.promises) {
    const uint64_t left = Uncovered(promise.value, schedule.covered);
    if (std::popcount(promise.unread) > std::popcount(left)) return false;
    if (left != 0) continue;
    const ValueSlots& value = space_.value(promise.value);
    for (const Held& held : schedule.held) {
      const bool open = (held.flags & (Held::kMustBeOverwritten | Held::kMustShare)) != 0;
      if (held.value == promise.value && open) return false;
    }
    if (!value.is_output || schedule.find(promise.value, value.external) != nullptr) over.push_back(promise.value);
  }
  const auto is_over = [&](const auto& of) { return std::find(over.begin(), over.end(), of.value) != over.end(); };
  std::erase_if(schedule.promises, is_over);
  std::erase_if(schedule.held, is_over);
  return true;
}

void PartialScheduler::Finish(Schedules& schedules) {
  Schedules after;
  for (PartialSchedule& schedule : schedules) {
    Schedules mine;
    mine.push_back(std::move(schedule));
    for (ValueId output : space_.graph().outputs()) {
      const ValueSlots& value = space_.value(output);
      if (!mine.empty() && value.is_output && mine.front().promise(output) != nullptr) {
        MakeAvailable(output, value.external, mine);
      }
    }
    for (PartialSchedule& done : mine) {
      done.held.clear();
      done.promises.clear();
      after.push_back(std::move(done));
    }
  }
  schedules = std::move(after);
}

// The rule of Scheduler::Emit.
Held PartialScheduler::Place(PartialSchedule& schedule, UnitId unit, int64_t overhead_ns, int64_t run_ns,
                             std::span<const Held> reads) const {
  const Simulator& simulator = space_.simulator();
  const Lanes& lanes = simulator.lanes();
  const uint32_t driver = lanes.driver[unit.index()];
  int64_t start = 0;
  int64_t on_device = 0;
  for (const Held& read : reads) {
    if (!read.unit.valid()) continue;
    int64_t& until = simulator.waits_on_device(read.unit, unit) ? on_device : start;
    until = std::max(until, read.end_ns + simulator.wait_ns(read.unit, unit));
  }
  if (driver != Lanes::kNone) {
    start = std::max(start, schedule.lane_free[driver]) + overhead_ns;
    schedule.lane_free[driver] = start;
  }
  start = std::max(start, on_device);
  for (uint32_t lane : lanes.of_unit[unit.index()]) start = std::max(start, schedule.lane_free[lane]);
  Held made;
  made.unit = made.made_on = unit;
  made.end_ns = start + run_ns + (driver != Lanes::kNone ? 0 : overhead_ns);
  for (uint32_t lane : lanes.of_unit[unit.index()]) schedule.lane_free[lane] = made.end_ns;
  schedule.end_ns = std::max(schedule.end_ns, made.end_ns);
  return made;
}

// Compared as readers see it: what is there before the reader's unit and its driver are free is there in time.
bool PartialScheduler::IsNoLater(const PartialSchedule& a, const PartialSchedule& b) const {
  if (a.end_ns > b.end_ns) return false;
  for (size_t lane = 0; lane < a.lane_free.size(); ++lane) {
    if (a.lane_free[lane] > b.lane_free[lane]) return false;
  }
  const Simulator& simulator = space_.simulator();
  const Lanes& lanes = simulator.lanes();
  for (size_t i = 0; i < a.held.size(); ++i) {
    const Held& mine = a.held[i];
    const Held& theirs = b.held[i];
    if (!mine.unit.valid()) continue;  // and the other is the caller's as well
    if (!fetched_for_less_[mine.made_on.index()][theirs.made_on.index()]) return false;
    if (mine.unit == theirs.unit && mine.end_ns <= theirs.end_ns) continue;
    for (UnitId unit : readers_[space_.device(mine.value, mine.slot).index()]) {
      const int64_t ready = mine.end_ns + simulator.wait_ns(mine.unit, unit);
      const uint32_t driver = lanes.driver[unit.index()];
      const bool by_host = driver != Lanes::kNone && !simulator.waits_on_device(mine.unit, unit);
      int64_t other = by_host ? b.lane_free[driver] : 0;
      if (!by_host) {
        for (uint32_t lane : lanes.of_unit[unit.index()]) other = std::max(other, b.lane_free[lane]);
      }
      const bool compares = theirs.unit.valid() && (!by_host || !simulator.waits_on_device(theirs.unit, unit));
      if (compares) other = std::max(other, theirs.end_ns + simulator.wait_ns(theirs.unit, unit));
      if (ready > other) return false;
    }
  }
  return true;
}

}  // namespace pt
