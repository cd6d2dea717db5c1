// DispatchQueue: the rule by which a run decides which ready task goes to which unit. Pure: it knows no threads and no
// clock, callers say what time it is. It is the rule of the planners `operator` and `path`
// (lib/planner/methods/dispatch.h), with what really happened in the place of what was predicted: a task is given away
// as soon as it is ready; to a unit that is free, the one where its measured time is least; where none is free to the
// one that ends it soonest, going by when its work began and by the measured times of what waits there. What a unit has
// been given stays with it.
//
// Not thread-safe. Allocates nothing after it was made.
#pragma once

#include <cstdint>
#include <vector>

#include "partitiontuner/plan/dispatch_plan.h"

namespace pt {

class DispatchQueue {
 public:
  static constexpr uint32_t kNoTask = UINT32_MAX;

  // The table must outlive it. `units`: of the platform.
  DispatchQueue(const DispatchTable& table, size_t units);

  // A new run: tasks that wait for none are ready.
  void Begin();
  // The task is over: it must be the one that its unit was given first, of those that are not over.
  void Finish(uint32_t task, int64_t now_ns);
  // Gives away every task that is ready.
  void Decide(int64_t now_ns);

  // The next task of the unit that was not taken yet, kNoTask when there is none. Units work in the order of giving.
  uint32_t Take(UnitId unit);
  // Of a task that was given away.
  const DispatchPlacement& placement(uint32_t task) const { return table_.tasks[task].placements[choices_[task]]; }
  bool is_done() const { return unfinished_ == 0; }

 private:
  struct Place {
    uint32_t oldest = kNoTask;   // of those not over; what came after it follows by next_
    uint32_t untaken = kNoTask;  // the first of those not taken
    uint32_t newest = kNoTask;
    int64_t since_ns = 0;   // when the oldest could begin
    int64_t behind_ns = 0;  // expected time of all behind the oldest
  };

  int64_t FreeAt(const Place& place, int64_t now_ns) const;
  void Give(uint32_t task, int64_t now_ns);

  const DispatchTable& table_;
  std::vector<Place> places_;      // by unit
  std::vector<uint32_t> choices_;  // by task, as the next two: its placement in this run
  std::vector<uint32_t> waits_;    // makers that are not over
  std::vector<uint32_t> next_;     // on the same unit
  std::vector<uint32_t> ready_;    // not given away yet
  size_t unfinished_ = 0;
};

}  // namespace pt
