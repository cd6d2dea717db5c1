// Two host cores beside a simulated device that a description makes, and the machine of both.
#pragma once

#include <memory>
#include <string>

#include "partitiontuner/exec/machine.h"

namespace pt::testing {

// The device is DeviceId(1). Fails the test where the description is wrong.
Platform WithSimulatedDevice(const std::string& description);

// With the reference library and the simulated one.
std::unique_ptr<Machine> SimulatedMachine(Platform platform);

}  // namespace pt::testing
