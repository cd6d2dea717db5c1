// The plan for requests that come at a rate: which of several plans, run in which way, keeps the 99th percentile of
// their latency below a bound.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/engine/arrivals.h"
#include "partitiontuner/engine/request_setting.h"
#include "partitiontuner/engine/request_tally.h"
#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/graph/tensor.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct RateGoal {
  double per_second = 0;                             // above 0, at most 1e7
  std::optional<std::chrono::nanoseconds> p99 = {};  // the bound; nothing: that all are served
  ArrivalKind arrivals = ArrivalKind::kPoisson;
  uint32_t waiting = 64;  // requests that wait (RequestQueueOptions::waiting); one more is refused
  uint64_t seed = 1;      // of the arrivals, simulated and sent
};
// None was refused or late, and the percentile is below the bound.
bool Meets(const RateGoal& goal, const RequestTally& tally);

struct RateConfirmation {
  std::vector<Tensor> inputs;                        // that requests bring, in the order of the graph's
  std::chrono::nanoseconds duration{2'000'000'000};  // of each trial; longer where so few requests would come
  const CancelToken* cancel = nullptr;               // ends trials; may be null
  std::function<void(uint64_t sent)> progress = {};  // as OpenLoopOptions::progress
};

// A plan and a way to run requests by it.
struct RateContender {
  std::string name;  // "search, by all cores in turns", "single:cpu, one a core"
  Plan plan;         // made_for has the goal and `setting`
  RequestSetting setting;
  RequestTally predicted;                // at the goal's rate, in virtual time by the plan's predicted makespan
  double predicted_rate = 0;             // the highest one at which the bound is predicted to hold; 0: none
  std::optional<RequestTally> measured;  // at the goal's rate; nothing of those that did not run
};

struct RateChoice {
  std::vector<RateContender> contenders;  // the best prediction first; at least one
  size_t chosen = 0;
  bool confirmed = false;  // by runs; else by predictions alone
  bool met = false;        // by the chosen one
  // Where it is not met: the highest rate that the chosen one does meet, found by trials where there were runs; 0:
  // none. Else the goal's.
  double highest_rate = 0;
};

}  // namespace pt
