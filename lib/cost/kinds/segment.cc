// Segment: what launching steps that a device has recorded as one takes the core that launches them.
#include <algorithm>

#include "lib/cost/cost_kind.h"
#include "partitiontuner/cost/cost_keys.h"

namespace pt {
namespace {

// The least that a segment has, and this many more, so that what each takes stands out.
constexpr uint32_t kFew = 2, kMany = 34;

// The class on whose units' streams it is measured; invalid where the device records none, or has nothing but copy
// engines.
UnitClassId ClassOfStreams(const Platform& platform, DeviceId device) {
  if (!platform.device(device).captures) return {};
  const auto computes = [&](const Unit& unit) {
    return !unit.link && platform.unit_class(unit.unit_class).device == device;
  };
  const auto unit = std::ranges::find_if(platform.units, computes);
  return unit == platform.units.end() ? UnitClassId() : unit->unit_class;
}

void List(const CostScope& scope, KeyList& keys) {
  for (size_t d = 0; d < scope.platform.devices.size(); ++d) {
    const UnitClassId unit_class = ClassOfStreams(scope.platform, DeviceId(d));
    if (!unit_class.valid() || IsSimulatedClass(scope.platform, unit_class)) continue;
    for (const uint32_t steps : {kFew, kMany}) {
      keys.Add({SegmentKey(scope.platform, unit_class, steps), &kSegmentKind, ClassWork{unit_class, steps}});
    }
  }
}

std::string Label(const CostScope&, const NeededKey& needed) {
  return "launch of a segment of " + std::to_string(needed.of_class().steps) + " steps";
}

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading) {}

  // A straight line through a small segment and a large one.
  void OfDevice(DeviceId device, DeviceCost& cost) const override {
    const Platform& platform = reading_.platform();
    const UnitClassId unit_class = ClassOfStreams(platform, device);
    if (!unit_class.valid()) return;
    if (IsSimulatedClass(platform, unit_class)) {
      cost.segments = SimulatedDeviceCost(platform, device).segments;
      return;
    }
    const Measurement* small = reading_.Ran(SegmentKey(platform, unit_class, kFew));
    const Measurement* large = reading_.Ran(SegmentKey(platform, unit_class, kMany));
    if (small == nullptr || large == nullptr) return;
    const double step_ns = std::max(0.0, static_cast<double>(large->median_ns - small->median_ns) / (kMany - kFew));
    const double fixed_ns = std::max(0.0, static_cast<double>(small->median_ns) - kFew * step_ns);
    cost.segments = SegmentLaunch{fixed_ns, step_ns, Provenance::kMeasured};
  }

 private:
  const CostReading& reading_;
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kSegmentKind = {"segment", CostKind::Turn::kFirst, false, List, Label, Read};

MeasurementKey SegmentKey(const Platform& platform, UnitClassId unit_class, uint32_t steps) {
  return MakeKey("segment " + std::to_string(steps) + " | " + UnitClassFields(platform, unit_class));
}

}  // namespace pt
