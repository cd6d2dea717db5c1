#include <algorithm>
#include <cmath>

#include "partitiontuner/candidate/bytes_read.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr uint64_t kLeastDistance = 64 << 10;
constexpr double kStepsPerDoubling = 4;

// As much of it as the node reads that reads most.
double BytesTouched(const Graph& graph, const Value& constant) {
  double most = 0;
  for (const Use& use : constant.uses) most = std::max(most, BytesRead(graph, use.node, use.input));
  return most;
}

}  // namespace

uint64_t InMemoryDistance(const Platform& platform) {
  const std::vector<uint64_t>& caches = platform.devices.front().cache_bytes;
  return caches.empty() ? uint64_t{128} << 20 : 2 * caches.back();
}

uint64_t ReuseDistance(const Graph& graph, const Platform& platform) {
  double constants = 0, largest_activation = 0;
  for (const Value& value : graph.values()) {
    if (value.is_constant()) {
      constants += BytesTouched(graph, value);
    } else {
      largest_activation = std::max(largest_activation, BytesOfValue(value));
    }
  }
  const double touched = constants + 2 * largest_activation;
  const uint64_t most = InMemoryDistance(platform);
  const double doublings = std::log2(std::max(1.0, touched / kLeastDistance));
  const double nearest = kLeastDistance * std::exp2(std::round(doublings * kStepsPerDoubling) / kStepsPerDoubling);
  if (nearest >= static_cast<double>(most)) return most;
  return static_cast<uint64_t>(nearest) >> 10 << 10;
}

MeasurementKey AfterReuse(MeasurementKey key, uint64_t reuse_distance) {
  return WithField(std::move(key), "after " + std::to_string(reuse_distance >> 10) + " KiB");
}

}  // namespace pt
