// PartialSchedule: what the exact search knows after some choices, and PartialScheduler, which appends one more. It
// keeps Scheduler's rules and clock, but cannot look ahead as that does: what later choices decide (which slots of a
// value will be read, whether placement elides a step) is decided when it first matters, in every possible way, and
// later choices must be as was decided.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "lib/planner/schedule/routing.h"
#include "lib/planner/schedule/schedule.h"

namespace pt {

// A slot of a value that has been made and that something may still read.
struct Held {
  enum Flag : uint8_t {
    kOverwritten = 1,
    kShares = 2,
    kKeep = 4,                // decided: nothing overwrites it
    kAlone = 8,               // decided: nothing shares its buffer from now on
    kMustBeOverwritten = 16,  // decided: something does
    kMustShare = 32,
  };
  ValueId value;
  Slot slot = 0;
  uint8_t flags = 0;
  UnitId unit;     // whose step made it; none: the caller
  UnitId made_on;  // in whose caches it lies: see ScheduledStep
  int64_t end_ns = 0;
};

// Decided of a value that has been made: the slots in which it will be read.
struct Promise {
  ValueId value;
  Slot primary = 0;
  uint64_t needed = 0;  // in addition to primary
  uint64_t unread = 0;  // of those, the ones that nothing reads yet
};

struct PartialSchedule {
  uint64_t covered = 0;  // nodes
  int64_t end_ns = 0;    // of the step that ends last
  std::vector<int64_t> lane_free;
  std::vector<Held> held;         // by value and slot
  std::vector<Promise> promises;  // by value

  const Promise* promise(ValueId value) const;
  const Held* find(ValueId value, uint32_t slot) const;
};

// The space must have at most 64 nodes, and values at most 64 slots. Not thread-safe.
class PartialScheduler {
 public:
  // Reorders run where they end first, as in Scheduler, or on any unit that can: then a schedule that is ahead of
  // another in every time can be completed to one that is, too.
  enum class Reorders : uint8_t { kWhereTheyEndFirst, kAnywhere };
  PartialScheduler(const Space& space, Reorders reorders);

  std::vector<PartialSchedule> Begin();
  bool CanFollow(const PartialSchedule& before, const Group& group) const;
  // Adds to `after` every way in which the choice can follow; those that cover the last node are complete.
  void Append(const PartialSchedule& before, const Choice& choice, std::vector<PartialSchedule>& after);
  uint64_t all_nodes() const { return all_; }
  // Some way was left out, because many values at once can be read in many places: no proof.
  bool has_dropped() const { return dropped_; }
  // Of two schedules with the same decisions: whatever follows both can start no later after `a`.
  bool IsNoLater(const PartialSchedule& a, const PartialSchedule& b) const;

 private:
  struct Fate;
  using Schedules = std::vector<PartialSchedule>;

  uint64_t Uncovered(ValueId value, uint64_t covered) const;
  std::vector<uint64_t> NeedSets(ValueId value, Slot primary, uint64_t covered);
  const std::vector<Move>* MovesOf(const Promise& promise);
  bool IsCopied(const Promise& promise, uint32_t slot);
  bool IsFull(const Schedules& ways);
  void Promised(ValueId value, Slot primary, Schedules& schedules);
  void MakeAvailable(ValueId value, uint32_t slot, Schedules& schedules);
  void EmitEarlyMoves(ValueId value, Schedules& schedules);
  void EmitMove(ValueId value, const Move& move, Schedules& schedules);
  bool MayRead(const PartialSchedule& before, const Group& group, const Option& option) const;
  std::vector<Fate> FatesOf(const PartialSchedule& before, const Group& group, const Option& option);
  std::vector<Fate> FatesOfView(const PartialSchedule& before, const Group& group, const Option& option) const;
  std::vector<Fate> FatesOfSlices(const PartialSchedule& before, const Group& group, const Option& option);
  void RunStep(const Choice& choice, const Fate& fate, PartialSchedule& schedule) const;
  bool Cover(const Option& option, PartialSchedule& schedule) const;
  void Finish(Schedules& schedules);
  Held Place(PartialSchedule& schedule, UnitId unit, int64_t overhead_ns, int64_t run_ns,
             std::span<const Held> reads) const;
  uint64_t BytesIn(const Held& held) const;
  int64_t FetchNs(const Held& held, UnitId unit, double share) const;
  void CompareFetches();
  bool has(const std::vector<uint64_t>& masks, ValueId value, uint32_t slot) const {
    return (masks[value.index()] >> slot & 1) != 0;
  }

  const Space& space_;
  const Reorders reorders_;
  uint64_t all_ = 0;
  bool dropped_ = false;
  std::vector<uint64_t> consumers_;                // by value: nodes
  std::vector<std::vector<uint64_t>> readable_;    // by value and consumer: slots
  std::vector<uint64_t> overwritable_, sharable_;  // by value: slots that some option overwrites, or may share
  std::vector<std::vector<UnitId>> readers_;       // by device: what reads values there, copy engines too
  // By two units: whatever of the values in the space lies on the first, no unit fetches it for more than if it lay on
  // the second.
  std::vector<std::vector<bool>> fetched_for_less_;
  std::map<std::tuple<uint32_t, Slot, uint64_t>, std::pair<bool, std::vector<Move>>> moves_;
};

}  // namespace pt
