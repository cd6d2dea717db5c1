// Keys of costs that are not work of a graph (docs/profile-format.md, "Keys"); those of work are in
// candidate/signature.h. Each is made where its kind of cost is (lib/cost/kinds).
#pragma once

#include <cstdint>
#include <string_view>

#include "partitiontuner/candidate/signature.h"

namespace pt {

MeasurementKey OverheadKey(const Platform& platform, UnitClassId unit_class);        // one step's launch
MeasurementKey WaitKey(const Platform& platform, UnitClassId from, UnitClassId to);  // flag hand-over
MeasurementKey FetchKey(const Platform& platform, UnitClassId from, UnitClassId to, uint64_t bytes);
MeasurementKey SegmentKey(const Platform& platform, UnitClassId unit_class,
                          uint32_t steps);  // launch of that many as one
MeasurementKey CopyKey(const Platform& platform, LinkId link, uint64_t bytes);
// Work whose inputs a unit of that class has made, and no other than this.
MeasurementKey FetchedKey(MeasurementKey own, const Platform& platform, UnitClassId from);
// What the work asks of its device while it runs there.
MeasurementKey DemandKey(MeasurementKey alone);
// What all other cores of the host are busy with meanwhile.
inline constexpr std::string_view kMemoryHogs = "memory", kComputeHogs = "compute";
MeasurementKey BesideKey(MeasurementKey alone, std::string_view hogs);
MeasurementKey MemoryHogKey(const Platform& platform, UnitClassId unit_class);  // hogs beside that class, a MiB each

}  // namespace pt
