// WindowScheduler: a solution with its schedule, and what a change of it would give. A change is scheduled anew from
// its first choice on, and no further than until the schedule agrees with the old one again or can be seen to end
// later, whatever comes. What is told of a change is what Scheduler::Run would say of the whole.
#pragma once

#include <memory>

#include "lib/planner/schedule.h"

namespace pt {

struct Score {
  int64_t makespan_ns = kImpossible;
  int64_t work_ns = kImpossible;  // decides between equal makespans
  friend auto operator<=>(const Score&, const Score&) = default;
};

// The choices at positions [from, to) give way to others, which cover the same nodes and stand in a legal order.
struct Window {
  uint32_t from = 0, to = 0;
  std::vector<Choice> choices;
};

// One thread at a time.
class WindowScheduler : public Scheduler {
 public:
  explicit WindowScheduler(const Space& space);

  // Schedules a whole solution. False when it is impossible: then nothing else may be asked before another Reset.
  bool Reset(Solution solution);

  const Solution& solution() const { return solution_; }
  const Score& score() const { return score_; }
  // The position of the choice that runs the node.
  uint32_t position(NodeId node) const { return choice_of_[node.index()]; }

  // The score after the change if that is not worse than score(), else some worse one: kImpossible in both terms. A
  // change that is not worse must be followed by Commit or Drop before anything else is asked.
  Score Try(Window change);
  void Commit();
  void Drop();
  // The whole solution with the change that Try was asked for, until Commit or Drop.
  Solution Changed() const;
  // How much was looked at since the beginning, in choices scheduled: the time it takes is about proportional.
  uint64_t spent() const { return spent_; }

 private:
  enum class Verdict : uint8_t { kOpen, kAgrees, kWorse };
  // How long at least everything takes that follows from the start of a step, as launched by the host or as the device
  // goes on by itself.
  struct Tail {
    int64_t launch_ns = 0, run_ns = 0;
  };

  void CountReads(const Choice& choice, int by);

  // window_index.cc
  void Index();
  void IndexTails();
  void IndexLanes();
  int64_t LeastWork(const ScheduledStep& step, bool& single) const;
  int64_t UnsureFetch(const ScheduledStep& step) const;
  void Occupy(uint32_t s, std::vector<int64_t>& free, std::vector<uint32_t>& last) const;

  Score TryWhole();
  bool PrepareChange();
  void Touch(ValueId value);
  bool PlanTouched();
  bool FindElidedAround();
  void MarkForElision(ValueId value);
  void RestoreLanes(uint32_t position);
  Verdict Continue(bool to_the_end);
  Verdict Compare(uint32_t at) const;
  bool MovesAgree(uint32_t at) const;
  // Of an instance that the trial makes: adds to `least` what follows from it, to `saved` what its readers fetch less;
  // false when it differs from before.
  bool CompareInstance(uint32_t step, ValueId value, uint32_t slot, uint32_t at, int64_t& least, int64_t& saved) const;
  Score ScoreNow() const;
  void Adopt();

  uint32_t Size() const {
    return static_cast<uint32_t>(solution_.size() - (change_.to - change_.from) + change_.choices.size());
  }
  uint32_t WindowEnd() const { return change_.from + static_cast<uint32_t>(change_.choices.size()); }
  // Between positions behind the window before and after the change.
  uint32_t OldPosition(uint32_t now) const { return now - WindowEnd() + change_.to; }
  uint32_t NewPosition(uint32_t old) const { return old - change_.to + WindowEnd(); }
  uint32_t NewPositionOf(NodeId node) const;
  const Choice& ChoiceAt(uint32_t now) const;
  uint32_t instance(ValueId value, uint32_t slot) const { return space_.value(value).first + slot; }

  Solution solution_;
  Score score_;
  bool whole_only_ = false;  // steps slow each other down: every change is run as a whole
  std::unique_ptr<Scheduler> whole_;
  std::vector<uint32_t> choice_of_;  // by node
  std::vector<uint32_t> reads_;      // by slot of a value: how many read it
  std::vector<uint32_t> last_read_;  // by value: position behind its last reader, 0 where there is none
  std::vector<bool> elidable_;       // by value: some view or concatenation reads or makes it
  // Of the schedule, by position in the solution (with its end) unless said otherwise.
  std::vector<int64_t> latest_before_, latest_from_, work_before_, spare_work_from_;
  std::vector<Tail> tails_;                       // by step
  std::vector<bool> single_way_;                  // by step: whatever else changes, it runs on this unit
  uint32_t spacing_ = 1;                          // positions between those whose lanes are known
  std::vector<int64_t> lanes_free_, lanes_tail_;  // by (position / spacing_) * lanes + lane
  std::vector<uint32_t> lanes_last_;              // likewise

  // The trial.
  Window change_;
  bool pending_ = false, as_whole_ = false, from_the_start_ = false;
  uint64_t stamp_ = 0;
  mutable uint64_t spent_ = 0;
  uint32_t start_ = 0, next_ = 0, not_before_ = 0;  // first position, next position, no agreement before (old position)
  uint32_t base_steps_ = 0, base_waits_ = 0, base_moves_ = 0;
  int64_t latest_ = 0;
  std::vector<uint64_t> node_stamp_, value_stamp_, mark_stamp_;
  std::vector<uint32_t> local_;                          // by node of the window: index into change_.choices
  std::vector<std::pair<ValueId, ValueState>> touched_;  // with their states before
  std::vector<ValueId> marked_;
  std::vector<std::pair<uint32_t, bool>> elided_now_;  // by new position, ascending
};

}  // namespace pt
