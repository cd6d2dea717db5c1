// Requests in virtual time: what they would wait for at a rate, by what runs take. The same numbers for the same seed.
#pragma once

#include <cstdint>
#include <vector>

#include "partitiontuner/cost/estimate.h"
#include "partitiontuner/engine/arrivals.h"
#include "partitiontuner/engine/request_tally.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

// How a machine serves requests by a plan.
struct ServiceModel {
  // What a run takes, in nanoseconds: each of these is as likely as the others. At least one, none below 1.
  std::vector<int64_t> run_ns;
  // Runs that go on beside each other, each on a core or device of its own; at least 1.
  uint32_t servers = 1;
  // The share of a run after which the next one may begin on the same server, above 0; below 1 where a run leaves the
  // cores and streams that it begins with before it ends. Runs of one server never overtake each other.
  double headway = 1;
};

struct SimulatedLoad {
  ArrivalKind arrivals = ArrivalKind::kPoisson;
  double per_second = 1;  // above 0
  uint64_t seed = 1;      // of arrivals, and of what runs take
  uint64_t requests = 20'000;
  uint32_t in_flight = 1, waiting = 64;  // as RequestQueueOptions; at least one in flight
};

// First come, first served, as RequestQueue does it: a request that finds in_flight + waiting others is refused; it
// begins when fewer than in_flight are, and runs when a server is free. The first one meets an idle machine.
RequestTally SimulateRequests(const ServiceModel& service, const SimulatedLoad& load);

// What runs take by a prediction: evenly from the low end of its interval to the high one.
std::vector<int64_t> RunTimesOf(const Estimate& makespan);

// The headway of runs of the plan that begin as soon as the units of the run before them have ended their lists: the
// longest time from the first step to the last one's end on one resource, by the whole.
double HeadwayOf(const Platform& platform, const Plan& plan);

}  // namespace pt
