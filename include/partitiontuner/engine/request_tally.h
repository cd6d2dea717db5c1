// RequestTally: what became of requests that came at a rate, in a run or in a simulation of one.
#pragma once

#include <cstdint>

#include "partitiontuner/support/latency_histogram.h"

namespace pt {

// Times in nanoseconds.
struct RequestTally {
  double rate = 0;             // requests a second, as they were to come
  LatencyHistogram latency;    // of those that succeeded, from when each was due to its end
  LatencyHistogram waited;     // likewise, from when it was sent until its run began
  LatencyHistogram sent_late;  // of all: how much later than it was due a request was sent; empty of a simulation
  uint64_t refused = 0;        // for want of room
  uint64_t late = 0;           // ended by their deadline
  uint64_t alone_runs = 0;     // of those that succeeded: their caller did every step itself
  double seconds = 0;          // from the first request's time to the last one's end

  double served_per_s() const { return seconds > 0 ? static_cast<double>(latency.count()) / seconds : 0; }
  // Some succeeded, and none was refused or late.
  bool all_served() const { return refused == 0 && late == 0 && latency.count() > 0; }
};

}  // namespace pt
