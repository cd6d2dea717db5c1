// Models with inputs that are known as constants, from the file to the run.
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/shaped_sessions.h"
#include "test/testing/host_lab.h"
#include "test/testing/rate_model.h"
#include "test/testing/test_data.h"

namespace pt::testing::constant_inputs_test {
namespace {

struct Scene {
  Scene() {
    path = folder.path() + "/model.onnx";
    std::ofstream(path, std::ios::binary) << RateModel();
    EngineOptions options;
    options.db_path = "none";
    engine = Engine::Make(options).value();
  }
  std::shared_ptr<const Model> Load(double rate, uint32_t requests = 1) const {
    ModelOptions options;
    options.constants["rate"] = rate;
    options.rewrites.requests = requests;
    const auto model = engine->Load(path, options);
    if (!model.ok()) FAIL(ToString(model.error()));
    return *model;
  }

  TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Engine> engine;
};

const Tensor kImage = Tensor::Float32({2, 3}, {-1, 2, -3, 4, -5, 6});
Tensor Rate(int64_t rate) { return Tensor::Int64({}, {rate}); }

TEST_CASE("Engine, ConstantInputsChooseTheBranchBeforePlanning", "[engine]") {
  const Scene scene;
  for (const auto& [rate, op, first] : {std::tuple{16000, "Relu", 0.0F}, std::tuple{8000, "Neg", 1.0F}}) {
    CAPTURE(rate);
    const auto model = scene.Load(rate);
    REQUIRE(model->graph->nodes().size() == 1);
    CHECK(model->graph->nodes()[0].op == op);
    CHECK(model->graph->inputs().size() == 2);
    const Plan plan = scene.engine->MakeDefaultPlan(*model).value();
    CHECK(plan.made_for.settings.at("constant rate") == std::to_string(rate));
    const auto session = scene.engine->MakeSession(*model, plan).value();
    const auto outputs = RunOnce(*session, {kImage, Rate(rate)});
    REQUIRE(outputs.ok());
    CHECK((*outputs)[0].values<float>()[0] == first);
  }
}

TEST_CASE("Engine, RunsWithAnotherValueOfAConstantInputAreRefused", "[engine]") {
  const Scene scene;
  const auto model = scene.Load(16000);
  const auto session = scene.engine->MakeSession(*model, scene.engine->MakeDefaultPlan(*model).value()).value();
  const auto refused = RunOnce(*session, {kImage, Rate(8000)});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().id == "run.constant");
  CHECK(refused.error().message.find("'rate'") != std::string::npos);
  CHECK(RunOnce(*session, {kImage, Rate(16000)}).ok());
}

TEST_CASE("Engine, EveryRequestHasItsConstantInputs", "[engine]") {
  const Scene scene;
  const auto model = scene.Load(16000, 2);
  REQUIRE(model->graph->inputs().size() == 4);
  const auto session = scene.engine->MakeSession(*model, scene.engine->MakeDefaultPlan(*model).value()).value();
  CHECK(RunOnce(*session, {kImage, Rate(16000), kImage, Rate(16000)}).ok());
  CHECK(RunOnce(*session, {kImage, Rate(16000), kImage, Rate(8000)}).error().id == "run.constant");
}

TEST_CASE("Engine, SessionsByDimsRefuseOtherConstantsToo", "[engine]") {
  const Scene scene;
  ShapedSessionsOptions options;
  options.model.constants["rate"] = 16000;
  const auto sessions = ShapedSessions::Make(*scene.engine, scene.path, options).value();
  CHECK(sessions->Run(std::vector<Datum>{kImage, Rate(16000)}).ok());
  CHECK(sessions->Run(std::vector<Datum>{kImage, Rate(8000)}).error().id == "run.constant");
}

TEST_CASE("Session, ConstantInputsAreOfTheGraphAndOnTheHost", "[engine]") {
  const Scene scene;
  const auto model = scene.Load(16000);
  const Plan plan = scene.engine->MakeDefaultPlan(*model).value();
  SessionOptions options;
  options.constant_inputs = {std::nullopt, Rate(16000), Rate(16000)};
  const auto refused = Session::Create(model->graph, plan, scene.engine->machine(), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUsage);
  CHECK(refused.error().id == "session.constants");
}

}  // namespace
}  // namespace pt::testing::constant_inputs_test
