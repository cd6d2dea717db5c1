#include "partitiontuner/engine/arrivals.h"

#include <algorithm>
#include <cmath>

namespace pt {

int64_t Arrivals::NextNs() {
  constexpr double kNever = 9e18;
  now_ns_ += kind_ == ArrivalKind::kFixed ? mean_gap_ns_ : -std::log1p(-random_.Uniform(0, 1)) * mean_gap_ns_;
  now_ns_ = std::min(now_ns_, kNever);
  return static_cast<int64_t>(now_ns_);
}

}  // namespace pt
