// The soak run of requests that come at their own times.
#pragma once

#include "bench/soak_cases.h"

namespace pt::bench {

// One queue a case, and one sender: a request a time with gaps of an exponential distribution, for a case that is
// drawn. Some have a deadline, some are cancelled while they wait or run, and now and then a session gets another plan;
// what is refused counts as such. Prints a line a minute, with resources at rest (nothing waits, every session on its
// first plan) and the percentiles of the latencies since the line before, from when each request was due; then the
// drift. False: something grew, or a result differs.
bool EndureRequests(const SoakSettings& settings, Cases& cases);

}  // namespace pt::bench
