// Scheduler: from decisions (which option on which unit, in which order) to timed steps: inserts the copies and
// reorders they need and computes when everything runs. What the search evaluates and what Assemble makes a plan of.
#pragma once

#include <span>
#include <vector>

#include "lib/planner/schedule/routing.h"
#include "lib/planner/schedule/space.h"

namespace pt {

struct Choice {
  uint32_t option = 0;
  UnitId unit;
  friend bool operator==(const Choice&, const Choice&) = default;
};

// A cover with placement and order: every node in the group of exactly one choice, makers before readers.
using Solution = std::vector<Choice>;

struct ScheduledStep {
  uint32_t choice = kNothing;  // index into the solution; kNothing = moves a value between slots
  ValueId value;               // what a copy or reorder moves
  Slot from = 0, to = 0;       // of the value
  LinkId link;                 // valid: a copy
  UnitId unit;
  int64_t overhead_ns = 0, run_ns = 0;  // with what fetching its inputs takes
  bool elided = false;
  int64_t launched_ns = 0;  // the end of its launch, on units with a driver
  int64_t start_ns = 0, end_ns = 0;
  UnitId made_on;  // in whose caches its results lie: its own, or where the largest input of an elided step lies
  uint32_t first_wait = 0, end_wait = 0;  // of waits(): the steps whose results it reads, and those of a barrier
  uint32_t blocker = kNothing;            // the step whose end decided the start
  bool single_way = true;                 // false: a move that other units could make, which ends first on this one
  friend bool operator==(const ScheduledStep&, const ScheduledStep&) = default;
};

// Reused for many solutions; one thread at a time.
//
// Rules, which PlanMemory and SimulatePlan hold too: one copy or reorder serves all readers of its instance. Copies
// from the host start right after what they read, other moves come before their first reader, reorders on the unit
// where they end first. A
// view or concatenation that memory placement will elide costs its overhead only.
class Scheduler {
 public:
  explicit Scheduler(const Space& space);

  // The makespan; kImpossible when the order is not a linear extension or a value cannot be moved where it is read.
  // `barriers`: see Solved.
  int64_t Run(const Solution& solution, std::span<const uint32_t> barriers = {});

  // Of the last Run that was possible.
  std::span<const ScheduledStep> steps() const { return contended_ ? slowed_ : steps_; }
  std::span<const uint32_t> waits() const { return waits_; }
  // Choices of the critical path, first to last.
  std::vector<uint32_t> CriticalChoices() const;
  // The sum of all steps' times: decides between equal makespans.
  int64_t work_ns() const { return work_ns_; }

 protected:
  static constexpr uint32_t kBound = kNothing - 1;  // the writer of callers' inputs

  struct ValueState {
    SlotSet needed;  // those that are read
    uint32_t first_move = 0, end_move = 0;
    Slot primary = 0;  // where it is made
  };
  enum InstanceFlag : uint8_t { kOverwritten = 1, kShares = 2, kCopied = 4, kSliced = 8 };

  bool Prepare(const Solution& solution);
  bool PlanMoves(ValueId value);
  void FindElided(const Solution& solution);
  void FlagCopies(ValueId value);
  void FlagOverwrites(const Option& option);
  bool IsViewElided(const Option& option);
  bool AreSlicesElided(const Option& option);
  uint8_t& flags(ValueId value, uint32_t slot) { return flags_[space_.value(value).first + slot]; }
  // The step that makes the instance; kNothing when it is not there yet.
  uint32_t writer(ValueId value, uint32_t slot) const {
    const uint32_t instance = space_.value(value).first + slot;
    if (trial_ != 0 && trial_of_[instance] == trial_) return trial_writer_[instance];
    const uint32_t step = writer_[instance];
    return step >= hidden_from_ && step < hidden_to_ ? Again(step) : step;
  }
  // What a trial has in the place of a hidden step; kNothing: not repeated, or not yet.
  uint32_t Again(uint32_t hidden) const {
    const uint32_t step = again_[hidden];
    const bool is_repeated = step >= hidden_to_ && step - hidden_to_ < repeated_.size();
    return is_repeated && repeated_[step - hidden_to_] == hidden ? step : kNothing;
  }
  void SetWriter(ValueId value, uint32_t slot, uint32_t step) {
    const uint32_t instance = space_.value(value).first + slot;
    (trial_ != 0 ? trial_writer_ : writer_)[instance] = step;
    if (trial_ != 0) trial_of_[instance] = trial_;
  }
  bool placed(ValueId value, uint32_t slot) const;

  // The step of a choice, which is at position c, with the moves before and after it.
  bool EmitChoice(uint32_t c, const Choice& choice, bool elided);
  // That step alone: what it reads is there.
  void EmitGroup(uint32_t c, const Choice& choice, bool elided);
  bool EmitOutputs();
  bool MakeAvailable(ValueId value, uint32_t slot);
  bool EmitMove(ValueId value, const Move& move);
  void EmitEarlyMoves(ValueId value);
  void Emit(ScheduledStep& step);
  // What is emitted from now on waits for all that was emitted before.
  void RaiseBarrier();
  void WaitForBarrier(uint32_t first_wait);
  // What the step takes longer, and where its results lie.
  void FindInputs(const Choice& choice, bool elided, ScheduledStep& step);
  uint64_t BytesIn(ValueId value, uint32_t slot) const;
  // When a step that reads `reads` would end on the unit.
  int64_t EndOn(UnitId unit, int64_t overhead_ns, int64_t run_ns, uint32_t reads) const;
  // How the option runs the step as far as time is concerned.
  TimedStep Timed(const ScheduledStep& step, const Option* option) const;
  // steps() as they run beside each other.
  void SlowDown(const Timeline& timeline);

  const Space& space_;
  const bool contended_;               // steps slow each other down
  std::vector<ScheduledStep> steps_;   // as they run where nothing slows them down
  std::vector<ScheduledStep> slowed_;  // with contention: the same as they run beside each other
  std::vector<uint32_t> waits_;
  std::vector<ValueState> values_;
  std::vector<Move> moves_;
  std::vector<uint8_t> flags_;    // by slot of a value
  std::vector<uint32_t> writer_;  // by slot of a value: its step, kNothing before, kBound for callers' inputs
  std::vector<bool> elided_;      // by choice
  std::vector<int64_t> lane_free_;
  std::vector<uint32_t> lane_last_;
  std::vector<ValueId> produced_;
  bool any_elision_ = false;
  std::vector<uint32_t> first_step_;  // by choice, and of what the outputs need at the end
  std::vector<uint32_t> barrier_;     // the last step of each unit before the last barrier
  uint32_t behind_barrier_ = 0;       // the first step behind it
  // During a trial (see WindowScheduler), which emits the steps [hidden_from_, hidden_to_) anew behind them: writers of
  // the trial, where trial_of_ of the instance is trial_. 0: no trial.
  uint64_t trial_ = 0;
  uint32_t hidden_from_ = 0, hidden_to_ = 0;
  std::vector<uint32_t> again_;     // by step: holds only where repeated_ says the same
  std::vector<uint32_t> repeated_;  // by step of the trial: the hidden step that it repeats, or kNothing
  std::vector<uint64_t> trial_of_;
  std::vector<uint32_t> trial_writer_;
  int64_t work_ns_ = 0;
};

}  // namespace pt
