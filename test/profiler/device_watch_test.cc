// What is told of the states that devices were in.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/profiler/measure.h"

namespace pt::device_watch_test {
namespace {

TEST_CASE("DeviceStates, AClockThatChangesByMoreThanATenthIsAFault", "[profiler]") {
  DeviceStates states;
  CHECK(FaultOf(states) == "");  // nothing is told
  states.slowest_mhz = 1800;
  states.fastest_mhz = 1980;
  CHECK(FaultOf(states) == "");
  states.slowest_mhz = 1410;
  CHECK(FaultOf(states) == "its clock changed between 1410 and 1980 MHz");
}

TEST_CASE("DeviceStates, EveryReasonForThrottlingIsTold", "[profiler]") {
  DeviceStates states;
  states.throttled = {"power cap", "too warm"};
  CHECK(FaultOf(states) == "it was throttled: power cap, too warm");
  states.slowest_mhz = 1000;
  states.fastest_mhz = 2000;
  CHECK(FaultOf(states) == "its clock changed between 1000 and 2000 MHz; it was throttled: power cap, too warm");
}

TEST_CASE("DeviceState, OnlyWhatIsToldIsSaid", "[profiler]") {
  CHECK(ToString(DeviceState()) == "");
  CHECK(ToString(DeviceState{1980, 2619, 61, {"power cap"}}) ==
        "1980 MHz, memory 2619 MHz, 61 C, throttled: power cap");
  CHECK(ToString(DeviceState{0, 0, 40.4, {}}) == "40 C");
}

}  // namespace
}  // namespace pt::device_watch_test
