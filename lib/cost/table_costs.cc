#include "partitiontuner/cost/table_costs.h"

#include <algorithm>
#include <cmath>

namespace pt {
namespace {

Estimate Given(int64_t ns) {
  Estimate estimate;
  estimate.ns = ns;
  estimate.provenance = Provenance::kTable;
  return estimate;
}

template <typename Map, typename Key>
Estimate GivenOrFree(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return Given(found == map.end() ? 0 : found->second);
}

}  // namespace

void TableCosts::SetRun(std::vector<NodeId> nodes, UnitClassId unit_class, int64_t ns) {
  std::sort(nodes.begin(), nodes.end());
  run_[{std::move(nodes), unit_class}] = ns;
}

void TableCosts::SetRunOf(const Candidate& candidate, int64_t ns) {
  run_of_[{candidate.nodes, candidate.unit_class, candidate.library, candidate.variant}] = ns;
}

void TableCosts::SetLink(LinkId link, int64_t latency_ns, double bytes_per_ns) {
  links_[link] = {latency_ns, bytes_per_ns};
}

void TableCosts::SetReorder(
    std::function<std::optional<int64_t>(std::span<const int64_t>, const Form&, const Form&, UnitClassId)> ns) {
  reorder_ = std::move(ns);
}

void TableCosts::SetOverhead(UnitClassId unit_class, int64_t ns) { overhead_[unit_class] = ns; }

void TableCosts::SetWait(UnitClassId from, UnitClassId to, int64_t ns) { wait_[{from, to}] = ns; }

void TableCosts::SetFetch(UnitClassId from, UnitClassId to, double ns_per_byte) { fetch_[{from, to}] = ns_per_byte; }

void TableCosts::SetOverheadOf(std::function<int64_t(const Candidate&)> ns) { overhead_of_ = std::move(ns); }
void TableCosts::SetSegmentLaunch(DeviceId device, const SegmentLaunch& launch) { segment_launches_[device] = launch; }
void TableCosts::SetDemand(std::function<double(const Candidate&)> share) { demand_ = std::move(share); }
void TableCosts::SetFetchShare(std::function<double(const Candidate&)> share) { fetch_share_ = std::move(share); }

void TableCosts::SetSlowdown(std::function<double(const Candidate&, std::span<const Candidate* const>)> factor) {
  slowdown_ = std::move(factor);
}

std::optional<Estimate> TableCosts::Run(const Candidate& candidate) const {
  const auto exact = run_of_.find({candidate.nodes, candidate.unit_class, candidate.library, candidate.variant});
  if (exact != run_of_.end()) return Given(exact->second);
  const auto found = run_.find({candidate.nodes, candidate.unit_class});
  if (found == run_.end()) return std::nullopt;
  return Given(found->second);
}

Estimate TableCosts::Copy(uint64_t bytes, LinkId link) const {
  const auto found = links_.find(link);
  if (found == links_.end()) return Given(0);
  const auto [latency_ns, bytes_per_ns] = found->second;
  const double transfer = bytes_per_ns > 0 ? std::ceil(static_cast<double>(bytes) / bytes_per_ns) : 0;
  return Given(latency_ns + static_cast<int64_t>(transfer));
}

std::optional<Estimate> TableCosts::Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                            UnitClassId unit_class) const {
  if (!reorder_) return std::nullopt;
  const std::optional<int64_t> ns = reorder_(dims, from, to, unit_class);
  if (!ns) return std::nullopt;
  return Given(*ns);
}

Estimate TableCosts::StepOverhead(UnitClassId unit_class) const { return GivenOrFree(overhead_, unit_class); }

Estimate TableCosts::StepOverheadOf(const Candidate& candidate) const {
  return overhead_of_ ? Given(overhead_of_(candidate)) : StepOverhead(candidate.unit_class);
}

std::optional<SegmentLaunch> TableCosts::LaunchOfSegment(DeviceId device) const {
  const auto found = segment_launches_.find(device);
  if (found == segment_launches_.end()) return std::nullopt;
  return found->second;
}

Estimate TableCosts::WaitCost(UnitClassId from, UnitClassId to) const {
  return GivenOrFree(wait_, std::pair(from, to));
}

Estimate TableCosts::FetchCost(UnitClassId from, UnitClassId to, uint64_t bytes) const {
  const auto found = fetch_.find({from, to});
  if (found == fetch_.end()) return Given(0);
  return Given(static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * found->second)));
}

double TableCosts::FetchShare(const Candidate& candidate) const { return fetch_share_ ? fetch_share_(candidate) : 1.0; }

double TableCosts::Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const {
  return slowdown_ ? std::max(1.0, slowdown_(candidate, beside)) : 1.0;
}

}  // namespace pt
