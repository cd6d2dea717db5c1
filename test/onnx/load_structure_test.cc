// Names, order, subgraphs, functions and operators of models.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"

namespace pt::load_structure_test {
namespace {
using namespace testing;

GraphParts Unary(std::vector<Wire> nodes, const std::string& output) {
  GraphParts parts;
  parts.nodes = std::move(nodes);
  parts.inputs = {ValueInfo("x", 1, {"1", "4"})};
  parts.outputs = {ValueInfo(output, 1, {"1", "4"})};
  return parts;
}

std::vector<std::string> Ops(const pt::Graph& graph) {
  std::vector<std::string> ops;
  for (const pt::Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

Wire Branch(std::vector<Wire> nodes, const std::string& output) {
  GraphParts parts;
  parts.nodes = std::move(nodes);
  parts.outputs = {ValueInfo(output, 1, {"1", "4"})};
  return GraphBytes(parts);
}

TEST_CASE("LoadOnnx, UnsortedNodesAreSortedStably", "[onnx]") {
  const auto graph = Load(ModelBytes(Unary(
      {NodeBytes("Add", {"a", "b"}, {"y"}), NodeBytes("Tanh", {"x"}, {"b"}), NodeBytes("Relu", {"x"}, {"a"})}, "y")));
  REQUIRE(graph.ok());
  CHECK(Ops(*graph) == std::vector<std::string>{"Relu", "Tanh", "Add"});
  CHECK(graph->nodes()[0].source.at(0).index == 2);
  CHECK(graph->nodes()[0].source.at(0).first_output == "a");
}

TEST_CASE("LoadOnnx, CyclesAreListed", "[onnx]") {
  CHECK(Mentions(LoadFault(ModelBytes(Unary({NodeBytes("Add", {"x", "y"}, {"y"})}, "y"))), "onnx.cycle"));
  const std::string two = LoadFault(ModelBytes(
      Unary({NodeBytes("Add", {"x", "b"}, {"a"}, {}, "first"), NodeBytes("Relu", {"a"}, {"b"}, {}, "second")}, "b")));
  CHECK(Mentions(two, "cycle of 2"));
  CHECK(Mentions(two, "Add first (#0)"));
  CHECK(Mentions(two, "Relu second (#1)"));
  std::vector<Wire> ring;
  for (int i = 0; i < 1000; ++i)
    ring.push_back(NodeBytes("Add", {"x", "v" + std::to_string(i)}, {"v" + std::to_string((i + 1) % 1000)}));
  CHECK(Mentions(LoadFault(ModelBytes(Unary(ring, "v0"))), "cycle of 1000"));
}

TEST_CASE("LoadOnnx, CycleThroughACapturedValueIsFound", "[onnx]") {
  GraphParts parts = Unary({NodeBytes("If", {"c"}, {"i"},
                                      {GraphAttribute("then_branch", Branch({NodeBytes("Relu", {"y"}, {"t"})}, "t")),
                                       GraphAttribute("else_branch", Branch({NodeBytes("Relu", {"x"}, {"e"})}, "e"))}),
                            NodeBytes("Neg", {"i"}, {"y"})},
                           "y");
  parts.inputs.push_back(ValueInfo("c", 9, {}));
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "cycle of 2"));
}

TEST_CASE("LoadOnnx, DuplicateDefinitionsNameBoth", "[onnx]") {
  const std::string two = LoadFault(
      ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"y"}, {}, "one"), NodeBytes("Neg", {"x"}, {"y"}, {}, "two")}, "y")));
  CHECK(Mentions(two, "Relu one (#0)"));
  CHECK(Mentions(two, "Neg two (#1)"));
  CHECK(Mentions(LoadFault(ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"x"})}, "x"))), "onnx.duplicate"));
  GraphParts inputs = Unary({NodeBytes("Relu", {"x"}, {"y"})}, "y");
  inputs.inputs.push_back(ValueInfo("x", 1, {"1"}));
  CHECK(Mentions(LoadFault(ModelBytes(inputs)), "\"x\" is defined twice"));
  GraphParts initializers = Unary({NodeBytes("Add", {"x", "w"}, {"y"})}, "y");
  initializers.initializers = {FloatTensor("w", {1}, {1}), FloatTensor("w", {1}, {2})};
  CHECK(Mentions(LoadFault(ModelBytes(initializers)), "\"w\""));
  GraphParts outputs = Unary({NodeBytes("Relu", {"x"}, {"y"})}, "y");
  outputs.outputs.push_back(outputs.outputs[0]);
  CHECK(Mentions(LoadFault(ModelBytes(outputs)), "listed twice"));
}

TEST_CASE("LoadOnnx, NodeNamesMayRepeatOrBeMissing", "[onnx]") {
  const auto graph = Load(ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"a"}, {}, "n"),
                                            NodeBytes("Relu", {"a"}, {"b"}, {}, "n"), NodeBytes("Relu", {"b"}, {"y"})},
                                           "y")));
  REQUIRE(graph.ok());
  CHECK(graph->nodes()[1].name == "n");
}

TEST_CASE("LoadOnnx, MissingValuesAreNamed", "[onnx]") {
  const std::string lost = LoadFault(ModelBytes(Unary({NodeBytes("Add", {"x", "lost"}, {"y"}, {}, "sum")}, "y")));
  CHECK(Mentions(lost, "\"lost\""));
  CHECK(Mentions(lost, "Add sum"));
  CHECK(Mentions(LoadFault(ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"y"})}, "never"))), "\"never\""));
}

TEST_CASE("LoadOnnx, UnknownOperatorsAndAttributesAreRefused", "[onnx]") {
  const auto unknown = Load(ModelBytes(Unary({NodeBytes("NoSuchOp", {"x"}, {"y"}, {}, "what")}, "y")));
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::kUnsupported);
  CHECK(Mentions(unknown.error().message, "NoSuchOp"));
  CHECK(Load(ModelBytes(Unary({NodeBytes("Affine", {"x"}, {"y"})}, "y"))).error().code == ErrorCode::kUnsupported);
  CHECK(Mentions(LoadFault(ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"y"}, {}, "", "no.such.domain")}, "y"))),
                 "domain"));
  CHECK_FALSE(LoadFault(ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"y"}, {IntAttribute("bogus", 1)})}, "y"))).empty());
  CHECK_FALSE(
      LoadFault(ModelBytes(Unary({NodeBytes("Softmax", {"x"}, {"y"}, {StringAttribute("axis", "1")})}, "y"))).empty());
  CHECK_FALSE(LoadFault(ModelBytes(Unary({NodeBytes("Add", {"x"}, {"y"})}, "y"))).empty());
  CHECK_FALSE(LoadFault(ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"y", "z"})}, "y"))).empty());
  CHECK_FALSE(
      LoadFault(ModelBytes(Unary({NodeBytes("Relu", {"x"}, {"y"}, {ReferenceAttribute("alpha", "outer", 1)})}, "y")))
          .empty());
}

TEST_CASE("LoadOnnx, EinsumEquationsAreCheckedBeforeAnythingTrustsThem", "[onnx]") {
  const auto fault = [](const std::string& equation, size_t operands) {
    GraphParts parts;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < operands; ++i) {
      inputs.push_back("x" + std::to_string(i));
      parts.inputs.push_back(ValueInfo(inputs.back(), 1, {"2", "3", "3"}));
    }
    parts.nodes = {NodeBytes("Einsum", inputs, {"y"}, {StringAttribute("equation", equation)})};
    parts.outputs = {Wire().Bytes(1, "y")};
    return LoadFault(ModelBytes(parts));
  };
  CHECK(fault("...ii->...i", 1) == "");
  CHECK(fault("bij, bjk -> bik", 2) == "");
  CHECK(fault("...ij,...jk->...ik", 2) == "");
  CHECK(fault("ijk", 1) == "");
  CHECK(Mentions(fault("...ii-\x7f...i", 1), "not valid"));
  CHECK(Mentions(fault("......", 1), "not valid"));
  CHECK(Mentions(fault("..i", 1), "not valid"));
  CHECK(Mentions(fault("bij->bij->b", 1), "not valid"));
  CHECK(Mentions(fault("bij,bjk->bik", 1), "2 terms for 1 inputs"));
  CHECK(Mentions(fault("bij->...", 1), "ellipsis"));
  CHECK(Mentions(fault("bij->z", 1), "label z"));
  CHECK(Mentions(fault("bij->bb", 1), "twice"));
}

TEST_CASE("LoadOnnx, OperatorsOfAnImportedForeignDomainStay", "[onnx]") {
  ModelParts model;
  model.graph = GraphBytes(
      Unary({NodeBytes("Inverse", {"x"}, {"g"}, {}, "", "com.microsoft"), NodeBytes("Relu", {"g"}, {"y"})}, "y"));
  model.opsets = {{"", 13}, {"com.microsoft", 1}};
  LoadReport report;
  const auto graph = Load(ModelBytes(model), {}, &report);
  REQUIRE(graph.ok());
  CHECK(graph->nodes()[0].domain == "com.microsoft");
  CHECK(graph->opset() == kTargetOpset);
  CHECK(report.file_opset == 13);
  CHECK(report.warnings.empty());
}

TEST_CASE("LoadOnnx, SubgraphsTakeOuterValuesAsInputsOfTheirNode", "[onnx]") {
  GraphParts parts =
      Unary({NodeBytes("Relu", {"x"}, {"h"}),
             NodeBytes("If", {"c"}, {"i"},
                       {GraphAttribute("then_branch", Branch({NodeBytes("Mul", {"h", "w"}, {"t"})}, "t")),
                        GraphAttribute("else_branch", Branch({NodeBytes("Add", {"x", "h"}, {"e"})}, "e"))}),
             NodeBytes("Neg", {"i"}, {"y"})},
            "y");
  parts.inputs.push_back(ValueInfo("c", 9, {}));
  parts.initializers = {FloatTensor("w", {1}, {2})};
  const auto graph = Load(ModelBytes(parts));
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  const pt::Node& node = graph->nodes()[1];
  REQUIRE(node.op == "If");
  CHECK(node.formal_inputs == 1);
  // h once although both branches read it, and x; the constant w lives in the branch.
  REQUIRE(node.inputs.size() == 3);
  CHECK(graph->value(node.inputs[1]).name == "h");
  CHECK(graph->value(node.inputs[2]).name == "x");
  const pt::Graph& then_branch = *node.subgraphs.at(0).graph;
  CHECK(node.subgraphs[0].captures == std::vector<uint32_t>{1});
  CHECK(node.subgraphs[1].captures == std::vector<uint32_t>{2, 1});
  CHECK(then_branch.value(then_branch.find_value("w")).is_constant());
  CHECK(ToString(then_branch.value(then_branch.outputs()[0]).type) == "float32[1,4]");
  CHECK(ToString(graph->value(node.outputs[0]).type) == "float32[1,4]");
  CHECK(then_branch.nodes()[0].source.at(0).subgraph == "1.then_branch");
}

TEST_CASE("LoadOnnx, CapturesPassThroughNestedSubgraphs", "[onnx]") {
  const Wire inner_then = Branch({NodeBytes("Relu", {"h"}, {"tt"})}, "tt"),
             inner_else = Branch({NodeBytes("Neg", {"h"}, {"te"})}, "te");
  GraphParts parts =
      Unary({NodeBytes("Relu", {"x"}, {"h"}),
             NodeBytes("If", {"c"}, {"y"},
                       {GraphAttribute("then_branch", Branch({NodeBytes("If", {"c"}, {"t"},
                                                                        {GraphAttribute("then_branch", inner_then),
                                                                         GraphAttribute("else_branch", inner_else)})},
                                                             "t")),
                        GraphAttribute("else_branch", Branch({NodeBytes("Relu", {"x"}, {"e"})}, "e"))})},
            "y");
  parts.inputs.push_back(ValueInfo("c", 9, {}));
  const auto graph = Load(ModelBytes(parts));
  REQUIRE(graph.ok());
  const pt::Graph& outer_then = *graph->nodes()[1].subgraphs[0].graph;
  CHECK(outer_then.captured().size() == 2);  // c and h
  const pt::Node& inner = outer_then.nodes()[0];
  CHECK(inner.inputs.size() == 2);
  CHECK(ToString(graph->value(graph->outputs()[0]).type) == "float32[1,4]");
}

TEST_CASE("LoadOnnx, BranchesWithWrongOutputsAreRefused", "[onnx]") {
  GraphParts parts = Unary({NodeBytes("If", {"c"}, {"y"},
                                      {GraphAttribute("then_branch", Branch({NodeBytes("Relu", {"x"}, {"t"})}, "none")),
                                       GraphAttribute("else_branch", Branch({NodeBytes("Relu", {"x"}, {"e"})}, "e"))})},
                           "y");
  parts.inputs.push_back(ValueInfo("c", 9, {}));
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "\"none\""));
  parts.nodes = {
      NodeBytes("If", {"c"}, {"y"}, {GraphAttribute("then_branch", Branch({NodeBytes("Relu", {"x"}, {"t"})}, "t"))})};
  CHECK_FALSE(LoadFault(ModelBytes(parts)).empty());
}

Wire Call(const std::string& name, const std::string& in, const std::string& out) {
  return NodeBytes(name, {in}, {out}, {}, "", "local");
}

ModelParts WithFunctions(std::vector<FunctionParts> functions, Wire graph) {
  ModelParts model;
  model.graph = std::move(graph);
  for (const FunctionParts& function : functions) model.functions.push_back(FunctionBytes(function));
  model.opsets = {{"", 25}, {"local", 1}};
  return model;
}

FunctionParts Local(const std::string& name, std::vector<Wire> nodes) {
  FunctionParts function;
  function.domain = "local";
  function.name = name;
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.nodes = std::move(nodes);
  function.opsets = {{"", 25}, {"local", 1}};
  return function;
}

TEST_CASE("LoadOnnx, FunctionsAreExpandedWithTheirAttributes", "[onnx]") {
  FunctionParts leaky =
      Local("Leaky", {NodeBytes("LeakyRelu", {"a"}, {"b"}, {ReferenceAttribute("alpha", "slope", 1)})});
  leaky.attributes = {"slope"};
  FunctionParts twice = Local("Twice", {NodeBytes("Leaky", {"a"}, {"m"}, {FloatAttribute("slope", 0.25f)}, "", "local"),
                                        NodeBytes("Neg", {"m"}, {"b"})});
  const auto graph = Load(ModelBytes(
      WithFunctions({leaky, twice}, GraphBytes(Unary({Call("Twice", "x", "h"), Call("Twice", "h", "y")}, "y")))));
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  CHECK(Ops(*graph) == std::vector<std::string>{"LeakyRelu", "Neg", "LeakyRelu", "Neg"});
  CHECK(graph->nodes()[2].float_or("alpha", 0) == 0.25f);
  CHECK(Mentions(graph->nodes()[0].source.at(0).subgraph, "local.Leaky"));
}

TEST_CASE("LoadOnnx, RecursiveFunctionsAreRefused", "[onnx]") {
  CHECK(Mentions(LoadFault(ModelBytes(WithFunctions({Local("F", {Call("F", "a", "b")})},
                                                    GraphBytes(Unary({Call("F", "x", "y")}, "y"))))),
                 "onnx.recursion"));
  CHECK(Mentions(
      LoadFault(ModelBytes(WithFunctions({Local("F", {Call("G", "a", "b")}), Local("G", {Call("F", "a", "b")})},
                                         GraphBytes(Unary({NodeBytes("Relu", {"x"}, {"y"})}, "y"))))),
      "onnx.recursion"));
}

TEST_CASE("LoadOnnx, DoublingFunctionsAreCountedNotExpanded", "[onnx]") {
  for (const int levels : {30, 63, 64, 100}) {
    std::vector<FunctionParts> functions = {Local("F0", {NodeBytes("Relu", {"a"}, {"b"})})};
    for (int i = 1; i <= levels; ++i) {
      const std::string below = "F" + std::to_string(i - 1);
      functions.push_back(Local("F" + std::to_string(i), {Call(below, "a", "m"), Call(below, "m", "b")}));
    }
    const auto model = WithFunctions(functions, GraphBytes(Unary({Call("F" + std::to_string(levels), "x", "y")}, "y")));
    CHECK(Mentions(LoadFault(ModelBytes(model)), levels < 64 ? "nodes, over the limit of 1000000" : "2^64 or more"));
  }
}

TEST_CASE("LoadOnnx, ChainOf200FunctionsExpandsOf2000IsRefused", "[onnx]") {
  for (const int depth : {200, 2000}) {
    std::vector<FunctionParts> functions = {Local("F0", {NodeBytes("Relu", {"a"}, {"b"})})};
    for (int i = 1; i < depth; ++i)
      functions.push_back(Local("F" + std::to_string(i), {Call("F" + std::to_string(i - 1), "a", "b")}));
    const std::string fault = LoadFault(ModelBytes(
        WithFunctions(functions, GraphBytes(Unary({Call("F" + std::to_string(depth - 1), "x", "y")}, "y")))));
    if (depth == 200) {
      CHECK(fault == "");
    } else {
      CHECK(Mentions(fault, "over the limit of 256"));
    }
  }
}

TEST_CASE("LoadOnnx, ChainOfFiftyThousandAndFanOutOf65536Load", "[onnx]") {
  GraphParts chain = Unary({}, "v49999");
  for (int i = 0; i < 50'000; ++i)
    chain.nodes.push_back(NodeBytes("Relu", {i == 0 ? "x" : "v" + std::to_string(i - 1)}, {"v" + std::to_string(i)}));
  ModelParts model;
  model.graph = GraphBytes(chain);
  for (const int64_t opset : {25, 11}) {
    model.opsets = {{"", opset}};
    const auto graph = Load(ModelBytes(model));
    REQUIRE(graph.ok());
    CHECK(graph->nodes().size() == 50'000);
    CHECK(graph->value(graph->outputs()[0]).type.is_static());
  }
  GraphParts fan = Unary({}, "s");
  std::vector<std::string> all;
  for (int i = 0; i < 65'536; ++i) {
    all.push_back("v" + std::to_string(i));
    fan.nodes.push_back(NodeBytes("Relu", {"x"}, {all.back()}));
  }
  fan.nodes.push_back(NodeBytes("Sum", all, {"s"}));
  const auto graph = Load(ModelBytes(fan));
  REQUIRE(graph.ok());
  CHECK(graph->value(graph->inputs()[0]).uses.size() == 65'536);
}

}  // namespace
}  // namespace pt::load_structure_test
