// How well the times of a profile can be predicted from the rest of it: what predictions of unmeasured work are worth.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/cost/profile.h"

namespace pt {

// A measurement as it would be predicted had neither it nor equal work been measured.
struct HeldOutPrediction {
  std::string family, library, unit_class, math;
  std::string_view law;  // "power law", "polynomial" or "roofline"; empty: nothing could predict it
  double measured_ns = 0, predicted_ns = 0;
  double low_ns = 0, high_ns = 0;  // where the central 80 % of such measurements are expected
};
// For every measurement that is a sample for predictions (candidates and reorders that ran), each device and unit class
// by itself.
std::vector<HeldOutPrediction> PredictHeldOut(const Profile& profile);

struct PredictionErrors {
  std::string family, library, unit_class, math;
  size_t count = 0, unpredicted = 0;  // measurements in all, and those that nothing could predict
  // Of |predicted / measured - 1| of the others; 0 where there are none.
  double median = 0, percentile_95 = 0;
  double bias = 0;              // median of predicted / measured - 1
  double inside = 0;            // share of measurements within their interval
  double polynomial_share = 0;  // of predictions that a polynomial made
};
// One for each family, library, unit class and math mode, most measurements first.
std::vector<PredictionErrors> ErrorsByFamily(std::span<const HeldOutPrediction> predictions);

}  // namespace pt
