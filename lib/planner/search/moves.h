// Moves: small changes of a solution around one of its choices, drawn at random. Each is the window that it changes.
#pragma once

#include <optional>

#include "lib/planner/schedule/device_rules.h"
#include "lib/planner/search/window_scheduler.h"
#include "lib/planner/solve.h"

namespace pt {

class Moves {
 public:
  // `now` is the solution that is changed, as it is when a move is asked for; both must outlive the moves.
  Moves(const Space& space, const WindowScheduler& now, Random& random)
      : space_(space), now_(now), random_(random), rules_(space), sorter_(space) {}

  // One of the moves below for the choice at a position; nothing when it comes to nothing.
  std::optional<Window> Draw(uint32_t at);
  // What another solution has for the nodes, in the place of what this one has; grows until it cuts no group of either.
  // position: of the other's choices, by node.
  std::optional<Window> Graft(const Solution& other, const std::vector<uint32_t>& position,
                              std::span<const NodeId> nodes);

 private:
  using Change = std::pair<uint32_t, Choice>;  // position, and what it becomes
  using Found = std::optional<Window>;

  // Another candidate or unit for one group.
  Found ChangeOption(uint32_t at);
  // Another group for one of the nodes: fuses neighbours or splits; what is left over runs alone.
  Found Regroup(uint32_t at);
  // Two wide steps one after the other become two narrower ones side by side, when neither needs the other.
  Found PairUp(uint32_t at);
  // A run of steps that follow each other in data goes to another unit together: single moves would pay the transfer
  // at both ends.
  Found MoveRun(uint32_t at);
  // The same for all between a fork and a join.
  Found MoveBranch(uint32_t at);
  // Another form for one step, and for what follows it what goes best with that.
  Found ChangeForms(uint32_t at);
  // Earlier in the lists of its unit.
  Found Reorder(uint32_t at);
  // Two steps change places in the lists.
  Found Swap(uint32_t at);

  const Choice& choice(uint32_t at) const;  // with the changes made so far
  const Group& group(uint32_t at) const { return space_.group_of(choice(at).option); }
  uint32_t RandomReader(uint32_t at);
  std::vector<uint32_t> RunFrom(uint32_t at, size_t length);
  std::vector<uint32_t> BranchOf(uint32_t at) const;
  uint32_t OnlyReader(uint32_t at) const;
  uint32_t OnlyMaker(uint32_t at) const;
  Found MoveTo(const std::vector<uint32_t>& run, UnitId unit);
  // The cheapest option of a group on a class, counting the moves of its inputs from where they are made.
  uint32_t CheapestOn(uint32_t group, UnitClassId unit_class) const;
  uint32_t MadeIn(ValueId value) const;
  std::optional<std::pair<UnitId, UnitId>> NarrowPair(DeviceId device, uint32_t width);
  // What must share a device with what has changed goes along.
  void BringMates();
  Found Changed();
  // The choices of [from, to) with the changes, in the order of their keys.
  Found Sorted(uint32_t from, uint32_t to, const std::vector<int64_t>& keys);

  const Space& space_;
  const WindowScheduler& now_;
  Random& random_;
  DeviceRules rules_;
  LegalSorter sorter_;
  std::vector<Change> changes_;  // few
};

}  // namespace pt
