// Which plans enter where a plugin's library runs nodes on the host beside the libraries built in.
#include "lib/engine/contenders.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/engine/engine.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::contenders_test {
namespace {

// x ─ Relu ─ Tanh ─ y
std::string Chain() {
  constexpr int kFloat = 1;  // of TensorProto.DataType
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", kFloat, {"8"})};
  graph.outputs = {testing::ValueInfo("y", kFloat, {"8"})};
  graph.nodes = {testing::NodeBytes("Relu", {"x"}, {"r"}), testing::NodeBytes("Tanh", {"r"}, {"y"})};
  return testing::ModelBytes(graph);
}

// The plugin's library, "test-plugin", is the reference library by another name. "none": without any.
struct Scene {
  explicit Scene(const std::string& plugin) {
    std::ofstream(folder.path() + "/model.onnx", std::ios::binary) << Chain();
    EngineOptions options;
    options.db_path = "none";
    options.machine.devices = {"cpu"};
    options.machine.plugin_paths = {std::string(PT_BINARY_DIR) + "/test-plugins"};
    options.machine.plugins = {plugin};
    engine = Engine::Make(options).value();
    model = engine->Load(folder.path() + "/model.onnx", {}).value();
  }
  std::vector<Contender> Contenders() const {
    return ContendersFor({*model, engine->machine(), costs, summary, plan_options});
  }

  testing::TemporaryFolder folder;
  TableCosts costs;
  ProfileSummary summary;
  PlanOptions plan_options;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
};

bool IsOfPlugin(const Candidate& candidate) { return candidate.library == "test-plugin"; }

}  // namespace

TEST_CASE("Contenders, ThePlannerAskedForComesFirstOnAllCandidates", "[engine]") {
  const std::vector<Contender> contenders = Scene("none").Contenders();
  CHECK(contenders.front().name == "search");
  CHECK(contenders.front().always_runs);
  for (const Contender& contender : contenders) CHECK_FALSE(contender.candidates.has_value());
  CHECK(std::ranges::count(contenders, true, &Contender::always_runs) == 1);
}

TEST_CASE("Contenders, RuntimesOfPluginsAreLeftOutOnceAndPreferredOnce", "[engine]") {
  const Scene scene("good");
  const std::vector<Candidate>& all = scene.model->candidates;
  const auto of_plugin = static_cast<size_t>(std::ranges::count_if(all, IsOfPlugin));
  REQUIRE(of_plugin > 0);
  REQUIRE(of_plugin < all.size());  // the nodes have candidates of the libraries built in as well
  const std::vector<Contender> contenders = scene.Contenders();
  REQUIRE(contenders.size() > 2);
  const Contender &without = contenders[contenders.size() - 2], &by = contenders.back();
  CHECK(without.name == "search, without test-plugin");
  CHECK(without.always_runs);
  REQUIRE(without.candidates.has_value());
  CHECK(without.candidates->size() == all.size() - of_plugin);
  CHECK(std::ranges::none_of(*without.candidates, IsOfPlugin));
  CHECK(by.name == "search, by test-plugin");
  CHECK(by.always_runs);
  REQUIRE(by.candidates.has_value());
  CHECK(by.candidates->size() == of_plugin);  // it runs every node
  CHECK(std::ranges::all_of(*by.candidates, IsOfPlugin));
}

}  // namespace pt::contenders_test
