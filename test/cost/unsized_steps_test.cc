// Steps whose sizes are not known until run time: nobody can measure them, so their costs are counted.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/cost/sample_problem.h"

namespace pt::unsized_steps_test {
namespace {

constexpr UnitClassId kNarrow(0u), kWide(1u);
constexpr int64_t kStepNs = 20'000;

struct Times {
  int64_t narrow = 0, wide = 0;
};

// Of the graph's last node, by a library that is not the reference.
Times TimesOf(const char* text) {
  auto parsed = ParseGraph(text);
  REQUIRE(parsed.ok());
  const auto graph = InferShapes(*parsed);
  REQUIRE(graph.ok());
  const Platform platform = SamplePlatform();
  ProfiledCostsOptions options;
  options.library_versions = {{"run_time", "1"}, {"reference", "1"}};
  const auto costs = MakeProfiledCosts(*graph, platform, {}, options);
  const auto time = [&](UnitClassId unit_class) {
    Candidate candidate = RunsAlone(*graph, NodeId(graph->nodes().size() - 1), unit_class);
    candidate.library = "run_time";
    const auto run = costs->OfStep(candidate).run;
    REQUIRE(run.has_value());
    CHECK(run->provenance == Provenance::kEstimated);
    return run->ns;
  };
  return {time(kNarrow), time(kWide)};
}

TEST_CASE("UnsizedSteps, LargeProductsTakeLessOnAllCores", "[cost]") {
  const Times times =
      TimesOf("input x float32[n,4096]\nconst w float32[4096,1024] random 1\ny = MatMul(x, w)\noutput y\n");
  CHECK(times.narrow > 10 * kStepNs);
  CHECK(times.wide < times.narrow * 6 / 10);
}

TEST_CASE("UnsizedSteps, SmallOnesAreLeftToOneCore", "[cost]") {
  const Times times = TimesOf("input x float32[n]\ny = Relu(x)\noutput y\n");
  CHECK(times.narrow >= kStepNs);
  CHECK(times.narrow < kStepNs * 11 / 10);
  CHECK(times.wide > times.narrow);
}

TEST_CASE("UnsizedSteps, SeveralUnknownDimsAreNotAllLarge", "[cost]") {
  const Times times = TimesOf("input x float32[a,b,c,d]\ny = Relu(x)\noutput y\n");
  CHECK(times.narrow < 4 * kStepNs);
}

TEST_CASE("UnsizedSteps, OfATableWhatIsLookedUpCounts", "[cost]") {
  const Times times = TimesOf("input i int64[n]\nconst t float32[50000,64] random 1\ny = Gather(t, i)\noutput y\n");
  CHECK(times.narrow < 2 * kStepNs);
}

}  // namespace
}  // namespace pt::unsized_steps_test
