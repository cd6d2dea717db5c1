// Stream wait: what it takes the core that launches a step to let its stream wait for the event of another stream.
// Recording an event is part of every launch, and of its time.
#include <algorithm>

#include "lib/cost/cost_kind.h"

namespace pt {
namespace {

// On whose units' streams it is measured: the first of the device that computes; invalid where none does.
UnitClassId ClassOfStreams(const Platform& platform, DeviceId device) {
  const auto computes = [&](const Unit& unit) {
    return !unit.link && platform.unit_class(unit.unit_class).device == device;
  };
  const auto unit = std::ranges::find_if(platform.units, computes);
  return unit == platform.units.end() ? UnitClassId() : unit->unit_class;
}

MeasurementKey KeyOf(const Platform& platform, UnitClassId unit_class) {
  return MakeKey("stream wait | " + UnitClassFields(platform, unit_class));
}

void List(const CostScope& scope, KeyList& keys) {
  for (size_t d = 0; d < scope.platform.devices.size(); ++d) {
    if (IsHost(DeviceId(d)) || scope.platform.devices[d].simulated) continue;
    const UnitClassId unit_class = ClassOfStreams(scope.platform, DeviceId(d));
    if (unit_class.valid()) keys.Add({KeyOf(scope.platform, unit_class), &kStreamWaitKind, ClassWork{unit_class}});
  }
}

std::string Label(const CostScope&, const NeededKey&) { return "wait for another stream's event"; }

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading) {}

  void OfDevice(DeviceId device, DeviceCost& cost) const override {
    const UnitClassId unit_class = ClassOfStreams(reading_.platform(), device);
    if (IsHost(device) || !unit_class.valid()) return;
    const Measurement* row = reading_.Ran(KeyOf(reading_.platform(), unit_class));
    if (row != nullptr) cost.stream_wait_ns = row->median_ns;
  }

 private:
  const CostReading& reading_;
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kStreamWaitKind = {"stream wait", CostKind::Turn::kFirst, false, List, Label, Read};

}  // namespace pt
