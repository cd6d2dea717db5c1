#include "partitiontuner/cost/prediction_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "lib/cost/predictor.h"

namespace pt {
namespace {

// The smallest value that the share of all keeps within.
double ShareOf(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

PredictionErrors ErrorsOf(std::span<const HeldOutPrediction* const> group) {
  const HeldOutPrediction& first = *group.front();
  PredictionErrors errors{first.family, first.library, first.unit_class, first.math};
  errors.count = group.size();
  std::vector<double> signed_errors, sizes;
  double inside = 0, polynomials = 0;
  for (const HeldOutPrediction* p : group) {
    if (p->law.empty()) continue;
    signed_errors.push_back(p->predicted_ns / p->measured_ns - 1);
    sizes.push_back(std::abs(signed_errors.back()));
    inside += p->measured_ns >= p->low_ns && p->measured_ns <= p->high_ns ? 1 : 0;
    polynomials += p->law == "polynomial" ? 1 : 0;
  }
  errors.unpredicted = group.size() - sizes.size();
  if (sizes.empty()) return errors;
  const auto predicted = static_cast<double>(sizes.size());
  errors.median = ShareOf(sizes, 0.5);
  errors.percentile_95 = ShareOf(sizes, 0.95);
  errors.bias = ShareOf(signed_errors, 0.5);
  errors.inside = inside / predicted;
  errors.polynomial_share = polynomials / predicted;
  return errors;
}

}  // namespace

std::vector<HeldOutPrediction> PredictHeldOut(const Profile& profile) { return Predictor(profile).HeldOut(); }

std::vector<PredictionErrors> ErrorsByFamily(std::span<const HeldOutPrediction> predictions) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::vector<const HeldOutPrediction*>>
      groups;
  for (const HeldOutPrediction& p : predictions) groups[{p.family, p.library, p.unit_class, p.math}].push_back(&p);
  std::vector<PredictionErrors> errors;
  for (const auto& [key, group] : groups) errors.push_back(ErrorsOf(group));
  std::stable_sort(errors.begin(), errors.end(),
                   [](const PredictionErrors& a, const PredictionErrors& b) { return a.count > b.count; });
  return errors;
}

}  // namespace pt
