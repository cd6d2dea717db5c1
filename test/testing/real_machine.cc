#include "test/testing/real_machine.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/json.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

constexpr const char* kDevice = R"({
  "version": 1, "name": "sim:0", "memory_bytes": 4000000, "streams": 2,
  "to_device": {"latency_ns": 10, "bytes_per_ns": 2.0}, "from_device": {"latency_ns": 10, "bytes_per_ns": 4.0},
  "families": {"*": {"fixed_ns": 70, "flops_per_ns": 0, "bytes_per_ns": 1}}, "exact_ns": {}, "unsupported": []})";

}  // namespace

std::unique_ptr<Machine> MakeRealMachine(uint32_t cores, bool device) {
  Platform platform = MakeTestPlatform(cores, false);
  platform.devices[0].isa = HostInstructionSets();
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(DeviceId(0u)));
  if (device) {
    const Status added = AddSimulatedDevice(platform, ParseJson(kDevice, "test").value(), "test");
    if (!added.ok()) FAIL(ToString(added.error()));
    drivers.push_back(MakeSimulatedDriver(platform, DeviceId(1u)));
  }
  std::vector<std::unique_ptr<Library>> libraries;
  for (const LibraryRow& row : BuiltInLibraries()) libraries.push_back(row.make());
  return Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
}

}  // namespace pt::testing
