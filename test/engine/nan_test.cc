// Models that are to keep NaN: what is offered for them, what their plans say, and what comes out.
#include "partitiontuner/backend/nan.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <limits>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/plan_file.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/plan/plan_precision.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing::nan_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kFloat = 1, kBool = 9;  // of TensorProto.DataType

// x float32[64] through Relu, Clip to [-1, 1], Max and Min with 0.5, each an output of its own.
std::string Bounds() {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", kFloat, {"64"})};
  graph.initializers = {FloatTensor("low", {}, {-1}), FloatTensor("high", {}, {1}), FloatTensor("half", {1}, {0.5F})};
  graph.nodes = {NodeBytes("Relu", {"x"}, {"relu"}), NodeBytes("Clip", {"x", "low", "high"}, {"clip"}),
                 NodeBytes("Max", {"x", "half"}, {"max"}), NodeBytes("Min", {"x", "half"}, {"min"})};
  for (const char* name : {"relu", "clip", "max", "min"}) graph.outputs.push_back(ValueInfo(name, kFloat, {"64"}));
  return ModelBytes(graph);
}

// If(c): y = Relu(x), else Clip(x, -1, 1).
std::string BoundsInBranches() {
  GraphParts relu, clip, graph;
  relu.nodes = {NodeBytes("Relu", {"x"}, {"a"})};
  relu.outputs = {ValueInfo("a", kFloat, {"64"})};
  clip.initializers = {FloatTensor("low", {}, {-1}), FloatTensor("high", {}, {1})};
  clip.nodes = {NodeBytes("Clip", {"x", "low", "high"}, {"b"})};
  clip.outputs = {ValueInfo("b", kFloat, {"64"})};
  graph.inputs = {ValueInfo("c", kBool, {}), ValueInfo("x", kFloat, {"64"})};
  graph.outputs = {ValueInfo("y", kFloat, {"64"})};
  graph.nodes = {
      NodeBytes("If", {"c"}, {"y"},
                {GraphAttribute("then_branch", GraphBytes(relu)), GraphAttribute("else_branch", GraphBytes(clip))})};
  return ModelBytes(graph);
}

// Every third element is NaN.
Tensor WithNan() {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 1 ? kNan : static_cast<float>(i) / 16 - 2;
  return Tensor::Float32({64}, values);
}

struct Scene {
  explicit Scene(const std::string& bytes, std::vector<std::string> libraries = {}) {
    path = folder.path() + "/model.onnx";
    std::ofstream(path, std::ios::binary) << bytes;
    EngineOptions options;
    options.db_path = "none";
    options.machine.max_cores = 1;
    options.machine.libraries = std::move(libraries);
    engine = Engine::Make(options).value();
  }
  Result<std::shared_ptr<const Model>> Load(bool keep_nan) const {
    ModelOptions options;
    options.keep_nan = keep_nan;
    return engine->Load(path, options);
  }

  TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Engine> engine;
};

void CheckNanStays(const Scene& scene, const Model& model, const Plan& plan, const std::vector<Tensor>& inputs) {
  const auto session = scene.engine->MakeSession(model, plan);
  if (!session.ok()) FAIL(ToString(session.error()));
  const auto outputs = RunTensors(**session, inputs);
  if (!outputs.ok()) FAIL(ToString(outputs.error()));
  for (const Tensor& output : *outputs) {
    const auto x = inputs.back().values<float>(), y = output.values<float>();
    for (size_t i = 0; i < y.size(); ++i) {
      if (std::isnan(x[i]) != std::isnan(y[i])) FAIL("element " << i << " is " << y[i] << " of " << x[i]);
    }
  }
}

TEST_CASE("KeepNan, OffersNothingThatMayLoseIt", "[engine]") {
  const Scene scene(Bounds());
  const auto plain = scene.Load(false).value(), kept = scene.Load(true).value();
  const auto losing = [&](const Model& model) {
    return std::ranges::count_if(model.candidates, [&](const Candidate& candidate) {
      return !KeepsNan(*scene.engine->machine().library(candidate.library), *model.graph, candidate);
    });
  };
  CHECK(losing(*plain) > 0);
  CHECK(losing(*kept) == 0);
  CheckNanStays(scene, *kept, scene.engine->MakeDefaultPlan(*kept).value(), {WithNan()});
}

TEST_CASE("KeepNan, PlansSayItAndAreHeldToIt", "[engine]") {
  const Scene scene(Bounds(), {"onednn", "reference"});
  const auto plain = scene.Load(false).value(), kept = scene.Load(true).value();
  const Plan loses = scene.engine->MakeDefaultPlan(*plain).value(),
             keeps = scene.engine->MakeDefaultPlan(*kept).value();
  CHECK_FALSE(loses.made_for.settings.contains(std::string(kNanSetting)));
  CHECK_FALSE(OptionsOf(loses).value().keep_nan);

  // From its file it runs as well, on a model that was not loaded so.
  const std::string file = scene.folder.path() + "/plan.json";
  REQUIRE(SavePlan(file, keeps, *kept->graph).ok());
  const Plan read = LoadPlan(file).value();
  CHECK(MustKeepNan(read).value());
  CHECK(OptionsOf(read).value().keep_nan);
  CheckNanStays(scene, *plain, read, {WithNan()});

  // A plan that only says it is refused: the libraries are asked.
  Plan lying = loses;
  lying.made_for.settings[std::string(kNanSetting)] = kKeepNan;
  const auto session = scene.engine->MakeSession(*plain, lying);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == ErrorCode::kInvalidInput);
  CHECK(ToString(session.error()).find("may lose NaN") != std::string::npos);
}

TEST_CASE("KeepNan, HoldsInNestedGraphs", "[engine]") {
  const Scene scene(BoundsInBranches());
  const auto kept = scene.Load(true).value();
  const Plan plan = scene.engine->MakeDefaultPlan(*kept).value();
  for (const char truth : {'\0', '\1'}) {
    CheckNanStays(scene, *kept, plan,
                  {Tensor::FromBytes(DataType::kBool, {}, std::string(1, truth)).value(), WithNan()});
  }
}

TEST_CASE("KeepNan, SaysWhatLosesItWhereNothingElseIsOffered", "[engine]") {
  const Scene scene(Bounds(), {"onednn"});
  const auto model = scene.Load(true);
  REQUIRE_FALSE(model.ok());
  CHECK(model.error().code == ErrorCode::kUnsupported);
  CHECK(model.error().message.find("Relu") != std::string::npos);
  CHECK(model.error().message.find("may lose NaN") != std::string::npos);
}

}  // namespace
}  // namespace pt::testing::nan_test
