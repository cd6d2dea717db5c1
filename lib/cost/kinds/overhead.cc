// Overhead: what a step costs its unit, or its driver's core, besides its work.
#include <algorithm>
#include <map>

#include "lib/cost/cost_kind.h"
#include "partitiontuner/cost/cost_keys.h"

namespace pt {
namespace {

// Where nothing at all is known of a host's step: an order of magnitude, marked as such.
constexpr Estimate kUnknownOverhead{500, 0, Provenance::kEstimated, 1.0};

// Of every class whose times no file gives.
void List(const CostScope& scope, KeyList& keys) {
  for (size_t k = 0; k < scope.platform.unit_classes.size(); ++k) {
    const UnitClassId unit_class(k);
    if (IsSimulatedClass(scope.platform, unit_class)) continue;
    keys.Add({OverheadKey(scope.platform, unit_class), &kOverheadKind, ClassWork{unit_class}});
  }
}

std::string Label(const CostScope&, const NeededKey&) { return "overhead of a step"; }

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading) {
    for (size_t k = 0; k < reading.platform().unit_classes.size(); ++k) overheads_.push_back(Overhead(UnitClassId(k)));
    ReadLaunches();
  }

  void OfClass(UnitClassId unit_class, ClassCost& cost) const override {
    cost.overhead = overheads_[unit_class.index()];
  }

  void OfStep(const Candidate& candidate, StepCost& cost) const override {
    const auto launch = launches_.find({candidate.unit_class, candidate.library});
    cost.overhead = launch == launches_.end() ? overheads_[candidate.unit_class.index()]
                                              : Estimate{launch->second, 0, Provenance::kMeasured, 0};
  }

 private:
  Estimate Overhead(UnitClassId unit_class) const {
    const Platform& platform = reading_.platform();
    if (const auto measured = reading_.TimeOf(OverheadKey(platform, unit_class))) return *measured;
    if (!IsSimulatedClass(platform, unit_class)) return kUnknownOverhead;
    return {SimulatedLaunchNs(platform, platform.unit_class(unit_class).device), 0, Provenance::kSimulated, 0};
  }

  // A launch takes what the library does for it, whatever the kernel computes: a median over all of its kernels on that
  // device says it better than the few launches of one, other models' kernels included.
  void ReadLaunches() {
    const Platform& platform = reading_.platform();
    std::map<std::pair<UnitClassId, std::string>, std::vector<int64_t>> all;
    for (const auto& [hash, row] : reading_.profile().measurements) {
      if (row.launch_ns == 0 || !IsOfThisMethod(row.key_text)) continue;
      const UnitClassId unit_class = FindUnitClass(platform, row.unit_class);
      if (!unit_class.valid() || platform.device(platform.unit_class(unit_class).device).fingerprint != row.device) {
        continue;
      }
      const auto version = reading_.scope().library_versions.find(row.library);
      if (version == reading_.scope().library_versions.end()) continue;
      if (row.key_text.find(" | " + row.library + " " + version->second + " | ") == std::string::npos) continue;
      all[{unit_class, row.library}].push_back(row.launch_ns);
    }
    for (auto& [of, launches] : all) {
      const auto middle = launches.begin() + static_cast<ptrdiff_t>(launches.size() / 2);
      std::nth_element(launches.begin(), middle, launches.end());
      launches_[of] = *middle;
    }
  }

  const CostReading& reading_;
  std::vector<Estimate> overheads_;                                  // by class
  std::map<std::pair<UnitClassId, std::string>, int64_t> launches_;  // by class and library
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kOverheadKind = {"overhead", CostKind::Turn::kFirst, false, List, Label, Read};

MeasurementKey OverheadKey(const Platform& platform, UnitClassId unit_class) {
  return MakeKey("overhead | " + UnitClassFields(platform, unit_class));
}

}  // namespace pt
