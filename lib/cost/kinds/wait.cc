// Wait: from the end of a step on a unit until a step on another goes on.
#include "lib/cost/cost_kind.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

// Where nothing is known of a host's hand-over: an order of magnitude, marked as such.
constexpr Estimate kUnknownWait{1000, 0, Provenance::kEstimated, 1.0};

// A host unit is led by its lowest core.
bool LedByTheSameCore(const Platform& platform, UnitId a, UnitId b) {
  const auto& a_uses = platform.unit(a).uses;
  const auto& b_uses = platform.unit(b).uses;
  return platform.unit_class(platform.unit(a).unit_class).on_host() &&
         platform.unit_class(platform.unit(b).unit_class).on_host() && a_uses.front().first == b_uses.front().first;
}

bool IsOfFile(const Platform& platform, UnitClassId from, UnitClassId to) {
  return IsSimulatedClass(platform, from) || IsSimulatedClass(platform, to);
}

void List(const CostScope& scope, KeyList& keys) {
  const Platform& platform = scope.platform;
  for (size_t a = 0; a < platform.unit_classes.size(); ++a) {
    for (size_t b = 0; b < platform.unit_classes.size(); ++b) {
      const UnitClassId from(a), to(b);
      if (IsOfFile(platform, from, to) || !HandOverUnits(platform, from, to)) continue;
      keys.Add({WaitKey(platform, from, to), &kWaitKind, PairWork{from, to}});
    }
  }
}

std::string Label(const CostScope& scope, const NeededKey& needed) {
  return "hand-over to " + ClassName(scope, needed.pair().to);
}

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading) {}

  void OfPair(UnitClassId from, UnitClassId to, PairCost& cost) const override {
    const Platform& platform = reading_.platform();
    if (!HandOverUnits(platform, from, to)) {
      cost.wait = {0, 0, Provenance::kMeasured, 0};  // an order on one core or stream: nothing to wait for
      return;
    }
    const Estimate otherwise = IsOfFile(platform, from, to) ? Estimate{0, 0, Provenance::kSimulated, 0} : kUnknownWait;
    cost.wait = reading_.TimeOf(WaitKey(platform, from, to)).value_or(otherwise);
  }

 private:
  const CostReading& reading_;
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kWaitKind = {"wait", CostKind::Turn::kFirst, false, List, Label, Read};

MeasurementKey WaitKey(const Platform& platform, UnitClassId from, UnitClassId to) {
  return MakeKey("wait | " + UnitClassFields(platform, from) + " | " + UnitClassFields(platform, to));
}

std::optional<std::pair<UnitId, UnitId>> HandOverUnits(const Platform& platform, UnitClassId from, UnitClassId to) {
  std::optional<std::pair<UnitId, UnitId>> found;
  for (const UnitId a : UnitsOf(platform, from)) {
    for (const UnitId b : UnitsOf(platform, to)) {
      if (a == b || platform.unit(a).uses.empty() || platform.unit(b).uses.empty()) continue;
      if (LedByTheSameCore(platform, a, b)) continue;
      if (!UnitsConflict(platform, a, b)) return std::pair(a, b);
      if (!found) found.emplace(a, b);
    }
  }
  return found;
}

}  // namespace pt
