#include "partitiontuner/engine/engine.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <random>

#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/plan/plan_json.h"
#include "test/cost/sample_problem.h"
#include "test/testing/built_in.h"
#include "test/testing/onnx_bytes.h"

namespace pt::engine_test {
namespace {

constexpr int kFloat = 1;  // of TensorProto.DataType

// x ─ Conv ─ Relu ─┬─ Conv 3x3 ─ Relu ─┐
//                  └─ Conv 1x1 ────────Concat ─ GlobalAveragePool, with `batch` images (-1: unknown).
std::string BranchyModel(int64_t batch) {
  namespace wire = testing;
  wire::GraphParts graph;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-0.3F, 0.3F);
  const auto weights = [&](const char* name, const std::vector<int64_t>& dims) {
    std::vector<float> values(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
    for (float& value : values) value = uniform(random);
    graph.initializers.push_back(wire::FloatTensor(name, dims, values));
  };
  weights("w1", {16, 3, 3, 3});
  weights("w2", {16, 16, 3, 3});
  weights("w3", {16, 16, 1, 1});
  const std::string images = batch < 0 ? "batch" : std::to_string(batch);
  graph.inputs = {wire::ValueInfo("x", kFloat, {images, "3", "16", "16"})};
  graph.outputs = {wire::ValueInfo("y", kFloat, {images, "32", "1", "1"})};
  const std::vector<wire::Wire> pads = {wire::IntsAttribute("pads", {1, 1, 1, 1})};
  graph.nodes = {
      wire::NodeBytes("Conv", {"x", "w1"}, {"a"}, pads),
      wire::NodeBytes("Relu", {"a"}, {"b"}),
      wire::NodeBytes("Conv", {"b", "w2"}, {"c"}, pads),
      wire::NodeBytes("Relu", {"c"}, {"d"}),
      wire::NodeBytes("Conv", {"b", "w3"}, {"e"}),
      wire::NodeBytes("Concat", {"d", "e"}, {"f"}, {wire::IntAttribute("axis", 1)}),
      wire::NodeBytes("GlobalAveragePool", {"f"}, {"y"}),
  };
  return wire::ModelBytes(graph);
}

// One node from x to y, both of these dims.
std::string OneNodeModel(const testing::Wire& node, int type, const std::vector<std::string>& dims) {
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", type, dims)};
  graph.outputs = {testing::ValueInfo("y", type, dims)};
  graph.nodes = {node};
  return testing::ModelBytes(graph);
}

struct Scene {
  explicit Scene(const std::string& model_bytes, std::vector<std::string> libraries = {}) {
    path = folder.file("model.onnx");
    std::ofstream(path, std::ios::binary) << model_bytes;
    EngineOptions options;
    options.machine.libraries = std::move(libraries);
    options.db_path = folder.file("profile.db");
    engine = Engine::Make(options).value();
    fast.max_time_per_key = std::chrono::milliseconds(5);
    fast.max_noise = 0.5;
  }

  TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Engine> engine;
  MeasureOptions fast;
};

std::vector<float> RunOnce(Engine& engine, const Model& model, const Plan& plan, const SessionOptions& options = {}) {
  const Result<std::unique_ptr<Session>> session = engine.MakeSession(model, plan, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  std::vector<float> input(3 * 16 * 16), output(32, -1.0F);
  for (size_t i = 0; i < input.size(); ++i) input[i] = std::sin(static_cast<float>(i));
  const LentTensor in{DataType::kFloat32, {1, 3, 16, 16}, input.data(), input.size() * 4};
  const LentTensor out{DataType::kFloat32, {1, 32, 1, 1}, output.data(), output.size() * 4};
  REQUIRE((*session)->Run({&in, 1}, {&out, 1}).ok());
  return output;
}

double WorstDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
  return worst;
}

TEST_CASE("Engine, FromAFileToTheSameAnswerByEveryPlanner", "[engine]") {
  Scene scene(BranchyModel(1));
  const auto model = scene.engine->Load(scene.path, {}).value();
  CHECK(model->graph->nodes().size() == 7);
  CHECK(model->graph_hash.size() == 32);
  const Result<MeasureReport> report = scene.engine->MeasureModel(*model, scene.fast, {});
  REQUIRE(report.ok());
  CHECK(report->missing == 0);

  Scene reference(BranchyModel(1), {"reference"});
  const auto plain = reference.engine->Load(reference.path, {}).value();
  const std::vector<float> expected =
      RunOnce(*reference.engine, *plain, reference.engine->MakeDefaultPlan(*plain).value());
  for (const char* planner : {"single:cpu", "heft", "partitiontuner", "search", "random:1", "random:2"}) {
    CAPTURE(planner);
    PlanOptions options;
    options.planner = planner;
    options.margin = SplitMargin::kNone;  // search answers by its own plan
    const Result<Plan> plan = scene.engine->MakePlan(*model, options);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    CHECK(plan->planner == planner);
    CHECK(plan->complete);
    CHECK(plan->makespan.ns >= plan->lower_bound_ns);
    CHECK(plan->lower_bound_ns > 0);
    CHECK_FALSE(plan->report.critical_path.empty());
    CHECK(plan->made_for.graph_hash == model->graph_hash);
    CHECK(plan->made_for.input_dims.at("x") == std::vector<int64_t>{1, 3, 16, 16});
    const Machine& machine = scene.engine->machine();
    CHECK(JudgePlan(*model->graph, machine.platform(), machine.libraries(), *plan).may_run());
    const std::vector<float> output = RunOnce(*scene.engine, *model, *plan);
    CHECK(WorstDifference(output, expected) < 1e-4);
    SessionOptions sequential;
    sequential.sequential = true;
    CHECK(RunOnce(*scene.engine, *model, *plan, sequential) == output);
  }
  // Of all that making a plan takes, reading costs and checking included, the search is a part.
  PlanningNotes notes;
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(scene.engine->MakePlan(*model, {}, nullptr, &notes).ok());
  CHECK(notes.search_time.count() > 0);
  CHECK(notes.search_time < std::chrono::steady_clock::now() - start);
  // The same question twice gives the same bytes.
  const auto bytes = [&] { return WriteJson(ToJson(*scene.engine->MakePlan(*model, {}), *model->graph)); };
  CHECK(bytes() == bytes());
}

TEST_CASE("Engine, WithoutAProfileOnlyTheDefaultPlan", "[engine]") {
  Scene scene(BranchyModel(1));
  const auto model = scene.engine->Load(scene.path, {}).value();
  const Result<Plan> refused = scene.engine->MakePlan(*model, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kPartial);
  CHECK(refused.error().hint.find("pt-profile") != std::string::npos);
  const Result<Plan> plan = scene.engine->MakeDefaultPlan(*model);
  REQUIRE(plan.ok());
  CHECK_FALSE(plan->complete);
  CHECK(RunOnce(*scene.engine, *model, *plan).size() == 32);
}

TEST_CASE("Engine, AnExportedProfilePlansLikeTheDatabase", "[engine]") {
  Scene scene(BranchyModel(1));
  const auto model = scene.engine->Load(scene.path, {}).value();
  REQUIRE(scene.engine->MeasureModel(*model, scene.fast, {}).ok());
  const Result<Profile> profile = scene.engine->ProfileOf(*model);
  REQUIRE(profile.ok());
  CHECK(profile->platform_fingerprint == PlatformFingerprint(scene.engine->machine().platform()));
  CHECK_FALSE(profile->environment.empty());
  const Profile read = ProfileFromJson(ParseJson(WriteJson(ToJson(*profile)), "test").value(), "test").value();
  CHECK(read == *profile);

  EngineOptions without;
  without.db_path = "none";
  const auto engine = Engine::Make(without).value();
  const auto same_model = engine->Load(scene.path, {}).value();
  PlanOptions options;
  options.profile = &read;
  const Plan there = scene.engine->MakePlan(*model, {}).value();
  const Plan here = engine->MakePlan(*same_model, options).value();
  CHECK(WriteJson(ToJson(there, *model->graph)) == WriteJson(ToJson(here, *same_model->graph)));
  CHECK(engine->MeasureModel(*same_model, scene.fast, {}).error().code == ErrorCode::kUsage);
}

TEST_CASE("Engine, UnknownDimsNameTheFlagToGive", "[engine]") {
  Scene scene(BranchyModel(-1));
  const auto refused = scene.engine->Load(scene.path, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUsage);
  CHECK(refused.error().hint.find("--dim batch=") != std::string::npos);
  CHECK(refused.error().message.find("input x") != std::string::npos);
  CHECK(refused.error().file == scene.path);

  const auto batch_of = [&](const ModelOptions& options) {
    const auto model = scene.engine->Load(scene.path, options);
    if (!model.ok()) FAIL(ToString(model.error()));
    const Graph& graph = *(*model)->graph;
    return graph.value(graph.outputs()[0]).type.static_dims().value()[0];
  };
  ModelOptions by_name, by_shape, by_data;
  by_name.dims["batch"] = 2;
  by_shape.shapes["x"] = {3, 3, 16, 16};
  by_data.input_dims = {{4, 3, 16, 16}};
  CHECK(batch_of(by_name) == 2);
  CHECK(batch_of(by_shape) == 3);
  CHECK(batch_of(by_data) == 4);

  const auto code_of = [&](const ModelOptions& options) {
    return scene.engine->Load(scene.path, options).error().code;
  };
  ModelOptions wrong;
  wrong.dims["bach"] = 2;
  CHECK(code_of(wrong) == ErrorCode::kUsage);
  wrong = {};
  wrong.shapes["y"] = {3, 3, 16, 16};
  CHECK(code_of(wrong) == ErrorCode::kUsage);
  wrong = {};
  wrong.input_dims = {{4, 3, 16, 17}};
  CHECK(code_of(wrong) == ErrorCode::kInvalidInput);
  wrong.input_dims = {{4, 3, 16, 16}, {1}};
  CHECK(code_of(wrong) == ErrorCode::kInvalidInput);
}

TEST_CASE("Engine, AModelLoadedOnlyToRunRunsAPlanAndIsNotPlanned", "[engine]") {
  const Scene scene(BranchyModel(1));
  const auto whole = scene.engine->Load(scene.path, {});
  REQUIRE(whole.ok());
  CHECK((*whole)->loaded == nullptr);
  const Plan plan = scene.engine->MakeDefaultPlan(**whole).value();
  ModelOptions options;
  options.to_plan = false;
  options.keep_loaded = true;
  const auto model = scene.engine->Load(scene.path, options);
  REQUIRE(model.ok());
  CHECK((*model)->candidates.empty());
  REQUIRE((*model)->loaded != nullptr);
  CHECK((*model)->graph_hash == (*whole)->graph_hash);
  CHECK((*model)->model_hash == (*whole)->model_hash);
  CHECK(scene.engine->MakeSession(**model, plan).ok());
  const auto code = [](const auto& result) { return result.ok() ? ErrorCode::kInternal : result.error().code; };
  CHECK(code(scene.engine->MakeDefaultPlan(**model)) == ErrorCode::kUsage);
  CHECK(code(scene.engine->MakePlan(**model, {})) == ErrorCode::kUsage);
  CHECK(code(scene.engine->ProfileOf(**model)) == ErrorCode::kUsage);
  CHECK(code(scene.engine->CostsOf(**model, {})) == ErrorCode::kUsage);
  CHECK(code(scene.engine->MeasureModel(**model, {}, {})) == ErrorCode::kUsage);
}

TEST_CASE("Engine, AnUnsupportedOperatorIsNamed", "[engine]") {
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", kFloat, {"1", "4"})};
  graph.outputs = {testing::ValueInfo("y", kFloat, {"1", "4"})};
  graph.nodes = {testing::NodeBytes("CastMap", {"x"}, {"y"}, {}, {}, "ai.onnx.ml")};
  testing::ModelParts model;
  model.graph = testing::GraphBytes(graph);
  model.opsets.emplace_back("ai.onnx.ml", 1);
  Scene scene(testing::ModelBytes(model));
  const auto refused = scene.engine->Load(scene.path, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().message.find("CastMap") != std::string::npos);
  CHECK(refused.error().node.find("CastMap") != std::string::npos);
}

// A list of a hundred million ones, which a file of 130 bytes asks for, was taken for dims, for 15 s.
TEST_CASE("Engine, ListsLongerThanAnyRankAreNoShapes", "[engine]") {
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", kFloat, {"1"})};
  graph.outputs = {testing::ValueInfo("y", kFloat, {})};
  graph.initializers = {testing::Int64Tensor("n", {1}, {65}), testing::Int64Tensor("one", {}, {1})};
  graph.nodes = {testing::NodeBytes("Expand", {"one", "n"}, {"s"}), testing::NodeBytes("Expand", {"x", "s"}, {"y"})};
  Scene scene(testing::ModelBytes(graph));
  const auto refused = scene.engine->Load(scene.path, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().id == "engine.limit");
  CHECK(refused.error().node.find("Expand") != std::string::npos);
  ModelOptions more;
  more.load.limits.rank = 65;
  const auto loaded = scene.engine->Load(scene.path, more);
  CHECK((loaded.ok() || loaded.error().id != "engine.limit"));
}

// Two products of constants of 8000 x 8000, which a file of 170 bytes asks for, took minutes.
TEST_CASE("Engine, ConstantsThatTakeLongToComputeAreLeftToRuns", "[engine]") {
  const auto operators = [](const std::string& size) {
    testing::GraphParts graph;
    graph.inputs = {testing::ValueInfo("x", kFloat, {"1"})};
    graph.outputs = {testing::ValueInfo("y", kFloat, {size, size})};
    const int64_t number = std::stoll(size);
    graph.initializers = {testing::Int64Tensor("s", {2}, {number, number})};
    graph.nodes = {testing::NodeBytes("ConstantOfShape", {"s"}, {"a"}), testing::NodeBytes("MatMul", {"a", "a"}, {"b"}),
                   testing::NodeBytes("Add", {"b", "x"}, {"y"})};
    Scene scene(testing::ModelBytes(graph));
    const auto model = scene.engine->Load(scene.path, {}).value();
    std::string found;
    for (const Node& node : model->graph->nodes()) found += node.op + " ";
    return found;
  };
  CHECK(operators("16") == "Add ");
  CHECK(operators("2000") == "MatMul Add ");
}

// The order of two thousand products was sought for minutes.
TEST_CASE("Engine, EinsumOfThousandsOfInputsIsRefused", "[engine]") {
  std::string labels = "a";
  for (int i = 1; i < 2000; ++i) labels += ",a";
  Scene scene(OneNodeModel(testing::NodeBytes("Einsum", std::vector<std::string>(2000, "x"), {"y"},
                                              {testing::StringAttribute("equation", labels + "->a")}),
                           kFloat, {"3"}));
  const auto refused = scene.engine->Load(scene.path, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("Engine, ShapesThatContradictEachOtherAreTheModelsFault", "[engine]") {
  Scene scene(OneNodeModel(testing::NodeBytes("MatMul", {"x", "x"}, {"y"}), kFloat, {"3", "4"}));
  const auto refused = scene.engine->Load(scene.path, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().message.find("inner dims") != std::string::npos);
  CHECK(refused.error().node.find("MatMul") != std::string::npos);
  CHECK(refused.error().file == scene.path);
}

TEST_CASE("Engine, ReferenceCandidatesOnlyWhereNothingElseRunsOrWhenNamed", "[engine]") {
  const auto count_reference = [](const Model& model) {
    return std::count_if(model.candidates.begin(), model.candidates.end(),
                         [](const Candidate& c) { return c.library == "reference"; });
  };
  if (!testing::HasLibrary("onednn")) SKIP("this build has no library besides the reference");
  Scene all(BranchyModel(1)), named(BranchyModel(1), {"onednn", "reference"}), alone(BranchyModel(1), {"reference"});
  CHECK(count_reference(*all.engine->Load(all.path, {}).value()) == 0);
  CHECK(count_reference(*named.engine->Load(named.path, {}).value()) > 0);
  const auto model = alone.engine->Load(alone.path, {}).value();
  CHECK(static_cast<size_t>(count_reference(*model)) == model->candidates.size());
}

TEST_CASE("Engine, MissingAndBrokenFilesAreTyped", "[engine]") {
  Scene scene(std::string("no model at all"));
  CHECK(scene.engine->Load(scene.path, {}).error().code == ErrorCode::kInvalidInput);
  CHECK(scene.engine->Load(scene.folder.file("absent.onnx"), {}).error().code == ErrorCode::kInvalidInput);
  EngineOptions options;
  options.machine.libraries = {"unheard-of"};
  CHECK(Engine::Make(options).error().code == ErrorCode::kDeviceUnusable);
}

// The bias used to reach a library that reads one value a channel.
TEST_CASE("Engine, ConvolutionWithABiasOfTheWrongLengthIsAnInvalidModel", "[engine]") {
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", kFloat, {"1", "3", "8", "8"})};
  graph.outputs = {testing::ValueInfo("y", kFloat, {"1", "4", "6", "6"})};
  graph.initializers = {testing::FloatTensor("w", {4, 3, 3, 3}, std::vector<float>(108, 0.5F)),
                        testing::FloatTensor("b", {5}, std::vector<float>(5, 1.0F))};
  graph.nodes = {testing::NodeBytes("Conv", {"x", "w", "b"}, {"y"}, {}, "first")};
  Scene scene(testing::ModelBytes(graph));
  const auto model = scene.engine->Load(scene.path, {});
  REQUIRE_FALSE(model.ok());
  CHECK(model.error().code == ErrorCode::kInvalidInput);
  CHECK(model.error().message.find("dims [5] of the bias are wrong; expected [4]") != std::string::npos);
  CHECK(model.error().node.find("Conv first") != std::string::npos);
  CHECK(model.error().file == scene.path);
}

// Loading, candidates, plan, check and session each take time in proportion to the nodes.
TEST_CASE("Engine, ChainOfFiftyThousandNodesIsPlannedWithoutMeasurements", "[engine][slow]") {
  constexpr int kNodes = 50'000;
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("v0", kFloat, {"1", "4"})};
  graph.outputs = {testing::ValueInfo("v" + std::to_string(kNodes), kFloat, {"1", "4"})};
  for (int i = 0; i < kNodes; ++i)
    graph.nodes.push_back(testing::NodeBytes("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
  Scene scene(testing::ModelBytes(graph));
  const auto model = scene.engine->Load(scene.path, {});
  REQUIRE(model.ok());
  CHECK((*model)->candidates.size() <
        10 * static_cast<size_t>(kNodes) * scene.engine->machine().platform().unit_classes.size());
  const auto plan = scene.engine->MakeDefaultPlan(**model);
  REQUIRE(plan.ok());
  CHECK(plan->steps.size() < kNodes / 5);
  const auto session = scene.engine->MakeSession(**model, *plan);
  REQUIRE(session.ok());
  std::vector<float> input = {-1, 0, 1, 2}, output(4, -1.0F);
  const std::vector<int64_t> dims = {1, 4};
  const LentTensor in{DataType::kFloat32, dims, input.data(), 16}, out{DataType::kFloat32, dims, output.data(), 16};
  REQUIRE((*session)->Run({&in, 1}, {&out, 1}).ok());
  CHECK(output == std::vector<float>{0, 0, 1, 2});
}

}  // namespace
}  // namespace pt::engine_test
