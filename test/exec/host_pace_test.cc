#include "partitiontuner/exec/host_pace.h"

#include <catch2/catch_test_macros.hpp>

#include "test/testing/test_machine.h"

namespace pt::testing::host_pace_test {
namespace {

TEST_CASE("HostPace, TakesSomeTimeOnHostsOfAnyWidth", "[exec]") {
  for (const uint32_t cores : {1u, 2u}) {
    FakeControl control;
    FakeDeviceControl device;
    const std::unique_ptr<Machine> machine = MakeFakeMachine(MakeTestPlatform(cores, true), control, device);
    const Result<int64_t> ns = TimeHostPace(*machine);
    REQUIRE(ns.ok());
    CHECK(*ns > 1000);  // half a million floats are read
  }
}

TEST_CASE("HostHandOver, TakesTwoCores", "[exec]") {
  for (const uint32_t cores : {1u, 2u, 4u}) {
    FakeControl control;
    FakeDeviceControl device;
    const std::unique_ptr<Machine> machine = MakeFakeMachine(MakeTestPlatform(cores, true), control, device);
    const Result<int64_t> ns = TimeHostHandOver(*machine);
    REQUIRE(ns.ok());
    CHECK((*ns > 0) == (cores > 1));
  }
}

}  // namespace
}  // namespace pt::testing::host_pace_test
