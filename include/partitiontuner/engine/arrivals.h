// Arrivals: when the requests of an open loop come, whatever became of those before.
#pragma once

#include <cstdint>

#include "partitiontuner/support/random.h"

namespace pt {

enum class ArrivalKind : uint8_t {
  kPoisson,  // independent of each other: gaps of an exponential distribution
  kFixed,    // all gaps alike
};

// The same times for the same seed.
class Arrivals {
 public:
  // per_second > 0.
  Arrivals(ArrivalKind kind, double per_second, uint64_t seed)
      : kind_(kind), mean_gap_ns_(1e9 / per_second), random_(seed) {}

  // Of the next request, in nanoseconds since before the first one.
  int64_t NextNs();

 private:
  ArrivalKind kind_;
  double mean_gap_ns_;
  Random random_;
  double now_ns_ = 0;
};

}  // namespace pt
