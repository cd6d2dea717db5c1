// Where a library around another program's runtime runs.
#pragma once

#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::plugins {

// The unit classes that such a library serves: of the host those of one core, where a group computes on the thread that
// runs the step, and of all cores, since threads of the runtime cannot be kept to any of the cores between; of devices
// those that compute, where `precision` allows the device's mode.
std::vector<UnitClassId> ServedClasses(const Library& library, const Platform& platform, const Precision& precision);

// Math modes of the devices beside the host that it serves.
Precision ModesOfDevices(const Library& library, const Platform& platform);

}  // namespace pt::plugins
