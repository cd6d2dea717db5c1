// Several models joined, planned and run together, against each of them alone.
#include "partitiontuner/engine/several_models.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "lib/engine/models_apart.h"
#include "lib/engine/rough_costs.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/judge_model.h"
#include "partitiontuner/engine/plan_file.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/planner/planner.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing::several_models_test {
namespace {

// y = Relu(x * w + rate) over [batch, 3]; rate has a default.
std::string Tower(float weight) {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"batch", "3"}), ValueInfo("rate", 1, {})};
  graph.outputs = {ValueInfo("y", 1, {"batch", "3"})};
  graph.initializers = {FloatTensor("w", {3, 3}, {weight, 2, 3, 4, -5, 6, 7, 8, 9}), FloatTensor("rate", {}, {10})};
  graph.nodes = {NodeBytes("MatMul", {"x", "w"}, {"p"}), NodeBytes("Add", {"p", "rate"}, {"q"}),
                 NodeBytes("Relu", {"q"}, {"y"})};
  return ModelBytes(graph);
}

// z = Sigmoid(x) over [batch, 4], which has nothing to do with the batch of a tower.
std::string Gate() {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"batch", "4"})};
  graph.outputs = {ValueInfo("z", 1, {"batch", "4"})};
  graph.nodes = {NodeBytes("Sigmoid", {"x"}, {"z"})};
  return ModelBytes(graph);
}

struct Scene {
  Scene() {
    EngineOptions options;
    options.db_path = folder.path() + "/profile.db";
    engine = Engine::Make(options).value();
    tower = Written("tower.onnx", Tower(1));
    gate = Written("gate.onnx", Gate());
  }
  std::string Written(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(folder.path() + "/" + name).parent_path());
    std::ofstream(folder.path() + "/" + name, std::ios::binary) << bytes;
    return folder.path() + "/" + name;
  }
  std::shared_ptr<const Model> Load(const std::vector<ModelToOpen>& models, const ModelOptions& options) const {
    const auto file = OpenModels(models, options.load);
    if (!file.ok()) FAIL(ToString(file.error()));
    auto model = engine->Load(**file, options);
    if (!model.ok()) FAIL(ToString(model.error()));
    return *model;
  }
  std::vector<Tensor> Run(const Model& model, const Plan& plan, const std::vector<Tensor>& inputs) const {
    const auto session = engine->MakeSession(model, plan);
    if (!session.ok()) FAIL(ToString(session.error()));
    return RunTensors(**session, inputs).value();
  }
  Plan PlanOf(const Model& model, const std::string& planner = "search") const {
    return engine->MakePlan(model, {.planner = planner, .default_plan = true}).value();
  }

  TemporaryFolder folder;
  std::unique_ptr<Engine> engine;
  std::string tower, gate;
};

const Tensor kRows = Tensor::Float32({2, 3}, {1, -2, 3, 0.5, 4, -6}), kRow = Tensor::Float32({1, 4}, {1, 2, 3, -4});

ModelOptions TwoAndOne() {
  ModelOptions options;
  options.dims = {{"tower/batch", 2}, {"gate/batch", 1}};
  return options;
}

TEST_CASE("SeveralModels, AreCalledByTheirFilesOrAsSaid", "[engine]") {
  const auto names = [](const std::vector<ModelToOpen>& models) { return NamesOfModels(models).value(); };
  using Names = std::vector<std::string>;
  CHECK(names({{"a/det.onnx"}, {"cls.v2.onnx"}}) == Names{"det", "cls.v2"});
  CHECK(names({{"a/m.onnx"}, {"b/m.onnx"}, {"m.onnx"}}) == Names{"m", "m-2", "m-3"});
  CHECK(names({{"m.onnx"}, {"other.onnx", "m"}}) == Names{"m-2", "m"});
  CHECK(names({{"lr=1.onnx"}, {"b.onnx"}}) == Names{"lr_1", "b"});
  for (const char* bad : {"a/b", "a=b"}) CHECK(NamesOfModels({{"x.onnx", bad}}).error().code == ErrorCode::kUsage);
  CHECK(NamesOfModels({{"x.onnx", "a"}, {"y.onnx", "a"}}).error().message.find("called \"a\"") != std::string::npos);
}

TEST_CASE("SeveralModels, OneAloneIsThatModelAndHasNoName", "[engine]") {
  const Scene scene;
  const auto one = OpenModels({{scene.tower}}).value();
  CHECK(one->models.empty());
  CHECK(one->path == scene.tower);
  CHECK(ModelHash(*one->graph) == ModelHash(*OpenModel(scene.tower).value()->graph));
  CHECK(one->graph->find_value("x").valid());
  CHECK(OpenModels({{scene.tower, "a"}}).error().code == ErrorCode::kUsage);
  CHECK(OpenModels({}).error().code == ErrorCode::kUsage);
}

TEST_CASE("SeveralModels, DimsOfOneNameAreTwo", "[engine]") {
  const Scene scene;
  const auto model = scene.Load({{scene.tower}, {scene.gate}}, TwoAndOne());
  CHECK(model->graph->value(model->graph->inputs()[0]).type.static_dims() == std::vector<int64_t>{2, 3});
  CHECK(model->graph->value(model->graph->inputs()[1]).type.static_dims() == std::vector<int64_t>{1, 4});
  ModelOptions lacking;
  lacking.dims = {{"tower/batch", 2}};
  const auto file = OpenModels({{scene.tower}, {scene.gate}}).value();
  const auto refused = scene.engine->Load(*file, lacking);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kUsage);
  CHECK(refused.error().hint.find("gate/batch") != std::string::npos);
}

TEST_CASE("SeveralModels, RunAsEachDoesAloneBitForBit", "[engine]") {
  const Scene scene;
  const auto both = scene.Load({{scene.tower}, {scene.gate}}, TwoAndOne());
  ModelOptions two, one;
  two.dims = {{"batch", 2}};
  one.dims = {{"batch", 1}};
  const auto tower = scene.Load({{scene.tower}}, two), gate = scene.Load({{scene.gate}}, one);
  for (const char* planner : {"single:cpu", "search", "random:7"}) {
    INFO(planner);
    const std::vector<Tensor> together = scene.Run(*both, scene.PlanOf(*both, planner), {kRows, kRow});
    REQUIRE(together.size() == 2);
    CHECK(SameBits(together[0], scene.Run(*tower, scene.PlanOf(*tower, planner), {kRows})[0]));
    CHECK(SameBits(together[1], scene.Run(*gate, scene.PlanOf(*gate, planner), {kRow})[0]));
  }
}

TEST_CASE("SeveralModels, InputsWithADefaultAreGivenByModel", "[engine]") {
  const Scene scene;
  const auto inputs = [&](const std::vector<ModelToOpen>& models, const LoadOptions& options) {
    std::vector<std::string> names;
    const auto file = OpenModels(models, options).value();
    for (const ValueId input : file->graph->inputs()) names.push_back(file->graph->value(input).name);
    return names;
  };
  using Names = std::vector<std::string>;
  const std::vector<ModelToOpen> twice = {{scene.tower, "a"}, {scene.tower, "b"}};
  CHECK(inputs(twice, {}) == Names{"a/x", "b/x"});
  LoadOptions named;
  named.given_inputs = {"b/rate"};
  CHECK(inputs(twice, named) == Names{"a/x", "b/x", "b/rate"});
  CHECK(inputs({{scene.tower, "a", 2}, {scene.tower, "b", 1}}, {}) == Names{"a/x", "a/rate", "b/x"});
}

TEST_CASE("SeveralModels, APlanBringsAllThatTheyAreLoadedWith", "[engine]") {
  const Scene scene;
  ModelOptions options = TwoAndOne();
  options.load.given_inputs = {"tower/rate"};
  options.constants["tower/rate"] = 0.5;
  const auto model = scene.Load({{scene.tower}, {scene.gate}}, options);
  const std::string path = scene.folder.path() + "/both.ptplan.json";
  REQUIRE(SavePlan(path, scene.PlanOf(*model), *model->graph).ok());

  const Plan plan = LoadPlan(path).value();
  REQUIRE(plan.made_for.models.size() == 2);
  CHECK(plan.made_for.models == model->models);
  CHECK(plan.made_for.models[1].name == "gate");
  CHECK(plan.made_for.models[1].file == scene.gate);
  const auto again = scene.Load(ModelsOf(plan), OptionsOf(plan).value());
  CHECK(ModelDifferences(*again, plan).empty());
  CHECK(JudgePlan(*again, scene.engine->machine(), plan).may_run());
  const Tensor rate = Tensor::Float32({}, {0.5});
  const std::vector<Tensor> before = scene.Run(*model, plan, {kRows, rate, kRow});
  const std::vector<Tensor> after = scene.Run(*again, plan, {kRows, rate, kRow});
  REQUIRE(after.size() == 2);
  for (size_t i = 0; i < after.size(); ++i) CHECK(SameBits(before[i], after[i]));
}

TEST_CASE("SeveralModels, SwappedOnesAreRefusedThoughTheGraphIsTheSame", "[engine]") {
  const Scene scene;
  const std::string other = scene.Written("other.onnx", Tower(-1));
  ModelOptions options;
  options.dims = {{"query/batch", 2}, {"key/batch", 2}};
  const auto model = scene.Load({{scene.tower, "query"}, {other, "key"}}, options);
  const Plan plan = scene.PlanOf(*model);
  const auto swapped = scene.Load({{other, "query"}, {scene.tower, "key"}}, options);
  CHECK(swapped->graph_hash == model->graph_hash);
  const PlanVerdict verdict = JudgePlan(*swapped, scene.engine->machine(), plan);
  REQUIRE(verdict.differences.size() == 2);
  CHECK(verdict.differences[0].find("what the plan knows as key") != std::string::npos);
  const auto session = scene.engine->MakeSession(*swapped, plan);
  REQUIRE(!session.ok());
  CHECK(session.error().code == ErrorCode::kStale);
  CHECK(session.error().message.find("model query: ") != std::string::npos);

  const auto turned = scene.Load({{other, "key"}, {scene.tower, "query"}}, options);
  CHECK(JudgePlan(*turned, scene.engine->machine(), plan).differences[0] ==
        "models: plan made for query, key, now key, query");
}

TEST_CASE("SeveralModels, AChangedOneIsRefusedByItsName", "[engine]") {
  const Scene scene;
  const auto model = scene.Load({{scene.tower}, {scene.gate}}, TwoAndOne());
  const Plan plan = scene.PlanOf(*model);
  scene.Written("tower.onnx", Tower(1.5));
  const auto changed = scene.Load({{scene.tower}, {scene.gate}}, TwoAndOne());
  const std::vector<std::string> lines = ModelDifferences(*changed, plan);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("model tower: "));
  CHECK(scene.engine->MakeSession(*changed, plan).error().code == ErrorCode::kStale);

  ModelOptions two;
  two.dims = {{"batch", 2}};
  const auto alone = scene.Load({{scene.tower}}, two);
  CHECK(ModelDifferences(*alone, plan)[0] == "models: plan made for tower, gate, now one model");
  CHECK(scene.engine->MakeSession(*model, scene.PlanOf(*alone)).error().code == ErrorCode::kStale);
}

// What search predicts for the model by rough costs, which are the same whatever else the machine does.
int64_t SearchedNs(const Model& model, const Machine& machine) {
  const auto costs = MakeRoughCosts(*model.graph, machine);
  const PlanningProblem problem{*model.graph, machine.platform(), model.candidates, *costs};
  return FindPlanner("search").value()->make_plan(problem, nullptr).value().makespan.ns;
}

TEST_CASE("SeveralModels, ApartTheyTakeTheSumOrWhatTheirShareOfTheCoresTakes", "[engine]") {
  const Scene scene;
  const Machine& machine = scene.engine->machine();
  const auto both = scene.Load({{scene.tower}, {scene.gate}}, TwoAndOne());
  ModelOptions two, one;
  two.dims = {{"batch", 2}};
  one.dims = {{"batch", 1}};
  const auto tower = scene.Load({{scene.tower}}, two), gate = scene.Load({{scene.gate}}, one);
  const auto costs = MakeRoughCosts(*both->graph, machine);
  const auto apart = PredictModelsApart(*both, machine, *costs, {}).value();
  CHECK(apart.at("in-turns") == SearchedNs(*tower, machine) + SearchedNs(*gate, machine));
  size_t cores = 0;
  for (const Resource& resource : machine.platform().resources) cores += resource.core.has_value();
  CHECK(apart.contains("side-by-side") == (cores >= 2));
  CHECK(scene.engine->PredictApart(*tower, {}).error().code == ErrorCode::kUsage);

  EngineOptions options;
  options.db_path = "none";
  options.machine.max_cores = 1;
  const auto single = Engine::Make(options).value();
  const auto on_one = single->Load(*OpenModels({{scene.tower}, {scene.gate}}).value(), TwoAndOne()).value();
  const auto costs_of_one = MakeRoughCosts(*on_one->graph, single->machine());
  const auto in_turns = PredictModelsApart(*on_one, single->machine(), *costs_of_one, {}).value();
  CHECK(in_turns.contains("in-turns"));
  CHECK(!in_turns.contains("side-by-side"));
}

TEST_CASE("SeveralModels, ErrorsNameTheFileAndTheModel", "[engine]") {
  const Scene scene;
  const std::string broken = scene.Written("broken.onnx", "no model");
  const auto unread = OpenModels({{scene.tower}, {broken}});
  REQUIRE(!unread.ok());
  CHECK(unread.error().file == broken);
  CHECK(unread.error().code == ErrorCode::kInvalidInput);
  LoadOptions options;
  options.limits.nodes = 3;
  REQUIRE(OpenModel(scene.tower, options).ok());
  const auto large = OpenModels({{scene.tower}, {scene.gate}}, options);
  REQUIRE(!large.ok());
  CHECK(large.error().message.find("4 nodes together, over the limit of 3") != std::string::npos);
}

}  // namespace
}  // namespace pt::testing::several_models_test
