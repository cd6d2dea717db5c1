// Models that say two different things, or refer to what is not there: refused with what, where and why.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"

namespace pt::model_faults_test {
namespace {
using namespace testing;

// y = x + w with w an initialiser of dims [4].
GraphParts Sum() {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"1", "4"})};
  parts.outputs = {ValueInfo("y", 1, {"1", "4"})};
  parts.initializers = {FloatTensor("w", {4}, {1, 2, 3, 4})};
  parts.nodes = {NodeBytes("Add", {"x", "w"}, {"y"})};
  return parts;
}

TEST_CASE("LoadOnnx, InitialiserDeclaredOtherwiseIsRefused", "[onnx]") {
  const Wire wrong[] = {ValueInfo("w", 1, {"5"}), ValueInfo("w", 1, {"1", "4"}), ValueInfo("w", 7, {"4"}),
                        ValueInfo("w", 1, {})};
  for (const Wire& declared : wrong) {
    for (const bool as_input : {true, false}) {
      GraphParts parts = Sum();
      (as_input ? parts.inputs : parts.value_infos).push_back(declared);
      const std::string fault = LoadFault(ModelBytes(parts));
      INFO(fault);
      CHECK(Mentions(fault, "onnx.declared_type"));
      CHECK(Mentions(fault, "initialiser \"w\" is declared as"));
      CHECK(Mentions(fault, "but is float32[4]"));
    }
  }
  GraphParts output = Sum();
  output.outputs.push_back(ValueInfo("w", 1, {"3"}));
  CHECK(Mentions(LoadFault(ModelBytes(output)), "declared as float32[3] but is float32[4]: another dim"));
}

TEST_CASE("LoadOnnx, InitialiserDeclaredAsItIsOrVaguelyLoads", "[onnx]") {
  for (const Wire& declared : {ValueInfo("w", 1, {"4"}), ValueInfo("w", 1, {"n"}), ValueInfo("w", 1, {""})}) {
    GraphParts parts = Sum();
    parts.inputs.push_back(declared);
    CHECK(LoadFault(ModelBytes(parts)) == "");
  }
}

TEST_CASE("LoadOnnx, InitialiserOfASubgraphDeclaredOtherwiseIsRefused", "[onnx]") {
  GraphParts branch;
  branch.outputs = {ValueInfo("t", 1, {"4"})};
  branch.initializers = {FloatTensor("t", {4}, {1, 2, 3, 4})};
  branch.value_infos = {ValueInfo("t", 1, {"2", "2"})};
  GraphParts other;
  other.outputs = {ValueInfo("e", 1, {"4"})};
  other.nodes = {NodeBytes("Relu", {"x"}, {"e"})};
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"4"}), ValueInfo("c", 9, {})};
  parts.outputs = {ValueInfo("y", 1, {"4"})};
  parts.nodes = {
      NodeBytes("If", {"c"}, {"y"},
                {GraphAttribute("then_branch", GraphBytes(branch)), GraphAttribute("else_branch", GraphBytes(other))})};
  CHECK(LoadFault(ModelBytes(parts)) != "");
  branch.value_infos.clear();
  parts.nodes = {
      NodeBytes("If", {"c"}, {"y"},
                {GraphAttribute("then_branch", GraphBytes(branch)), GraphAttribute("else_branch", GraphBytes(other))})};
  CHECK(LoadFault(ModelBytes(parts)) == "");
}

TEST_CASE("LoadOnnx, ConstantDeclaredOfAnotherTypeIsRefused", "[onnx]") {
  GraphParts parts = Sum();
  parts.initializers.clear();
  parts.nodes.insert(parts.nodes.begin(),
                     NodeBytes("Constant", {}, {"w"}, {TensorAttribute("value", FloatTensor("", {4}, {1, 2, 3, 4}))}));
  CHECK(LoadFault(ModelBytes(parts)) == "");
  parts.value_infos = {ValueInfo("w", 7, {"4"})};
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "declared as int64[4] but is float32[4]"));
}

TEST_CASE("LoadOnnx, GraphWithoutOutputsIsRefused", "[onnx]") {
  GraphParts parts = Sum();
  parts.outputs.clear();
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "onnx.no_outputs"));
}

TEST_CASE("LoadOnnx, AttributeReferenceOutsideAFunctionIsRefused", "[onnx]") {
  GraphParts parts = Sum();
  parts.initializers.clear();
  parts.nodes.insert(parts.nodes.begin(),
                     NodeBytes("Constant", {}, {"w"}, {ReferenceAttribute("value_float", "v", 1)}));
  const std::string fault = LoadFault(ModelBytes(parts));
  INFO(fault);
  CHECK(Mentions(fault, "attribute value_float refers to attribute \"v\" of a function"));
  CHECK(Mentions(fault, "Constant w (#0)"));

  GraphParts cast = Sum();
  cast.nodes = {NodeBytes("Add", {"x", "w"}, {"s"}),
                NodeBytes("LeakyRelu", {"s"}, {"y"}, {ReferenceAttribute("alpha", "a", 1)})};
  CHECK(Mentions(LoadFault(ModelBytes(cast)), "LeakyRelu y (#1)"));
}

TEST_CASE("LoadOnnx, AttributeReferenceToNoAttributeOfTheFunctionIsRefused", "[onnx]") {
  FunctionParts function;
  function.domain = "local";
  function.name = "Leaky";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.nodes = {NodeBytes("LeakyRelu", {"a"}, {"b"}, {ReferenceAttribute("alpha", "slope", 1)})};
  ModelParts model;
  GraphParts graph = Sum();
  graph.nodes = {NodeBytes("Add", {"x", "w"}, {"s"}), NodeBytes("Leaky", {"s"}, {"y"}, {}, "", "local")};
  model.graph = GraphBytes(graph);
  model.opsets = {{"", 25}, {"local", 1}};
  model.functions = {FunctionBytes(function)};
  CHECK(Mentions(LoadFault(ModelBytes(model)), "which function Leaky does not have"));
  function.attributes = {"slope"};
  model.functions = {FunctionBytes(function)};
  CHECK(LoadFault(ModelBytes(model)) == "");
}

TEST_CASE("LoadOnnx, UnknownChoicesOfAttributesAreRefused", "[onnx]") {
  const auto fault = [](const std::string& op, const std::string& attribute, const std::string& value) {
    GraphParts parts;
    parts.inputs = {ValueInfo("x", 1, {"1", "4", "8", "8"})};
    parts.outputs = {Wire().Bytes(1, "y")};
    std::vector<Wire> attributes = {StringAttribute(attribute, value)};
    if (op == "MaxPool") attributes.push_back(IntsAttribute("kernel_shape", {2, 2}));
    if (op == "DepthToSpace") attributes.push_back(IntAttribute("blocksize", 2));
    parts.nodes = {NodeBytes(op, {"x"}, {"y"}, attributes)};
    return LoadFault(ModelBytes(parts));
  };
  const std::string pool = fault("MaxPool", "auto_pad", "SAME");
  INFO(pool);
  CHECK(Mentions(pool, "unknown auto_pad \"SAME\" of MaxPool; expected one of NOTSET, SAME_UPPER, SAME_LOWER, VALID"));
  CHECK(Mentions(pool, "MaxPool y (#0)"));
  CHECK(fault("MaxPool", "auto_pad", "SAME_UPPER") == "");
  CHECK(fault("MaxPool", "auto_pad", "") == "");
  CHECK(Mentions(fault("DepthToSpace", "mode", "CDR"), "unknown mode \"CDR\""));
  CHECK(Mentions(fault("Gelu", "approximate", "erf"), "unknown approximate \"erf\""));
}

}  // namespace
}  // namespace pt::model_faults_test
