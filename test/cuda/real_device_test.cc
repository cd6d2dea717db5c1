// The same on a real device, where there is one: without a driver these cases say SKIPPED.
#include <catch2/catch_test_macros.hpp>

#include "test/cuda/cuda_cases.h"
#include "test/cuda/cuda_machine.h"
#include "test/cuda/cuda_networks.h"
#include "test/testing/run_candidate.h"

namespace pt::testing::real_device_test {
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
  for (const CaseFamily& family : OwnKernelCases()) {
    for (const std::string& text : family.cases) CheckGroup(lab, *library, text);
  }
}

TEST_CASE("CudaReal, LowerPrecisionAgreesWithTheReference", "[cuda]") {
  const GpuLab lab = RealLab();
  for (const MathMode math : {MathMode::kTf32, MathMode::kBf16, MathMode::kFp16}) {
    for (const std::string& text : LoweredCases()) {
      CheckGroup(lab, *cuda::MakeOwnKernelsLibrary(), text, Precision({math}));
    }
    for (const std::string& text : ProductCases()) {
      CheckGroup(lab, *cuda::MakeProductsLibrary(), text, Precision({math}));
    }
  }
}

TEST_CASE("CudaReal, NetworksOnTheDeviceAloneAgreeWithTheReference", "[cuda]") {
  const GpuLab lab = RealLab();
  for (const std::string& text : NetworkTexts()) {
    for (const MathMode math : {MathMode::kFp32, MathMode::kBf16, MathMode::kFp16}) {
      CAPTURE(text, MathModeName(math));
      const CudaMachine machine(lab, std::make_shared<const Graph>(ParseInferred(text)));
      CheckNetwork(machine, PlanOnDevice(machine, Precision({math})), math);
    }
  }
}

TEST_CASE("CudaReal, AnIndexOutOfRangeIsTold", "[cuda]") {
  const GpuLab lab = RealLab();
  const auto library = cuda::MakeOwnKernelsLibrary();
  const Graph graph = ParseInferred("input x float32[3,4]\ninput i int64[2]\ny = Gather(x, i)\noutput y\n");
  const Candidate candidate = library->CandidatesFor(graph, lab.platform, AllNodes(graph), {}).at(0);
  const Tensor x = RandomTensor(DataType::kFloat32, {3, 4}, 1);
  const auto run = [&](int64_t index) {
    return RunOnCuda(lab, *library, graph, candidate, std::vector<Tensor>{x, Tensor::Int64({2}, {0, index})});
  };
  const auto wrong = run(3);
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().id == "cuda.data");
  CHECK(run(-3).ok());
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

}  // namespace pt::testing::real_device_test
