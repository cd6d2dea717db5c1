// Nested graphs as exporters write them beside the standard: values that have the name of a value around them, and
// carried values of other dims than the body declares.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/host_lab.h"
#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"

namespace pt::testing::exporter_graphs_test {
namespace {

Wire Branch(std::vector<Wire> nodes, const std::string& output) {
  GraphParts parts;
  parts.nodes = std::move(nodes);
  parts.outputs = {ValueInfo(output, 1, {})};
  return GraphBytes(parts);
}

// y = If(c) of the two branches, behind h = Relu(x).
GraphParts Choice(const Wire& then_branch, const Wire& else_branch) {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2"}), ValueInfo("c", 9, {})};
  parts.nodes = {NodeBytes("Relu", {"x"}, {"h"}),
                 NodeBytes("If", {"c"}, {"y"},
                           {GraphAttribute("then_branch", then_branch), GraphAttribute("else_branch", else_branch)})};
  parts.outputs = {ValueInfo("y", 1, {"2"})};
  return parts;
}

// Fills `warnings` with those of loading.
std::vector<float> Run(const GraphParts& parts, const std::vector<Tensor>& inputs, std::vector<std::string>& warnings) {
  LoadReport report;
  Result<Graph> graph = Load(ModelBytes(parts), {}, &report);
  if (!graph.ok()) FAIL(ToString(graph.error()));
  warnings = report.warnings;
  HostLab lab;
  const auto session = lab.Open(std::make_shared<const Graph>(std::move(*graph)), 1);
  const auto results = RunOnce(*session, inputs);
  if (!results.ok()) FAIL(ToString(results.error()));
  return {(*results)[0].values<float>().begin(), (*results)[0].values<float>().end()};
}

Tensor Pair(float first, float second) { return Tensor::Float32({2}, {first, second}); }

const Tensor kTrue = Tensor::FromBytes(DataType::kBool, {}, std::string(1, '\1')).value();

}  // namespace

TEST_CASE("ExporterGraphs, BranchesReadTheirOwnOfTwoValuesOfOneName", "[exec]") {
  const Wire other = Branch({NodeBytes("Relu", {"x"}, {"e"})}, "e");
  std::vector<std::string> warnings;
  for (const std::string name : {"x", "h"}) {
    const GraphParts parts =
        Choice(Branch({NodeBytes("Exp", {"c_"}, {name}), NodeBytes("Add", {name, name}, {"t"})}, "t"), other);
    GraphParts with = parts;
    with.inputs.push_back(ValueInfo("c_", 1, {"2"}));
    const Tensor x = Pair(-1, 3), zero = Pair(0, 0);
    CHECK(Run(with, {x, kTrue, zero}, warnings) == std::vector<float>{2, 2});
    REQUIRE(warnings.size() == 1);
    CHECK(Mentions(warnings[0], "value \"" + name + "\" of subgraph then_branch"));
    CHECK(Mentions(warnings[0], "the inner one is read"));
  }
}

// The output of the branch hides, and a graph within the branch reads what the branch means.
TEST_CASE("ExporterGraphs, GraphsWithinReadTheInnermostValueOfAName", "[exec]") {
  const Wire other = Branch({NodeBytes("Relu", {"x"}, {"e"})}, "e");
  const Wire reads = Branch({NodeBytes("Neg", {"h"}, {"r"})}, "r");
  const Wire hides = Branch({NodeBytes("Abs", {"x"}, {"h_"}), NodeBytes("Add", {"h_", "h_"}, {"h"})}, "h");
  std::vector<std::string> warnings;
  const auto then_of = [&](const Wire& inner) {
    return Branch({NodeBytes("Neg", {"x"}, {"h"}),
                   NodeBytes("If", {"c"}, {"i"},
                             {GraphAttribute("then_branch", inner),
                              GraphAttribute("else_branch", Branch({NodeBytes("Relu", {"x"}, {"q"})}, "q"))}),
                   NodeBytes("Add", {"i", "h"}, {"t"})},
                  "t");
  };
  const Tensor x = Pair(-1, 3);
  CHECK(Run(Choice(then_of(reads), other), {x, kTrue}, warnings) == std::vector<float>{0, 0});
  CHECK(warnings.size() == 1);
  CHECK(Run(Choice(then_of(hides), other), {x, kTrue}, warnings) == std::vector<float>{3, 3});
  CHECK(warnings.size() == 2);
}

// PaddlePaddle's loops carry weights under the names that these have outside.
TEST_CASE("ExporterGraphs, LoopsCarryValuesUnderTheNamesThatTheyHaveOutside", "[exec]") {
  GraphParts body;
  body.inputs = {ValueInfo("i", 7, {}), ValueInfo("go", 9, {}), ValueInfo("w", 1, {"2"}), ValueInfo("x", 1, {"2"})};
  body.nodes = {NodeBytes("Add", {"x", "w"}, {"next"}), NodeBytes("Identity", {"go"}, {"on"})};
  body.outputs = {ValueInfo("on", 9, {}), ValueInfo("w", 1, {"2"}), ValueInfo("next", 1, {"2"})};
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2"})};
  parts.initializers = {FloatTensor("w", {2}, {1, 10})};
  parts.nodes = {
      NodeBytes("Constant", {}, {"trips"}, {TensorAttribute("value", Int64Tensor("", {}, {3}))}),
      NodeBytes("Loop", {"trips", "", "w", "x"}, {"w_last", "x_last"}, {GraphAttribute("body", GraphBytes(body))}),
      NodeBytes("Add", {"x_last", "w"}, {"y"})};
  parts.outputs = {ValueInfo("y", 1, {"2"})};
  std::vector<std::string> warnings;
  CHECK(Run(parts, {Pair(0, 5)}, warnings) == std::vector<float>{4, 45});
  REQUIRE(warnings.size() == 1);
  CHECK(Mentions(warnings[0], "value \"w\" and 1 more of subgraph body of node Loop"));
}

// PaddlePaddle's loops declare scalars and hand on one element.
TEST_CASE("ExporterGraphs, LoopsCarryOtherDimsThanTheyDeclare", "[exec]") {
  GraphParts body;
  body.inputs = {ValueInfo("i", 7, {}), ValueInfo("go", 9, {}), ValueInfo("s", 1, {})};
  body.nodes = {NodeBytes("Constant", {}, {"one"}, {TensorAttribute("value", FloatTensor("", {1}, {1}))}),
                NodeBytes("Add", {"s", "one"}, {"more"}), NodeBytes("Identity", {"go"}, {"on"})};
  body.outputs = {ValueInfo("on", 9, {}), ValueInfo("more", 1, {})};
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2"}), ValueInfo("trips", 7, {})};
  parts.nodes = {NodeBytes("Constant", {}, {"zero"}, {TensorAttribute("value", FloatTensor("", {}, {0}))}),
                 NodeBytes("Loop", {"trips", "", "zero"}, {"last"}, {GraphAttribute("body", GraphBytes(body))}),
                 NodeBytes("Add", {"x", "last"}, {"y"})};
  parts.outputs = {ValueInfo("y", 1, {"2"})};
  std::vector<std::string> warnings;
  for (const int64_t trips : {0, 1, 5}) {
    const Tensor count = Tensor::Of<int64_t>(DataType::kInt64, {}, std::vector<int64_t>{trips});
    const auto more = static_cast<float>(trips);
    CHECK(Run(parts, {Pair(1, 2), count}, warnings) == std::vector<float>{1 + more, 2 + more});
  }
}

}  // namespace pt::testing::exporter_graphs_test
