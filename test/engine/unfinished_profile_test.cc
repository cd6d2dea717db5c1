// Plans by costs that know some groups of nodes alone, as those of a profile that ran out of time.
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "lib/engine/finalists.h"
#include "lib/engine/make_plan.h"
#include "lib/engine/rough_costs.h"
#include "partitiontuner/cost/costs_over.h"
#include "partitiontuner/engine/engine.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::unfinished_profile_test {
namespace {

// x - Sigmoid - Tanh - Exp - y
std::string ChainOfThree() {
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", 1, {"4", "8"})};
  graph.outputs = {testing::ValueInfo("y", 1, {"4", "8"})};
  graph.nodes = {testing::NodeBytes("Sigmoid", {"x"}, {"a"}), testing::NodeBytes("Tanh", {"a"}, {"b"}),
                 testing::NodeBytes("Exp", {"b"}, {"y"})};
  return testing::ModelBytes(graph);
}

// Of pairs of nodes alone: each node is in one, and no pairs together cover three.
class CostsOfPairs : public CostsOver {
 public:
  using CostsOver::CostsOver;
  StepCost OfStep(const Candidate& candidate) const override {
    StepCost cost = under().OfStep(candidate);
    if (candidate.nodes.size() != 2) cost.run.reset();
    return cost;
  }
};

struct Scene {
  Scene() {
    const std::string path = folder.path() + "/model.onnx";
    std::ofstream(path, std::ios::binary) << ChainOfThree();
    EngineOptions options;
    options.db_path = "none";
    engine = Engine::Make(options).value();
    model = engine->Load(path, {}).value();
    rough = MakeRoughCosts(*model->graph, engine->machine());
    costs.emplace(*rough);
  }

  testing::TemporaryFolder folder;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
  std::unique_ptr<CostModel> rough;
  std::optional<CostsOfPairs> costs;
};

TEST_CASE("MakeModelPlan, CoversWhatAnUnfinishedProfileLeavesOpen", "[engine]") {
  const Scene scene;
  for (const char* planner : {"single:cpu", "heft", "search"}) {
    CAPTURE(planner);
    PlanOptions options;
    options.planner = planner;
    const Result<Plan> plan =
        MakeModelPlan(*scene.model, scene.engine->machine(), *scene.costs, {}, options, nullptr, nullptr);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    CHECK_FALSE(plan->complete);
    // What has costs comes first: a pair, and one node by an estimate.
    size_t steps = 0;
    for (const Step& step : plan->steps) steps += std::holds_alternative<RunGroup>(step.work) ? 1 : 0;
    CHECK(steps == 2);
    options.allow_estimates = false;
    const Result<Plan> refused =
        MakeModelPlan(*scene.model, scene.engine->machine(), *scene.costs, {}, options, nullptr, nullptr);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().id == "planner.no_cover");
  }
}

TEST_CASE("Finalists, CompeteByAnUnfinishedProfile", "[engine]") {
  const Scene scene;
  const ProfileSummary summary;
  const PlanOptions options;
  FinalistOptions finalists;
  finalists.most = 2;
  finalists.rounds = 1;
  finalists.turn = std::chrono::milliseconds(1);
  finalists.inputs = {Tensor::Float32({4, 8}, std::vector<float>(32, 0.5F))};
  for (const uint32_t refine : {0U, 1U}) {
    CAPTURE(refine);
    finalists.refine = refine;
    const Result<FinalChoice> choice =
        RunFinalists({*scene.model, scene.engine->machine(), *scene.costs, summary, options}, *scene.costs, finalists);
    if (!choice.ok()) FAIL(ToString(choice.error()));
    CHECK(choice->finalists[0].beside_ns > 0);
    CHECK(choice->finalists[choice->chosen].plan.makespan.ns > 0);
  }
}

}  // namespace
}  // namespace pt::unfinished_profile_test
