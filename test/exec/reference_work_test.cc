#include "partitiontuner/exec/reference_work.h"

#include <catch2/catch_test_macros.hpp>

#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

TEST_CASE("ReferenceWork, TakesSomeTimeOnOneCore", "[exec]") {
  FakeControl control;
  FakeDeviceControl device;
  const std::unique_ptr<Machine> machine = MakeFakeMachine(MakeTestPlatform(2, false), control, device);
  const Result<int64_t> ns = TimeReferenceWork(*machine);
  REQUIRE(ns.ok());
  CHECK(*ns > 1000);  // a million floats are read
}

TEST_CASE("ReferenceWork, NeedsAUnitOfOneCore", "[exec]") {
  FakeControl control;
  FakeDeviceControl device;
  Platform platform = MakeTestPlatform(2, false);
  std::erase_if(platform.units, [&](const Unit& unit) { return platform.unit_class(unit.unit_class).cores == 1; });
  const std::unique_ptr<Machine> machine = MakeFakeMachine(platform, control, device);
  const Result<int64_t> ns = TimeReferenceWork(*machine);
  REQUIRE_FALSE(ns.ok());
  CHECK(ns.error().code == ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pt::testing
