// Which parts of a network may be computed in lower precision under an error budget: the choice alone. What is tried,
// and what comes of it, lies behind an interface, so that the choice can be tested on made-up networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitiontuner/support/result.h"

namespace pt {

// By part: may it be computed in lower precision?
using Lowering = std::vector<bool>;

// Errors are as RelativeError (engine/verify.h) has them, of several data sets: the largest of them, and the typical
// one, the root of their mean square, which depends less on a single set. Infinite where something differs that must
// not, and where there is no plan.
class LoweringTrials {
 public:
  virtual ~LoweringTrials() = default;
  virtual size_t parts() const = 0;
  // The predicted time of the plan in fp32, and by how much a plan must be faster for it to be more than noise.
  virtual int64_t fp32_ns() const = 0;
  virtual int64_t noise_ns() const = 0;
  // What lowering the part saves by the profile, without changes of form around it; may be negative.
  virtual int64_t saved_ns(size_t part) const = 0;

  struct Outcome {
    double largest = 0, typical = 0;  // errors on the data to choose by
    int64_t ns = 0;                   // the plan's predicted time
  };
  // The typical error with nothing but that part lowered, whether it pays or not. kInterrupted, here and of Try, when
  // the choice is to be made from what was tried so far.
  virtual Result<double> ErrorAlone(size_t part) = 0;
  // The plan that the planner makes when it may lower these parts.
  virtual Result<Outcome> Try(const Lowering& lowering) = 0;
  // That plan's largest error on data which was not used for choosing.
  virtual Result<double> Confirm(const Lowering& lowering) = 0;
};

struct LoweringChoice {
  Lowering lowering;  // nothing lowered: fp32
  LoweringTrials::Outcome outcome;
  double confirmed = 0;  // never above the budget
};

// The fastest lowering found whose error is within the budget on both sorts of data; fp32 when none is. max_error is
// above zero. Asks for at most MostTrials(parts) plans. Interrupted, it confirms the fastest that was tried and then
// takes that or fp32. Errors: those of the trials.
Result<LoweringChoice> ChooseLowering(LoweringTrials& trials, double max_error);
size_t MostTrials(size_t parts);

}  // namespace pt
