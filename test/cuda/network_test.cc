// Whole networks planned by the search and run on the device alone, captured and not, against the reference library.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "test/cuda/cuda_networks.h"

namespace pt::testing::network_test {

TEST_CASE("CudaNetwork, RunsOnTheDeviceAloneAndGivesTheReferencesResult", "[cuda]") {
  const size_t which = GENERATE(size_t{0}, size_t{1}, size_t{2}, size_t{3});
  const MathMode math = GENERATE(MathMode::kFp32, MathMode::kBf16, MathMode::kFp16);
  CAPTURE(which, MathModeName(math));
  const CudaLab lab;
  {
    const CudaMachine machine(lab, std::make_shared<const Graph>(ParseInferred(NetworkTexts().at(which))));
    const Plan plan = PlanOnDevice(machine, Precision({math}));
    CompileKernels(*machine.graph, plan.candidates);
    CheckNetwork(machine, plan, math);
    CHECK((lab.gpu.Count("cuGraphLaunch") > 0));
  }
  CHECK(lab.gpu.Violations().empty());
  CHECK(lab.gpu.Alive() == "");
}

TEST_CASE("CudaNetwork, AQuantisedOneRunsOnTheDeviceAloneOnItsIntegers", "[cuda]") {
  const CudaLab lab;
  {
    const CudaMachine machine(lab, std::make_shared<const Graph>(Simplified(ParseInferred(QuantisedNetworkText()))));
    const Graph& graph = *machine.graph;
    const Plan plan = PlanOnDevice(machine, {});
    size_t products = 0;
    for (const Candidate& candidate : plan.candidates) {
      const auto has = [&](const char* op) {
        return std::ranges::any_of(candidate.nodes, [&](NodeId node) { return graph.node(node).op == op; });
      };
      if (!has("Conv") && !has("Gemm")) continue;
      ++products;
      CHECK(has("DequantizeLinear"));
      CHECK(has("QuantizeLinear"));
    }
    CHECK(products == 4);
    CompileKernels(graph, plan.candidates);
    CheckNetwork(machine, plan, MathMode::kFp32);
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

}  // namespace pt::testing::network_test
