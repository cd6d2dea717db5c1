// Whole networks planned by the search and run on the device alone, captured and not, against the reference library.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "test/cuda/cuda_networks.h"
#include "test/cuda/host_kernel.h"

namespace pt::testing {

TEST_CASE("CudaNetwork, RunsOnTheDeviceAloneAndGivesTheReferencesResult", "[cuda]") {
  const size_t which = GENERATE(size_t{0}, size_t{1}, size_t{2});
  const MathMode math = GENERATE(MathMode::kFp32, MathMode::kBf16, MathMode::kFp16);
  CAPTURE(which, MathModeName(math));
  const CudaLab lab;
  {
    const CudaMachine machine(lab, std::make_shared<const Graph>(ParseInferred(NetworkTexts().at(which))));
    const Plan plan = PlanOnDevice(machine, Precision({math}));
    std::vector<std::string> kernels;
    for (const Candidate& candidate : plan.candidates) {
      if (candidate.library != "cuda") continue;
      const std::vector<std::string> texts = KernelTexts(*machine.graph, candidate);
      kernels.insert(kernels.end(), texts.begin(), texts.end());
    }
    REQUIRE(HostKernel::CompileTogether(kernels).ok());
    CheckNetwork(machine, plan, math);
    CHECK((lab.gpu.Count("cuGraphLaunch") > 0));
  }
  CHECK(lab.gpu.Violations().empty());
  CHECK(lab.gpu.Alive() == "");
}

}  // namespace pt::testing
