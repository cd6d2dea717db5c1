// Samples that the tests of laws make.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "lib/cost/law_sample.h"

namespace pt {

inline WorkFeatures WorkOf(double flops, double bytes) {
  WorkFeatures work;
  work[WorkFeature::kFlops] = flops;
  work[WorkFeature::kBytes] = bytes;
  return work;
}

class SampleList {
 public:
  LawSample& Add(double flops, double bytes, double ns, std::string family = "Relu") {
    samples_.push_back({std::move(family), WorkOf(flops, bytes), ns});
    pointers_.push_back(&samples_.back());
    return samples_.back();
  }
  LawSamples all() const { return pointers_; }

 private:
  std::deque<LawSample> samples_;  // stays where it is
  std::vector<const LawSample*> pointers_;
};

}  // namespace pt
