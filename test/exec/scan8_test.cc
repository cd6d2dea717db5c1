// Scan of opset 8, which takes batches, as what the loader makes of it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/onnx/load_onnx.h"
#include "test/testing/host_lab.h"
#include "test/testing/onnx_bytes.h"

namespace pt::testing::scan8_test {
namespace {

// Sums along the steps of each batch entry, with every step's sum; `first` names the input sequence_lens.
std::string ScanModel(const std::string& first, const std::vector<int64_t>& directions) {
  GraphParts body;
  body.name = "body";
  body.nodes = {NodeBytes("Add", {"sum", "next"}, {"more"}), NodeBytes("Identity", {"more"}, {"shown"})};
  body.inputs = {ValueInfo("sum", 1, {"2"}), ValueInfo("next", 1, {"2"})};
  body.outputs = {ValueInfo("more", 1, {"2"}), ValueInfo("shown", 1, {"2"})};
  std::vector<Wire> attributes = {GraphAttribute("body", GraphBytes(body)), IntAttribute("num_scan_inputs", 1)};
  if (!directions.empty()) attributes.push_back(IntsAttribute("directions", directions));
  GraphParts graph;
  graph.nodes = {NodeBytes("Scan", {first, "initial", "x"}, {"y", "z"}, attributes)};
  graph.inputs = {ValueInfo("initial", 1, {"2", "2"}), ValueInfo("x", 1, {"2", "3", "2"})};
  if (!first.empty()) graph.inputs.push_back(ValueInfo(first, 7, {"2"}));
  graph.outputs = {ValueInfo("y", 1, {"", ""}), ValueInfo("z", 1, {"", "", ""})};
  ModelParts model;
  model.graph = GraphBytes(graph);
  model.opsets = {{"", 8}};
  model.ir_version = 3;
  return ModelBytes(model);
}

Result<std::shared_ptr<const Graph>> Load(const std::string& bytes) {
  PT_ASSIGN(Graph graph, LoadOnnxBytes(std::as_bytes(std::span(bytes)), ""));
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace

TEST_CASE("Scan8, EntriesOfABatchAreScannedEachForItself", "[exec]") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
  for (const bool reverse : {false, true}) {
    CAPTURE(reverse);
    const auto graph = Load(ScanModel("", reverse ? std::vector<int64_t>{1} : std::vector<int64_t>{}));
    if (!graph.ok()) FAIL(ToString(graph.error()));
    HostLab lab;
    const auto session = lab.Open(*graph, 1);
    const auto results = RunOnce(*session, {Tensor::Float32({2, 2}, {0, 0, 100, 100}), Tensor::Float32({2, 3, 2}, x)});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK(std::ranges::equal((*results)[0].values<float>(), std::vector<float>{9, 12, 190, 220}));
    CHECK((*results)[1].dims() == std::vector<int64_t>{2, 3, 2});
    const std::vector<float> sums = reverse ? std::vector<float>{5, 6, 8, 10, 9, 12, 150, 160, 180, 200, 190, 220}
                                            : std::vector<float>{1, 2, 4, 6, 9, 12, 110, 120, 140, 160, 190, 220};
    CHECK(std::ranges::equal((*results)[1].values<float>(), sums));
  }
}

TEST_CASE("Scan8, EntriesOfDifferentLengthsAreRefused", "[exec]") {
  const auto graph = Load(ScanModel("lengths", {}));
  if (!graph.ok()) {
    CHECK(graph.error().code == ErrorCode::kUnsupported);
    return;
  }
  CHECK((*graph)->opset() == 8);  // left as it is: no kernel takes it
}

}  // namespace pt::testing::scan8_test
