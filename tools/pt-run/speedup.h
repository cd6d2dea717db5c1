// How many times as fast one plan is as another, and how sure that is.
#pragma once

#include "tools/pt-run/runner.h"

namespace pt::tools {

// The turns of two runners, in which both were measured one after the other: of each pair the quotient of their
// medians. A machine that changes its pace hits both halves of a pair alike.
struct Speedup {
  double median = 1;         // over the pairs
  double low = 0, high = 0;  // the 95 % interval of the median; 0 where there are too few pairs for one
  size_t pairs = 0;

  bool has_interval() const { return high > 0; }
  // Only then does a plan count as faster or slower.
  bool is_difference() const { return has_interval() && (low > 1 || high < 1); }
};
// Both have run at least one turn.
Speedup SpeedupOver(const MeasuredPlan& base, const MeasuredPlan& runner);

std::string ToString(const Speedup& speedup);  // "1.023 (0.998 to 1.051)"
// "no difference", "too few turns to tell", or nothing.
std::string RemarkOn(const Speedup& speedup);
// Sets speedup, speedup_low, speedup_high and difference.
void AddTo(Json& json, const Speedup& speedup);

}  // namespace pt::tools
