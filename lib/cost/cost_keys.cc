#include "partitiontuner/cost/cost_keys.h"

#include <string>
#include <utility>

namespace pt {

MeasurementKey OverheadKey(const Platform& platform, UnitClassId unit_class) {
  return MakeKey("overhead | " + UnitClassFields(platform, unit_class));
}

MeasurementKey WaitKey(const Platform& platform, UnitClassId from, UnitClassId to) {
  return MakeKey("wait | " + UnitClassFields(platform, from) + " | " + UnitClassFields(platform, to));
}

MeasurementKey FetchKey(const Platform& platform, UnitClassId from, UnitClassId to, uint64_t bytes) {
  return MakeKey("fetch " + std::to_string(bytes) + " | " + UnitClassFields(platform, from) + " | " +
                 UnitClassFields(platform, to));
}

MeasurementKey SegmentKey(const Platform& platform, UnitClassId unit_class, uint32_t steps) {
  return MakeKey("segment " + std::to_string(steps) + " | " + UnitClassFields(platform, unit_class));
}

MeasurementKey CopyKey(const Platform& platform, LinkId link, uint64_t bytes) {
  const Device& from = platform.device(platform.link(link).from);
  const Device& to = platform.device(platform.link(link).to);
  return MakeKey("copy " + std::to_string(bytes) + " | " + from.name + " | " + from.fingerprint + " | " + to.name +
                 " | " + to.fingerprint);
}

MeasurementKey FetchedKey(MeasurementKey own, const Platform& platform, UnitClassId from) {
  return WithField(std::move(own), "inputs from " + platform.unit_class(from).name);
}

MeasurementKey DemandKey(MeasurementKey alone) { return WithField(std::move(alone), "demand"); }

MeasurementKey BesideKey(MeasurementKey alone, std::string_view hogs) {
  return WithField(std::move(alone), "beside " + std::string(hogs));
}

MeasurementKey MemoryHogKey(const Platform& platform, UnitClassId unit_class) {
  return MakeKey("memory hog | " + UnitClassFields(platform, unit_class));
}

}  // namespace pt
