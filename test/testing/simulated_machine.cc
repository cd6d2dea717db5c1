#include "test/testing/simulated_machine.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/platform/discover.h"
#include "test/testing/test_machine.h"

namespace pt::testing {

Platform WithSimulatedDevice(const std::string& description) {
  Platform platform = MakeTestPlatform(2, false);
  const Status status = AddSimulatedDevice(platform, ParseJson(description, "test").value(), "test");
  if (!status.ok()) FAIL(ToString(status.error()));
  return platform;
}

std::unique_ptr<Machine> SimulatedMachine(Platform platform) {
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(DeviceId(0u)));
  drivers.push_back(MakeSimulatedDriver(platform, DeviceId(1u)));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeReferenceLibrary());
  libraries.push_back(MakeSimulatedLibrary());
  return Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
}

}  // namespace pt::testing
