// Plans in files, and models that are loaded to run by them.
#include "partitiontuner/engine/plan_file.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing::plan_file_test {
namespace {

// y = x * k + rate over [batch, 3]; k has a default.
std::string ScaledModel() {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"batch", "3"}), ValueInfo("k", 1, {}), ValueInfo("rate", 1, {})};
  graph.outputs = {ValueInfo("y", 1, {"batch", "3"})};
  graph.initializers = {FloatTensor("k", {}, {10})};
  graph.nodes = {NodeBytes("Mul", {"x", "k"}, {"p"}), NodeBytes("Add", {"p", "rate"}, {"y"})};
  return ModelBytes(graph);
}

struct Scene {
  Scene() {
    path = folder.path() + "/model.onnx";
    std::ofstream(path, std::ios::binary) << ScaledModel();
    EngineOptions options;
    options.db_path = folder.path() + "/profile.db";
    engine = Engine::Make(options).value();
  }
  std::shared_ptr<const Model> Load(const ModelOptions& options) const {
    auto model = engine->Load(path, options);
    if (!model.ok()) FAIL(ToString(model.error()));
    return *model;
  }
  std::vector<float> Run(const Model& model, const Plan& plan, const std::vector<Tensor>& inputs) const {
    const auto session = engine->MakeSession(model, plan);
    if (!session.ok()) FAIL(ToString(session.error()));
    const auto outputs = RunTensors(**session, inputs);
    if (!outputs.ok()) FAIL(ToString(outputs.error()));
    const auto values = (*outputs)[0].values<float>();
    return {values.begin(), values.end()};
  }

  TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Engine> engine;
};

const Tensor kImage = Tensor::Float32({1, 3}, {1, 2, 3});

TEST_CASE("PlanFile, BringsDimsConstantsAndGivenInputsToLoadTheModelWith", "[engine]") {
  const Scene scene;
  ModelOptions options;
  options.dims["batch"] = 1;
  options.constants["rate"] = 0.5;
  options.load.given_inputs = {"k"};
  const auto model = scene.Load(options);
  const Plan plan = scene.engine->MakeDefaultPlan(*model).value();
  const std::string file = scene.folder.path() + "/model.ptplan.json";
  REQUIRE(SavePlan(file, plan, *model->graph).ok());

  const Plan kept = LoadPlan(file).value();
  const ModelOptions to_run = OptionsOf(kept).value();
  CHECK_FALSE(to_run.to_plan);
  const auto again = scene.Load(to_run);
  CHECK(again->graph_hash == model->graph_hash);
  CHECK(scene.Run(*again, kept, {kImage, Tensor::Float32({}, {2}), Tensor::Float32({}, {0.5F})}) ==
        std::vector<float>{2.5F, 4.5F, 6.5F});
}

TEST_CASE("PlanFile, BringsSeveralRequestsBack", "[engine]") {
  const Scene scene;
  ModelOptions options;
  options.dims["batch"] = 1;
  options.rewrites.requests = 2;
  const auto model = scene.Load(options);
  const std::string file = scene.folder.path() + "/model.ptplan.json";
  REQUIRE(SavePlan(file, scene.engine->MakeDefaultPlan(*model).value(), *model->graph).ok());
  CHECK(scene.Load(OptionsOf(LoadPlan(file).value()).value())->graph_hash == model->graph_hash);
}

TEST_CASE("PlanFile, FaultsNameTheFile", "[engine]") {
  const TemporaryFolder folder;
  CHECK(LoadPlan(folder.path() + "/none.json").error().code == ErrorCode::kInvalidInput);
  const std::string file = folder.path() + "/bad.json";
  std::ofstream(file) << "{\"format\": \"something\"}";
  const auto bad = LoadPlan(file);
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().file == file);
  Plan plan;
  plan.made_for.settings["constant rate"] = "fast";
  CHECK(OptionsOf(plan).error().id == "plan.constant");
  plan.made_for.settings = {{"rewrite", "sideways=2"}};
  CHECK(OptionsOf(plan).error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("ModelOptions, DefaultDimsYieldToAllElseAndToWhatDoesNotFit", "[engine]") {
  const Scene scene;
  const auto batch_with = [&](const ModelOptions& options) {
    const auto model = scene.Load(options);
    return model->graph->value(model->graph->inputs()[0]).type.static_dims()->at(0);
  };
  ModelOptions options;
  options.default_dims = {{"x", {4, 3}}, {"nowhere", {1}}};
  CHECK(batch_with(options) == 4);
  options.dims["batch"] = 2;
  CHECK(batch_with(options) == 2);
  options.dims.clear();
  options.input_dims = {{5, 3}};
  CHECK(batch_with(options) == 5);
  options.input_dims.clear();
  for (const std::vector<int64_t>& unfit : std::vector<std::vector<int64_t>>{{4}, {4, 2}, {-1, 3}}) {
    options.default_dims = {{"x", unfit}};
    CHECK(scene.engine->Load(scene.path, options).error().id == "engine.unknown_dims");
  }
}

TEST_CASE("Engine, InputsWithADefaultAreConstantsUnlessTheyAreGiven", "[engine]") {
  const Scene scene;
  const auto load = [&](const std::set<std::string>& names, size_t count) {
    ModelOptions options;
    options.dims["batch"] = 1;
    options.load.given_inputs = names;
    options.load.given_count = count;
    return scene.Load(options);
  };
  const auto run = [&](const Model& model, const std::vector<Tensor>& inputs) {
    return scene.Run(model, scene.engine->MakeDefaultPlan(model).value(), inputs);
  };
  const Tensor k = Tensor::Float32({}, {2}), rate = Tensor::Float32({}, {1});
  for (const size_t count : {0U, 1U, 2U}) {
    CAPTURE(count);
    const auto model = load({"nowhere", "x"}, count);
    REQUIRE(model->graph->inputs().size() == 2);
    CHECK(model->load_report.inputs_with_default == std::vector<std::string>{"k"});
    CHECK(model->load_report.defaults.empty());
    CHECK(run(*model, {kImage, rate}) == std::vector<float>{11, 21, 31});
  }
  for (const auto& model : {load({"k"}, 0), load({"k"}, 2), load({}, 3)}) {
    REQUIRE(model->graph->inputs().size() == 3);
    CHECK(model->load_report.defaults.at("k").values<float>()[0] == 10);
    CHECK(run(*model, {kImage, k, rate}) == std::vector<float>{3, 5, 7});
    CHECK(run(*model, {kImage, model->load_report.defaults.at("k"), rate}) == std::vector<float>{11, 21, 31});
    CHECK(InputsByPosition(*model->graph, model->load_report, 2) == std::vector<size_t>{0, 2});
    CHECK(InputsByPosition(*model->graph, model->load_report, 3) == std::vector<size_t>{0, 1, 2});
  }
}

TEST_CASE("Engine, MakePlanTakesTheDefaultPlanWhereThatIsAllowedAndNothingIsMeasured", "[engine]") {
  const Scene scene;
  ModelOptions options;
  options.dims["batch"] = 1;
  const auto model = scene.Load(options);
  CHECK(scene.engine->MakePlan(*model, {}).error().code == ErrorCode::kPartial);
  PlanningNotes notes;
  const auto plan = scene.engine->MakePlan(*model, {.default_plan = true}, nullptr, &notes);
  REQUIRE(plan.ok());
  CHECK(notes.default_plan);
  CHECK_FALSE(plan->complete);
  // No other error is passed over, and reading makes no database.
  CHECK(scene.engine->MakePlan(*model, {.planner = "nowhere", .default_plan = true}).error().code == ErrorCode::kUsage);
  CHECK_FALSE(std::filesystem::exists(scene.folder.path() + "/profile.db"));

  MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(5);
  fast.max_noise = 0.5;
  REQUIRE(scene.engine->MeasureModel(*model, fast, {}).ok());
  const auto measured = scene.engine->MakePlan(*model, {.default_plan = true}, nullptr, &notes);
  REQUIRE(measured.ok());
  CHECK_FALSE(notes.default_plan);
  CHECK(measured->complete);
}

}  // namespace
}  // namespace pt::testing::plan_file_test
