// LawSample: one measurement as the laws of prediction see it.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "partitiontuner/cost/work_features.h"

namespace pt {

struct LawSample {
  std::string family;
  WorkFeatures features;
  double ns = 0;

  // What makes two samples equal work: a law that saw one of them has seen the other.
  std::pair<double, double> work() const { return {features[WorkFeature::kFlops], features[WorkFeature::kBytes]}; }
};
using LawSamples = std::span<const LawSample* const>;

// Of a group whose law may answer, and of what is left of it when a fold is left out.
inline constexpr size_t kLeastGroupSamples = 10, kLeastFitSamples = 8;

}  // namespace pt
