// Models that never end, and long ones.
#include "test/cli/tools.h"

namespace pt::testing::run_limits_test {
namespace {

// Loop with a trip count of 2^63 - 1 and a condition that stays true, around a body of these nodes that makes `next` of
// `v`; where it collects, all of these put together are an output as well.
std::string EndlessLoop(std::vector<Wire> nodes, const std::vector<std::string>& dims, bool collects = false) {
  GraphParts body;
  body.inputs = {ValueInfo("trip", 7, {}), ValueInfo("go", 9, {}), ValueInfo("v", 1, dims)};
  body.nodes = std::move(nodes);
  body.nodes.push_back(NodeBytes("Identity", {"go"}, {"go_on"}));
  body.outputs = {ValueInfo("go_on", 9, {}), ValueInfo("next", 1, dims)};
  std::vector<std::string> outputs = {"y"};
  if (collects) {
    body.nodes.push_back(NodeBytes("Identity", {"next"}, {"kept"}));
    body.outputs.push_back(ValueInfo("kept", 1, dims));
    outputs.push_back("all");
  }
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"1024"})};
  graph.initializers = {Int64Tensor("trips", {}, {INT64_MAX}), RawTensor("true", 9, {}, std::string(1, '\1'))};
  graph.nodes = {NodeBytes("Loop", {"trips", "true", "x"}, outputs, {GraphAttribute("body", GraphBytes(body))})};
  for (const std::string& output : outputs) graph.outputs.push_back(Wire().Bytes(1, output));  // of any type
  return ModelBytes(graph);
}

std::string EndlessConstantLoop() {
  GraphParts body;
  body.inputs = {ValueInfo("trip", 7, {}), ValueInfo("go", 9, {}), ValueInfo("v", 1, {})};
  body.nodes = {NodeBytes("Identity", {"go"}, {"go_on"}), NodeBytes("Add", {"v", "v"}, {"next"})};
  body.outputs = {ValueInfo("go_on", 9, {}), ValueInfo("next", 1, {})};
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {})};
  graph.outputs = {ValueInfo("y", 1, {})};
  graph.initializers = {Int64Tensor("trips", {}, {INT64_MAX}), RawTensor("true", 9, {}, std::string(1, '\1')),
                        FloatTensor("one", {}, {1})};
  graph.nodes = {NodeBytes("Loop", {"trips", "true", "one"}, {"l"}, {GraphAttribute("body", GraphBytes(body))}),
                 NodeBytes("Add", {"x", "l"}, {"y"})};
  return ModelBytes(graph);
}

TEST_CASE("PtRun, EndsRunsThatNeverDoAtTheirDeadline", "[cli]") {
  const Workplace place;
  const std::string forever = place.Write("forever.onnx", EndlessLoop({NodeBytes("Relu", {"v"}, {"next"})}, {"1024"}));
  const std::string constant = place.Write("constant.onnx", EndlessConstantLoop());
  for (const std::string& model : {forever, constant}) {
    for (const std::vector<std::string>& mode : std::vector<std::vector<std::string>>{
             {}, {"--verify", "reference"}, {"--concurrency", "2"}, {"--sequential"}}) {
      const CommandResult result = RunTool("pt-run", Joined({model, "--db", "none", "--deadline", "0.3s"}, mode));
      INFO(model << ": " << result.err);
      CHECK(result.exit_code == 12);
      CHECK(result.err.find("--deadline") != std::string::npos);
    }
  }
  CHECK(RunTool("pt-run", {forever, "--deadline", "soon"}).exit_code == 2);
}

TEST_CASE("PtRun, EndsRunsThatGrowForeverAtTheirMemory", "[cli]") {
  const Workplace place;
  const std::string doubling = place.Write(
      "doubling.onnx", EndlessLoop({NodeBytes("Concat", {"v", "v"}, {"next"}, {IntAttribute("axis", 0)})}, {"n"}));
  const std::string collecting =
      place.Write("collecting.onnx", EndlessLoop({NodeBytes("Relu", {"v"}, {"next"})}, {"1024"}, true));
  for (const std::string& model : {doubling, collecting}) {
    const CommandResult result = RunTool("pt-run", {model, "--db", "none", "--run-memory", "64MiB"});
    INFO(model << ": " << result.err);
    CHECK(result.exit_code == 11);
    CHECK(result.err.find("--run-memory") != std::string::npos);
  }
}

TEST_CASE("Tools, AChainOf50000NodesIsLoadedPlannedAndRun", "[cli][slow]") {
  constexpr int kNodes = 50'000;
  const Workplace place;
  GraphParts graph;
  graph.inputs = {ValueInfo("v0", 1, {"8"})};
  for (int i = 0; i < kNodes; ++i) {
    graph.nodes.push_back(
        NodeBytes(i % 2 == 0 ? "Relu" : "Sigmoid", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
  }
  graph.outputs = {ValueInfo("v" + std::to_string(kNodes), 1, {"8"})};
  const std::string model = place.Write("chain.onnx", ModelBytes(graph));
  const CommandResult result = RunTool("pt-run", {model, "--db", "none", "--iterations", "1"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
}

}  // namespace
}  // namespace pt::testing::run_limits_test
