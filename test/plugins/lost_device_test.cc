// By which words of its driver a device is taken to be lost.
#include "plugins/shared/lost_device.h"

#include <catch2/catch_test_macros.hpp>

namespace pt::plugins::lost_device_test {
namespace {

TEST_CASE("TellsOfLostDevice, KnowsTheWordsOfDriversAndTheErrorsThatEndAProcessOnAGpu", "[plugins]") {
  CHECK(TellsOfLostDevice("L0 zeFenceSynchronize result: ZE_RESULT_ERROR_DEVICE_LOST, code 0x70000001"));
  CHECK(TellsOfLostDevice("CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; hostname=h"));
  CHECK(TellsOfLostDevice("HIP failure 719: unspecified launch failure"));
  CHECK_FALSE(TellsOfLostDevice("Infer Request was canceled"));
  CHECK_FALSE(TellsOfLostDevice("CUDA failure 2: out of memory ; GPU=0 ; hostname=h"));
  CHECK_FALSE(TellsOfLostDevice("CUDA failure 7001: there is no such error"));
  CHECK_FALSE(TellsOfLostDevice("CUDA failure "));
  CHECK_FALSE(TellsOfLostDevice("700 images were read"));
}

}  // namespace
}  // namespace pt::plugins::lost_device_test
