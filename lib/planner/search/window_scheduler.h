// WindowScheduler: a solution with its schedule, and what a change of it would give. A change is scheduled anew from
// its first choice on, and no further than until what follows is known: because it is the old schedule again, or the
// same a while earlier or later, because the longest way through it can be told, or because it ends later, whatever
// comes. Where steps slow each other down, that is a first look: a change that is worse even if nothing is slowed down
// is no better beside others, and only what is left is run as a whole. What is told of a change is what Scheduler::Run
// would say of the whole.
#pragma once

#include <memory>
#include <optional>

#include "lib/planner/schedule/schedule.h"

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

  // What a caller wants to know the score of.
  enum class Wanted : uint8_t { kNotWorse, kBetter };
  // The score after the change if that is not worse than score(), else some worse one: kImpossible in both terms. A
  // change of which a score is told must be followed by Commit or Drop before anything else is asked. Where only better
  // ones are wanted, others may be told as worse: that is seen sooner.
  Score Try(Window change, Wanted wanted = Wanted::kNotWorse);
  void Commit();
  void Drop();
  // The whole solution with the change that Try was asked for, until Commit or Drop.
  Solution Changed() const;
  // How much was looked at since the beginning, in choices scheduled: the time it takes is about proportional.
  uint64_t spent() const { return (spent_ + kOfChoice - 1) / kOfChoice; }

 private:
  // kKnown: result_ is the score.
  enum class Verdict : uint8_t { kOpen, kKnown, kWorse };
  // How long at least everything takes that follows from the start of a step, as launched by the host or as the device
  // goes on by itself.
  struct Tail {
    int64_t launch_ns = 0, run_ns = 0;
  };
  // One of several ways in which a move can go: how long it takes at least, and what follows from its end.
  struct Way {
    UnitId unit;
    int64_t ns = 0, rest_ns = 0;
  };
  // By how much what a schedule goes on from lies later than in another one, when it is the same for all of it.
  struct Shift {
    bool any = false, same = true;
    int64_t ns = 0;
    void Add(int64_t by) {
      same = same && (!any || ns == by);
      any = true;
      ns = by;
    }
  };
  // What the trial makes before a position and something behind it reads.
  struct Crossing {
    ValueId value;
    uint32_t slot = 0, step = 0;
  };
  // Of the trial's state before a position with that of the old schedule.
  struct Comparison {
    Shift shift;
    int64_t least_ns = 0;       // of the makespan, by what is compared
    int64_t saved_ns = 0;       // at most: what readers fetch less than before
    bool all_known = true;      // readers fetch as much as before, and all of them were looked at
    bool same_places = true;    // values were made on the same units, and lie in the same caches
    bool elided_moves = false;  // the results of what is elided may lie elsewhere than before
  };

  // In quarters of a choice: what a step that is repeated takes, one that is made anew, and one that is run beside
  // others.
  static constexpr uint64_t kOfRepeat = 1, kOfChoice = 4, kOfSlowed = 8;
  static constexpr int64_t kUnused = -1;  // the tail of a lane that nothing uses any more

  void CountReads(const Choice& choice, int by);

  // window_index.cc
  void Index();
  void IndexForward();
  void IndexBackward();
  void IndexTail(uint32_t s, int64_t unsure_ns, std::vector<int64_t>& lane_tail);
  void IndexWays(uint32_t s, const std::vector<int64_t>& lane_tail);
  bool IsBeforeAllWays(UnitId unit, uint32_t move);
  void AddWays(uint32_t s);
  std::span<Way> WaysOf(uint32_t s);
  int64_t FromEnd(UnitId made_on, UnitId unit, const Tail& tail) const;
  // Notes that the step of the wait follows its maker: from_end_ns(unit) after the end of that on the unit.
  template <typename FromEndNs>
  void NoteFollower(uint32_t wait, FromEndNs from_end_ns) {
    const uint32_t maker = waits_[wait];
    const int64_t ns = from_end_ns(steps_[maker].unit);  // where it runs now
    after_[maker] = std::max(after_[maker], ns);
    through_[wait] = steps_[maker].end_ns + ns;
    if (steps_[maker].single_way) return;
    for (Way& way : WaysOf(maker)) way.rest_ns = std::max(way.rest_ns, from_end_ns(way.unit));
  }
  int64_t LeastWork(const ScheduledStep& step) const;
  int64_t FetchOf(const ScheduledStep& step, const std::vector<bool>& from) const;
  // Of a step of the old schedule.
  double FetchShareOf(const ScheduledStep& step) const {
    return step.choice == kNothing ? kWholeFetch : space_.option(solution_[step.choice].option).fetch_share;
  }
  void Occupy(uint32_t s, std::vector<int64_t>& free, std::vector<uint32_t>& last) const;
  void FollowLanes(uint32_t s, std::vector<int64_t>& lane_tail) const;
  void LanesBefore(uint32_t position, std::vector<int64_t>& free, std::vector<uint32_t>& last) const;
  void LaneTailsFrom(uint32_t position, std::vector<int64_t>& lane_tail) const;

  // window_change.cc
  bool PrepareChange();
  bool IsInPlace() const;
  void TouchAll(const Option& option);
  bool PlanTouched();
  void MarkAnew(ValueId value);
  bool FindElidedAround();
  void DecideElisions(const std::vector<uint32_t>& around);
  void MarkForElision(ValueId value);

  // window_trial.cc
  Verdict Continue(bool to_the_end);
  bool EmitNext();
  bool MayBeBetter(size_t first);
  bool Repeat(uint32_t old, uint32_t now);
  bool RepeatStep(uint32_t s, uint32_t now);
  bool IsThereFor(uint32_t s) const;
  Verdict Judge(bool to_the_end);
  bool MovesAgree(uint32_t at) const;
  Verdict Compare(uint32_t at);
  void CompareLanes(uint32_t at, Comparison& found);
  void CompareMade(uint32_t at, Comparison& found);
  void CompareRepeated(uint32_t at, Comparison& found) const;
  bool CompareInstance(const Crossing& made, uint32_t at, Comparison& found) const;
  void Follow(uint32_t step, uint32_t before, uint32_t reader, uint64_t bytes, Comparison& found) const;
  bool IsShifted(const Comparison& found, uint32_t at) const;
  bool IsSlack(uint32_t maker, uint32_t step, int64_t by_ns) const;
  int64_t LongestAcross(uint32_t at) const;
  bool IsHopeless(int64_t least_ns, uint32_t at) const;
  Verdict Known(int64_t makespan_ns, uint32_t at);

  Score TryWhole();
  // window_slowed.cc
  Score TrySlowed();
  void AddTimed(uint32_t first, uint32_t end);
  int64_t LatestNow() const { return std::max(from_the_start_ ? 0 : latest_before_[start_], latest_); }
  int64_t WorkNow() const { return (from_the_start_ ? 0 : work_before_[start_]) + work_ns_; }
  void Adopt();
  void AdoptWriters();
  void AdoptSteps();
  void AdoptPositions();
  uint32_t LastRead(ValueId value) const;

  uint32_t Size() const {
    return static_cast<uint32_t>(solution_.size() - (change_.to - change_.from) + change_.choices.size());
  }
  uint32_t WindowEnd() const { return change_.from + static_cast<uint32_t>(change_.choices.size()); }
  // Between positions behind the window before and after the change.
  uint32_t OldPosition(uint32_t now) const { return now - WindowEnd() + change_.to; }
  uint32_t NewPosition(uint32_t old) const { return old - change_.to + WindowEnd(); }
  uint32_t NewPositionOf(NodeId node) const;
  const Choice& ChoiceAt(uint32_t now) const;
  // Where a choice with the same option stood before; kNothing: nowhere.
  uint32_t StoodAt(uint32_t now) const;
  bool IsElidedAt(uint32_t now) const;
  // Of the old schedule: the first step behind a position, which may be that of what the outputs need.
  uint32_t StepsBehind(uint32_t old) const { return old < solution_.size() ? first_step_[old + 1] : base_steps_; }
  // Calls visit(value, slot) of all that a step of the trial, or one of the old schedule, makes.
  template <typename Visit>
  void ForEachMade(uint32_t s, Visit visit) const {
    const ScheduledStep& step = steps_[s];
    if (step.choice == kNothing) return visit(step.value, step.to);
    const Option& option = space_.option((s < base_steps_ ? solution_[step.choice] : ChoiceAt(step.choice)).option);
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.out.size(); ++i) visit(group.out[i], option.out[i]);
  }
  uint32_t instance(ValueId value, uint32_t slot) const { return space_.value(value).first + slot; }

  // How bad a change may be as scheduled.
  void SetScore(const Score& score);

  Solution solution_;
  Score score_;
  Score limit_;  // what is worse where nothing slows it down is worse than score_
  std::unique_ptr<Scheduler> whole_;
  std::vector<uint32_t> choice_of_;  // by node
  std::vector<uint32_t> reads_;      // by slot of a value: how many read it
  std::vector<uint32_t> last_read_;  // by value: position behind its last reader, 0 where there is none
  std::vector<bool> elidable_;       // by value: some view or concatenation reads or makes it
  // Of the schedule, by position in the solution (with its end).
  std::vector<int64_t> latest_before_, latest_from_, work_before_, spare_work_from_, elided_fetch_from_;
  // By step. What follows it in data counts from its end on.
  std::vector<Tail> tails_;
  std::vector<int64_t> after_;           // the tail of what follows it in data
  std::vector<uint32_t> last_follower_;  // the last step that waits for it, 0: none
  std::vector<bool> unsure_place_;       // where its results lie may depend on what comes before
  std::vector<bool> elided_step_;
  uint32_t next_move_ = kNothing;  // while tails are found: the first step behind that has several ways to go
  std::vector<Way> ways_;
  std::vector<std::pair<uint32_t, uint32_t>> ways_of_;  // by step with several ways: where they begin, and how many
  std::vector<int64_t> through_;                        // by wait: the longest way through both ends of it
  uint32_t behind_bare_ = 0, behind_unsure_ = 0;  // the step behind the last that waits for nothing, that is unsure
  std::vector<int64_t> lanes_free_, lanes_tail_;  // by (position / kSpacing) * lanes + lane
  std::vector<uint32_t> lanes_last_;              // likewise

  // The trial.
  Window change_;
  Wanted wanted_ = Wanted::kNotWorse;
  bool pending_ = false, as_whole_ = false, from_the_start_ = false;
  bool too_far_ = false;  // elisions that may change are too many to be told apart from the whole
  uint64_t stamp_ = 0;
  uint64_t spent_ = 0;                              // in quarters of a choice
  uint32_t start_ = 0, next_ = 0, not_before_ = 0;  // first position, next position, no agreement before (old position)
  bool settled_ = false;                            // all that follows is repeated
  uint32_t settled_at_ = 0, settled_step_ = 0;      // old position, and the first step of the trial from there on
  uint32_t next_look_ = 0;                          // old position
  uint32_t compared_to_ = 0;                        // step
  int64_t saved_ns_ = 0;                            // see Comparison
  bool elided_moves_ = false;                       // likewise, at any comparison
  bool is_faster_ = false;                          // some step that was repeated since the last one
  uint32_t base_steps_ = 0, base_waits_ = 0, base_moves_ = 0;
  int64_t latest_ = 0;
  Score result_;
  std::optional<Timeline> timeline_;  // with contention: of the whole with the change
  std::vector<TimedStep> timed_;
  std::vector<uint32_t> timed_waits_;
  std::vector<uint64_t> node_stamp_, value_stamp_, mark_stamp_;
  std::vector<uint32_t> local_;            // by node of the window: index into change_.choices
  std::vector<uint32_t> removed_, added_;  // old and new positions of choices whose options the other has not
  std::vector<uint32_t> anew_;             // new positions, ascending: their steps may differ by more than times
  size_t next_anew_ = 0;
  std::vector<std::pair<ValueId, ValueState>> touched_;  // with their states before
  std::vector<ValueId> marked_;
  std::vector<std::pair<uint32_t, bool>> elided_now_;  // by new position, ascending
  std::vector<Crossing> crossings_;
  std::vector<int64_t> old_free_, old_tail_;  // by lane, at a comparison
  std::vector<uint32_t> old_last_;
};

}  // namespace pt
