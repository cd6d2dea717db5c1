// Residuals: where the difference between a plan's predicted and its measured time comes from, by name.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

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
// step_ns: by step, as measured; measured_ns: of the same runs; pace: 1 where it is not known.
Residuals ResidualsOf(const Platform& platform, const Plan& plan, std::span<const int64_t> step_ns, int64_t measured_ns,
                      double pace);

// By step: whether it reads an instance that a step on another unit made.
std::vector<bool> ReadsFromOtherUnits(const Plan& plan);

}  // namespace pt
