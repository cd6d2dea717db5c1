// Whole networks planned by the search and run on the device alone, captured and not, against the reference library.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "test/cuda/cuda_networks.h"
#include "test/cuda/host_kernel.h"

namespace pt::testing {

TEST_CASE("CudaNetwork, RunsOnTheDeviceAloneAndGivesTheReferencesResult", "[cuda]") {
  const size_t which = GENERATE(size_t{0}, size_t{1}, size_t{2}, size_t{3});
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

TEST_CASE("CudaNetwork, AttentionThatIsSpelledOutIsOneStepInEveryPrecision", "[cuda]") {
  const MathMode math = GENERATE(MathMode::kFp32, MathMode::kBf16, MathMode::kFp16);
  CAPTURE(MathModeName(math));
  const CudaLab lab;
  const CudaMachine machine(lab, std::make_shared<const Graph>(ParseInferred(NetworkTexts().at(1))));
  const Graph& graph = *machine.graph;
  const Plan plan = PlanOnDevice(machine, Precision({math}));
  const auto softmax = std::ranges::find_if(plan.candidates, [&](const Candidate& candidate) {
    return std::ranges::any_of(candidate.nodes, [&](NodeId node) { return graph.node(node).op == "Softmax"; });
  });
  REQUIRE(softmax != plan.candidates.end());
  CHECK(std::ranges::count_if(softmax->nodes, [&](NodeId node) { return graph.node(node).op == "MatMul"; }) == 2);
}

}  // namespace pt::testing
