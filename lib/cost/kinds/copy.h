// Copy: what moving bytes over a link takes.
#pragma once

#include "lib/cost/cost_kind.h"

namespace pt {

class CopyTimes {
 public:
  CopyTimes(const CostReading& reading, LinkId link);
  Estimate TimeOf(uint64_t bytes) const;

 private:
  bool simulated_ = false;
  double latency_ns_ = 0, ns_per_byte_ = 0;            // simulated, or nothing measured
  std::vector<std::pair<double, Estimate>> measured_;  // by bytes, ascending
};

}  // namespace pt
