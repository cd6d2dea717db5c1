// The same on a real device, where there is one: without a driver these cases say SKIPPED.
#include <catch2/catch_test_macros.hpp>

#include "test/cuda/cuda_cases.h"
#include "test/cuda/cuda_machine.h"

namespace pt::testing {
namespace {

// Skips where no device can be used.
GpuLab RealLab() {
  auto functions = cuda::LoadFunctions();
  if (!functions.ok()) SKIP(ToString(functions.error()));
  Platform found = MakeTestPlatform(2, false);
  if (const Status status = cuda::AddDevices(**functions, found); !status.ok()) SKIP(ToString(status.error()));
  if (found.devices.size() == 1) SKIP("the CUDA driver knows no device");
  return {std::move(functions).value(), MakeTestPlatform(2, false)};
}

}  // namespace

TEST_CASE("CudaReal, OwnKernelsAgreeWithTheReference", "[cuda]") {
  const GpuLab lab = RealLab();
  const auto library = cuda::MakeOwnKernelsLibrary();
  for (const auto& cases : {ElementwiseCases(), RowCases(), MovementCases()}) {
    for (const std::string& text : cases) CheckGroup(lab, *library, text);
  }
}

TEST_CASE("CudaReal, ProductsAgreeWithTheReference", "[cuda]") {
  const GpuLab lab = RealLab();
  for (const std::string& text : ProductCases()) CheckGroup(lab, *cuda::MakeProductsLibrary(), text);
}

TEST_CASE("CudaReal, PlansOverStreamsAgreeWithTheReferenceCapturedOrNot", "[cuda]") {
  const GpuLab lab = RealLab();
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CheckRandomPlan(lab, seed);
  }
}

}  // namespace pt::testing
