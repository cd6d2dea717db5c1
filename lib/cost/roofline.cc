#include "lib/cost/roofline.h"

#include <algorithm>

namespace pt {
namespace {

// Shorter ones are mostly overhead and the grain of the clock.
constexpr double kLeastNs = 1000;

// Without arithmetic a node may be a view, or read a few rows of a table: its bytes are not traffic. Reorders, which
// have no operators, touch all of theirs.
bool TouchesItsBytes(const WorkFeatures& work) {
  const bool is_reorder = work.operators.empty() && !work.style.empty();
  return work[WorkFeature::kFlops] > 0 || is_reorder;
}

}  // namespace

double Roofline::Predict(const WorkFeatures& work) const {
  const double arithmetic = flops_per_ns > 0 ? work[WorkFeature::kFlops] / flops_per_ns : 0.0;
  const double traffic = bytes_per_ns > 0 ? work[WorkFeature::kBytes] / bytes_per_ns : 0.0;
  return std::max({arithmetic, traffic, 1.0});
}

double Roofline::Floor(const WorkFeatures& work) const { return TouchesItsBytes(work) ? Predict(work) : 0.0; }

std::optional<Roofline> FitRoofline(LawSamples samples) {
  Roofline roofline;
  size_t count = 0;
  for (const LawSample* sample : samples) {
    const WorkFeatures& work = sample->features;
    if (sample->ns < kLeastNs || !TouchesItsBytes(work)) continue;
    roofline.flops_per_ns = std::max(roofline.flops_per_ns, work[WorkFeature::kFlops] / sample->ns);
    roofline.bytes_per_ns = std::max(roofline.bytes_per_ns, work[WorkFeature::kBytes] / sample->ns);
    ++count;
  }
  if (count < kLeastFitSamples) return std::nullopt;
  return roofline;
}

}  // namespace pt
