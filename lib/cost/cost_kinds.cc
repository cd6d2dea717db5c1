#include <algorithm>
#include <array>

#include "lib/cost/cost_kind.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {

std::span<const CostKind* const> CostKinds() {
  static constexpr std::array kKinds = {&kOverheadKind,     &kWaitKind,          &kFetchKind,         &kSegmentKind,
                                        &kStreamWaitKind,   &kRunKind,           &kFetchedInputsKind, &kDemandKind,
                                        &kBesideMemoryKind, &kBesideComputeKind, &kMemoryHogKind,     &kReorderKind,
                                        &kCopyKind};
  return kKinds;
}

MeasurementKey CostScope::KeyOf(const Candidate& candidate) const {
  const auto version = library_versions.find(candidate.library);
  return CostKey(graph, platform, candidate, version == library_versions.end() ? std::string_view() : version->second,
                 reuse_distance);
}

UnitClassId NeededKey::unit_class() const {
  struct ClassOfWork {
    UnitClassId operator()(const CandidateWork& work) const { return work.unit_class; }
    UnitClassId operator()(const ReorderWork& work) const { return work.unit_class; }
    UnitClassId operator()(const ClassWork& work) const { return work.unit_class; }
    UnitClassId operator()(const PairWork& work) const { return work.from; }
    UnitClassId operator()(const LinkWork&) const { return {}; }
  };
  return std::visit(ClassOfWork(), work);
}

std::vector<NeededKey> NeededKeys(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                                  const std::map<std::string, std::string>& library_versions) {
  const CostScope scope{graph, platform, candidates, library_versions, ReuseDistance(graph, platform)};
  KeyList keys;
  for (const CostKind* kind : CostKinds()) kind->list(scope, keys);
  return std::move(keys).Take();
}

const Measurement* CostReading::Ran(const MeasurementKey& key) const {
  const Measurement* row = profile_.find(key.hash);
  return row != nullptr && row->failure.empty() ? row : nullptr;
}

std::optional<Estimate> CostReading::TimeOf(const MeasurementKey& key) const {
  const Measurement* row = Ran(key);
  if (row == nullptr) return std::nullopt;
  return Estimate{row->median_ns, row->spread_ns, row->provenance, 0.0, row->reference_ns};
}

bool IsSimulatedClass(const Platform& platform, UnitClassId unit_class) {
  return platform.device(platform.unit_class(unit_class).device).simulated;
}

bool IsSimulatedLink(const Platform& platform, LinkId link) {
  return platform.device(platform.link(link).from).simulated || platform.device(platform.link(link).to).simulated;
}

std::string ClassName(const CostScope& scope, UnitClassId unit_class) {
  return scope.platform.unit_class(unit_class).name;
}

}  // namespace pt
