// Looks for the highest rate of requests at which something holds, by trials.
#pragma once

#include <cstddef>
#include <functional>

#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Rates are requests a second.
struct RateSearch {
  double first_rate = 1;   // where trials begin
  double least_rate = 0;   // a trial at a lower one says nothing
  double nearness = 1.05;  // quotient of a rate that does not hold and one that does, at which these are near enough
  size_t most_trials = 24;
  const CancelToken* cancel = nullptr;  // ends the search with nothing found; may be null
};

// A trial at that rate: whether it holds. confirms: what the search has found is tried once more, so that luck does not
// decide.
using RateTrial = std::function<Result<bool>(double rate, bool confirms)>;

// Doubles or quarters the rate until it lies between one that holds and one that does not, and halves that range until
// both are near. What is found must hold once more, or a little less does. 0: none was found. Errors: those of trials.
Result<double> FindHighestRate(const RateSearch& search, const RateTrial& trial);

}  // namespace pt
