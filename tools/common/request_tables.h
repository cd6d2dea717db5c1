// What tools say of requests that came at a rate.
#pragma once

#include <string>

#include "partitiontuner/engine/arrivals.h"
#include "partitiontuner/engine/request_tally.h"
#include "partitiontuner/support/json.h"

namespace pt::tools {

// Of --arrivals: "fixed" or "poisson".
ArrivalKind ArrivalsOf(const std::string& word);

// Percentiles, least, greatest and mean, in nanoseconds.
Json ToJson(const LatencyHistogram& times);
Json ToJson(const RequestTally& tally);

}  // namespace pt::tools
