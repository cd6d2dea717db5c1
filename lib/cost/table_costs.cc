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

void TableCosts::SetDevice(DeviceId device, const DeviceCost& cost) { devices_[device] = cost; }

void TableCosts::ChangeSteps(std::function<void(const Candidate&, StepCost&)> change) {
  changes_.push_back(std::move(change));
}

void TableCosts::SetSlowdown(std::function<double(const Candidate&, std::span<const Candidate* const>)> factor) {
  slowdown_ = std::move(factor);
}

std::optional<Estimate> TableCosts::RunOf(const Candidate& candidate) const {
  const auto exact = run_of_.find({candidate.nodes, candidate.unit_class, candidate.library, candidate.variant});
  if (exact != run_of_.end()) return Given(exact->second);
  const auto found = run_.find({candidate.nodes, candidate.unit_class});
  if (found == run_.end()) return std::nullopt;
  return Given(found->second);
}

StepCost TableCosts::OfStep(const Candidate& candidate) const {
  StepCost cost;
  cost.run = RunOf(candidate);
  cost.overhead = OfClass(candidate.unit_class).overhead;
  for (const auto& change : changes_) change(candidate, cost);
  return cost;
}

ClassCost TableCosts::OfClass(UnitClassId unit_class) const { return {GivenOrFree(overhead_, unit_class)}; }

PairCost TableCosts::OfPair(UnitClassId from, UnitClassId to) const {
  PairCost cost;
  cost.wait = GivenOrFree(wait_, std::pair(from, to));
  const auto fetch = fetch_.find({from, to});
  if (fetch != fetch_.end()) cost.fetch.ns_per_byte = fetch->second;
  return cost;
}

DeviceCost TableCosts::OfDevice(DeviceId device) const {
  const auto found = devices_.find(device);
  return found == devices_.end() ? DeviceCost() : found->second;
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

double TableCosts::Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const {
  return slowdown_ ? std::max(1.0, slowdown_(candidate, beside)) : 1.0;
}

}  // namespace pt
