#include "lib/engine/request_simulation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>

#include "partitiontuner/support/random.h"

namespace pt {
namespace {

template <typename T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

// Where runs follow each other.
struct Server {
  int64_t free_ns = 0;      // the next one may begin
  int64_t last_end_ns = 0;  // of those that began
  auto operator<=>(const Server&) const = default;
};

}  // namespace

RequestTally SimulateRequests(const ServiceModel& service, const SimulatedLoad& load) {
  Arrivals arrivals(load.arrivals, load.per_second, load.seed);
  Random draw(SplitMix(load.seed));
  Earliest<int64_t> not_over, in_flight;  // ends
  Earliest<Server> servers;
  for (uint32_t i = 0; i < service.servers; ++i) servers.push({});
  RequestTally tally;
  tally.rate = load.per_second;
  int64_t last_ns = 0;
  for (uint64_t i = 0; i < load.requests; ++i) {
    const int64_t due = arrivals.NextNs();
    last_ns = std::max(last_ns, due);
    while (!not_over.empty() && not_over.top() <= due) not_over.pop();
    if (not_over.size() >= size_t{load.in_flight} + load.waiting) {
      ++tally.refused;
      continue;
    }
    int64_t begin = due;
    if (in_flight.size() == load.in_flight) {
      begin = std::max(begin, in_flight.top());
      in_flight.pop();
    }
    Server server = servers.top();
    servers.pop();
    const int64_t run_ns = service.run_ns[draw.Below(service.run_ns.size())];
    const int64_t start = std::max(begin, server.free_ns);
    const int64_t end = std::max(start + run_ns, server.last_end_ns);
    servers.push({start + std::max<int64_t>(1, std::llround(service.headway * static_cast<double>(run_ns))), end});
    not_over.push(end);
    in_flight.push(end);
    tally.waited.Record(begin - due);
    tally.latency.Record(end - due);
    last_ns = std::max(last_ns, end);
  }
  tally.seconds = static_cast<double>(last_ns) / 1e9;
  return tally;
}

std::vector<int64_t> RunTimesOf(const Estimate& makespan) {
  constexpr int kTimes = 41;
  std::vector<int64_t> times;
  for (int i = 0; i < kTimes; ++i) {
    const double share = 2.0 * i / (kTimes - 1) - 1;
    const double ns = static_cast<double>(makespan.ns) + share * static_cast<double>(makespan.spread_ns);
    times.push_back(std::max<int64_t>(1, std::llround(ns)));
  }
  return times;
}

double HeadwayOf(const Platform& platform, const Plan& plan) {
  struct Span {
    int64_t begin_ns, end_ns;
  };
  std::map<ResourceId, Span> spans;
  int64_t end_ns = 0, longest_ns = 0;
  for (const Step& step : plan.steps) {
    if (step.expected_ns <= 0) continue;
    const Span span{step.expected_start_ns, step.expected_start_ns + step.expected_ns};
    end_ns = std::max(end_ns, span.end_ns);
    for (const auto& [resource, share] : platform.unit(step.unit).uses) {
      Span& whole = spans.try_emplace(resource, span).first->second;
      whole = {std::min(whole.begin_ns, span.begin_ns), std::max(whole.end_ns, span.end_ns)};
    }
  }
  for (const auto& [resource, span] : spans) longest_ns = std::max(longest_ns, span.end_ns - span.begin_ns);
  if (end_ns <= 0 || longest_ns <= 0) return 1;
  return static_cast<double>(longest_ns) / static_cast<double>(end_ns);
}

}  // namespace pt
