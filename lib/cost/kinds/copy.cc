#include "lib/cost/kinds/copy.h"

#include <algorithm>

#include "lib/cost/round_ns.h"
#include "partitiontuner/cost/cost_keys.h"

namespace pt {
namespace {

constexpr uint64_t kLeastBytes = 256;
constexpr uint64_t kMostBytes = uint64_t{64} << 20;
// Where nothing at all is known of a link: an order of magnitude.
constexpr double kUnknownLatencyNs = 20'000, kUnknownBytesPerNs = 1.0;

std::vector<uint64_t> Ladder() {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

void List(const CostScope& scope, KeyList& keys) {
  for (size_t l = 0; l < scope.platform.links.size(); ++l) {
    const LinkId link(l);
    if (IsSimulatedLink(scope.platform, link)) continue;
    for (const uint64_t bytes : Ladder()) {
      keys.Add(
          {CopyKey(scope.platform, link, bytes), &kCopyKind, LinkWork{link, bytes}, 0, static_cast<double>(bytes)});
    }
  }
}

std::string Label(const CostScope& scope, const NeededKey& needed) {
  const Link& link = scope.platform.link(needed.link().link);
  return "copy " + std::to_string(needed.link().bytes) + " bytes " + scope.platform.device(link.from).name + " to " +
         scope.platform.device(link.to).name;
}

}  // namespace

const CostKind kCopyKind = {"copy", CostKind::Turn::kByWeight, false, List, Label, nullptr};

MeasurementKey CopyKey(const Platform& platform, LinkId link, uint64_t bytes) {
  const Device& from = platform.device(platform.link(link).from);
  const Device& to = platform.device(platform.link(link).to);
  return MakeKey("copy " + std::to_string(bytes) + " | " + from.name + " | " + from.fingerprint + " | " + to.name +
                 " | " + to.fingerprint);
}

CopyTimes::CopyTimes(const CostReading& reading, LinkId id) {
  const Link& link = reading.platform().link(id);
  simulated_ = IsSimulatedLink(reading.platform(), id);
  latency_ns_ = static_cast<double>(link.latency_ns);
  ns_per_byte_ = link.bytes_per_ns > 0 ? 1.0 / link.bytes_per_ns : 0.0;
  if (simulated_) return;
  if (link.bytes_per_ns <= 0) {
    latency_ns_ = kUnknownLatencyNs;
    ns_per_byte_ = 1.0 / kUnknownBytesPerNs;
  }
  for (const uint64_t bytes : Ladder()) {
    const std::optional<Estimate> time = reading.TimeOf(CopyKey(reading.platform(), id, bytes));
    if (time) measured_.emplace_back(static_cast<double>(bytes), *time);
  }
}

// Straight lines between the measured sizes; beyond them the last one goes on, so that the time per byte of the largest
// copies holds.
Estimate CopyTimes::TimeOf(uint64_t size) const {
  const auto bytes = static_cast<double>(size);
  const double by_rate = latency_ns_ + bytes * ns_per_byte_;
  if (simulated_) return {RoundNs(by_rate), 0, Provenance::kSimulated, 0};
  if (measured_.size() < 2) return {RoundNs(by_rate), 0, Provenance::kEstimated, 1.0};
  size_t upper = 1;
  while (upper + 1 < measured_.size() && measured_[upper].first < bytes) ++upper;
  const auto& [low_bytes, low] = measured_[upper - 1];
  const auto& [high_bytes, high] = measured_[upper];
  const double share = std::max(0.0, (bytes - low_bytes) / (high_bytes - low_bytes));
  const double ns = static_cast<double>(low.ns) + share * static_cast<double>(high.ns - low.ns);
  return {RoundNs(ns), std::max(low.spread_ns, high.spread_ns), Provenance::kMeasured, 0};
}

}  // namespace pt
