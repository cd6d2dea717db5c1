// Residuals: where the difference between a plan's predicted and its measured time comes from, by name.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// How fast the machine is beside what it was when the plan's times were measured.
struct Pace {
  double work = 1;           // times as long for the same work
  int64_t hand_over_ns = 0;  // between cores of the host, now; 0 = as then, or not known
};

// What the plan's makespan would have been predicted to be on the machine as it is now: its steps take `work` times as
// long, and hand-overs, those within teams of several cores too, what they take now.
int64_t PredictedAt(const Platform& platform, const Plan& plan, const Pace& pace);

// Nanoseconds that a run took longer than predicted (negative: less), by what made it so. They add up to measured_ns -
// predicted_ns.
struct Residuals {
  int64_t predicted_ns = 0, measured_ns = 0;
  int64_t drift_ns = 0;     // the machine is slower than when the plan's times were measured
  int64_t kernels_ns = 0;   // of steps whose inputs were made on the same unit, or are the caller's
  int64_t inputs_ns = 0;    // of kernels that read what another unit made
  int64_t reorders_ns = 0;  // changes of form
  int64_t copies_ns = 0;    // between devices
  int64_t waits_ns = 0;     // between steps: hand-overs, dispatch, and what the timeline does not know
};

// Found by replaying the plan's order with its predicted times, and then with the measured ones of one kind of step
// after another; so a step off the critical path counts nothing, however late it is.
// step_ns: by step, as measured; measured_ns: of the same runs.
Residuals ResidualsOf(const Platform& platform, const Plan& plan, std::span<const int64_t> step_ns, int64_t measured_ns,
                      const Pace& pace);

// By step: whether it reads an instance that a step on another unit made.
std::vector<bool> ReadsFromOtherUnits(const Plan& plan);

}  // namespace pt
