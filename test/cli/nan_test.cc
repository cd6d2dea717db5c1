// --nan keep, and what --verify says of NaN.
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::nan_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// y = Relu(x) over 2x3 with NaN in x, beside the outputs that the definition gives.
struct Scene {
  Scene() {
    model = place.Write("m/model.onnx", OneNodeModel("Relu", {"2", "3"}));
    place.Write("m/test_data_set_0/input_0.pb", FloatFile({2, 3}, {-1, kNan, 1, 2, kNan, -4}));
    place.Write("m/test_data_set_0/output_0.pb", FloatFile({2, 3}, {0, kNan, 1, 2, kNan, 0}));
    plan = place.path() + "/plan.json";
  }
  CommandResult Run(const std::string& tool, const std::vector<std::string>& more) const {
    return RunTool(tool, Joined({model, "--db", db, "--threads", "1", "--libraries", "onednn,reference"}, more));
  }

  Workplace place;
  std::string model, plan, db = "none";
};

TEST_CASE("Nan, VerifySaysWhereNothingElseDiffers", "[cli]") {
  const Scene scene;
  const std::string data = scene.place.path() + "/m";
  const CommandResult lost = scene.Run("pt-run", {"--verify", data});
  INFO(lost.out << lost.err);
  CHECK(lost.exit_code == 8);
  CHECK(lost.out.find("nothing differs but where NaN stands (2 values); --nan keep") != std::string::npos);
  const CommandResult json = scene.Run("pt-run", {"--verify", data, "--format", "json"});
  CHECK(json.out.find("\"nan_alone\": true") != std::string::npos);
  CHECK(json.out.find("\"nan_differences\": 2") != std::string::npos);
  const CommandResult kept = scene.Run("pt-run", {"--verify", data, "--nan", "keep"});
  INFO(kept.out << kept.err);
  CHECK(kept.exit_code == 0);
  CHECK(kept.out.find("NaN stands") == std::string::npos);
}

TEST_CASE("Nan, PlansThatKeepItAreSavedCheckedAndRun", "[cli]") {
  Scene scene;
  scene.db = scene.place.path() + "/profile.db";
  REQUIRE(scene.Run("pt-profile", {"-q"}).exit_code == 0);
  const std::string data = scene.place.path() + "/m";
  REQUIRE(scene.Run("pt-plan", {"--planner", "single:cpu", "--nan", "keep", "-o", scene.plan}).exit_code == 0);
  CHECK(ReadFile(scene.plan, 1 << 20).value().find("\"nan\": \"keep\"") != std::string::npos);
  CHECK(scene.Run("pt-plan", {"--check", scene.plan, "--nan", "keep"}).exit_code == 0);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--nan", "keep"}}) {
    const CommandResult run = scene.Run("pt-run", Joined({"--plan", scene.plan, "--verify", data}, more));
    INFO(run.out << run.err);
    CHECK(run.exit_code == 0);
  }

  REQUIRE(scene.Run("pt-plan", {"--planner", "single:cpu", "-o", scene.plan}).exit_code == 0);
  CHECK(ReadFile(scene.plan, 1 << 20).value().find("\"nan\"") == std::string::npos);
  for (const auto& [tool, flag] : {std::pair{"pt-run", "--plan"}, std::pair{"pt-plan", "--check"}}) {
    const CommandResult refused = scene.Run(tool, {flag, scene.plan, "--nan", "keep"});
    INFO(refused.out << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find("made without --nan keep, and may lose NaN") != std::string::npos);
    CHECK(refused.err.find("--nan keep") != std::string::npos);
  }
}

}  // namespace
}  // namespace pt::testing::nan_test
