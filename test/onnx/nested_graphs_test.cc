// How many values nested graphs take and give.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"

namespace pt::nested_graphs_test {
namespace {
using namespace testing;

// A graph that gives `outputs` sums of x and itself, with inputs of these names.
Wire Nested(const std::vector<std::string>& inputs, int outputs, bool condition_first = false) {
  GraphParts parts;
  for (const std::string& input : inputs) {
    const bool is_count = input == "trip", is_condition = input == "go";
    parts.inputs.push_back(is_count || is_condition ? ValueInfo(input, is_count ? 7 : 9, {})
                                                    : ValueInfo(input, 1, {"4"}));
  }
  if (condition_first) {
    parts.nodes.push_back(NodeBytes("Identity", {"go"}, {"go_on"}));
    parts.outputs.push_back(ValueInfo("go_on", 9, {}));
  }
  for (int i = 0; i < outputs; ++i) {
    const std::string name = "o" + std::to_string(i);
    parts.nodes.push_back(NodeBytes("Add", {"x", "x"}, {name}));
    parts.outputs.push_back(ValueInfo(name, 1, {"4"}));
  }
  return GraphBytes(parts);
}

std::string Model(const Wire& node, const std::vector<std::string>& outputs, int64_t opset = 25) {
  GraphParts parts;
  parts.nodes = {node};
  parts.inputs = {ValueInfo("x", 1, {"4"}), ValueInfo("trips", 7, {}), ValueInfo("c", 9, {})};
  for (const std::string& output : outputs) parts.outputs.push_back(Wire().Bytes(1, output));  // of any type
  ModelParts model;
  model.graph = GraphBytes(parts);
  model.opsets = {{"", opset}};
  return ModelBytes(model);
}

std::string IfFault(const Wire& then_branch, const Wire& else_branch, const std::vector<std::string>& outputs) {
  return LoadFault(Model(
      NodeBytes("If", {"c"}, outputs,
                {GraphAttribute("then_branch", then_branch), GraphAttribute("else_branch", else_branch)}, "choice"),
      outputs));
}

TEST_CASE("LoadOnnx, BranchesTakeNothingAndGiveWhatTheIfGives", "[onnx]") {
  CHECK(IfFault(Nested({}, 1), Nested({}, 1), {"y"}).empty());
  CHECK(IfFault(Nested({}, 2), Nested({}, 2), {"y", "z"}).empty());
  const std::string taking = IfFault(Nested({"extra"}, 1), Nested({}, 1), {"y"});
  CHECK(Mentions(taking, "onnx.nested_graph"));
  CHECK(Mentions(taking, "then_branch of If has 1 input; expected none"));
  CHECK(Mentions(taking, "choice"));
  CHECK(Mentions(IfFault(Nested({}, 1), Nested({"a", "b"}, 1), {"y"}), "else_branch of If has 2 inputs"));
  CHECK(Mentions(IfFault(Nested({}, 2), Nested({}, 1), {"y"}), "then_branch of If has 2 outputs; expected 1"));
  CHECK(Mentions(IfFault(Nested({}, 1), Nested({}, 0), {"y"}), "else_branch"));
  CHECK(Mentions(IfFault(Nested({}, 1), Nested({}, 1), {"y", "z"}), "expected 2 for the node's 2 outputs"));
}

TEST_CASE("LoadOnnx, BranchesWithinBranchesAreHeldToTheirCounts", "[onnx]") {
  GraphParts outer;
  outer.nodes = {
      NodeBytes("If", {"c"}, {"o"},
                {GraphAttribute("then_branch", Nested({"extra"}, 1)), GraphAttribute("else_branch", Nested({}, 1))})};
  outer.outputs = {ValueInfo("o", 1, {"4"})};
  CHECK(Mentions(IfFault(GraphBytes(outer), Nested({}, 1), {"y"}), "onnx.nested_graph"));
}

TEST_CASE("LoadOnnx, BodiesOfLoopsTakeAndGiveWhatTheLoopDoes", "[onnx]") {
  const auto fault = [](const Wire& body, const std::vector<std::string>& outputs) {
    return LoadFault(Model(NodeBytes("Loop", {"trips", "c", "x"}, outputs, {GraphAttribute("body", body)}), outputs));
  };
  CHECK(fault(Nested({"trip", "go", "v"}, 1, true), {"y"}).empty());
  CHECK(fault(Nested({"trip", "go", "v"}, 2, true), {"y", "scanned"}).empty());
  CHECK(Mentions(fault(Nested({"trip", "go"}, 1, true), {"y"}), "body of Loop has 2 inputs; expected 3"));
  CHECK(Mentions(fault(Nested({"trip", "go", "v", "w"}, 1, true), {"y"}), "has 4 inputs"));
  CHECK(Mentions(fault(Nested({"trip", "go", "v"}, 2, true), {"y"}), "body of Loop has 3 outputs; expected 2"));
  CHECK(Mentions(fault(Nested({"trip", "go", "v"}, 0, true), {"y"}), "has 1 output"));
}

TEST_CASE("LoadOnnx, BodiesOfScansTakeAndGiveWhatTheScanDoes", "[onnx]") {
  const auto fault = [](const std::vector<std::string>& inputs, const Wire& body, int64_t opset) {
    return LoadFault(
        Model(NodeBytes("Scan", inputs, {"y"}, {GraphAttribute("body", body), IntAttribute("num_scan_inputs", 1)}),
              {"y"}, opset));
  };
  CHECK(fault({"x"}, Nested({"s"}, 1), 25).empty());
  CHECK(Mentions(fault({"x"}, Nested({"s", "t"}, 1), 25), "body of Scan has 2 inputs; expected 1"));
  CHECK(Mentions(fault({"x"}, Nested({"s"}, 2), 25), "has 2 outputs"));
  // The first version has the lengths of sequences before all else.
  CHECK(Mentions(fault({"", "x"}, Nested({"s", "t"}, 1), 8), "expected 1"));
}

}  // namespace
}  // namespace pt::nested_graphs_test
