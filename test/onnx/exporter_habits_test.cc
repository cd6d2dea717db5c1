// What exporters write beside the standard, each rebuilt: it loads where it is clear what is meant, with a warning.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/onnx/infer_shapes.h"
#include "test/onnx/contrib_lab.h"

namespace pt::exporter_habits_test {
namespace {
using namespace testing;

// y = MatMul(x, w); x [n,1,3].
GraphParts Product(const Wire& output) {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"n", "1", "3"})};
  parts.initializers = {FloatTensor("w", {3, 2}, {1, 2, 3, 4, 5, 6})};
  parts.nodes = {NodeBytes("MatMul", {"x", "w"}, {"y"})};
  parts.outputs = {output};
  return parts;
}

struct Loaded {
  Graph graph;
  std::vector<std::string> warnings;
};

Loaded MustLoad(const std::string& bytes) {
  LoadReport report;
  Result<Graph> graph = Load(bytes, {}, &report);
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  return {std::move(*graph), report.warnings};
}

bool Warns(const Loaded& loaded, const std::string& of) {
  for (const std::string& warning : loaded.warnings) {
    if (Mentions(warning, of)) return true;
  }
  return false;
}

std::string At(int64_t opset, const GraphParts& parts, std::vector<std::pair<std::string, int64_t>> others = {}) {
  ModelParts model;
  model.graph = GraphBytes(parts);
  model.opsets = {{"", opset}};
  for (auto& other : others) model.opsets.push_back(other);
  return ModelBytes(model);
}

}  // namespace

TEST_CASE("LoadOnnx, OutputsOfAnotherRankAreAWarning", "[onnx]") {
  for (const auto& dims : std::vector<std::vector<std::string>>{{}, {"1", "seqlen"}, {"n", "1", "2", "1"}}) {
    const Loaded loaded = MustLoad(ModelBytes(Product(ValueInfo("y", 1, dims))));
    CHECK(Warns(loaded, "value \"y\" is declared as"));
    CHECK(ToString(loaded.graph.value(loaded.graph.outputs()[0]).type) == "float32[n,1,2]");
  }
  CHECK(MustLoad(ModelBytes(Product(ValueInfo("y", 1, {"n", "1", "2"})))).warnings.empty());
  // Another element type is another value.
  CHECK(Mentions(LoadFault(ModelBytes(Product(ValueInfo("y", 7, {"n", "1", "2"})))), "another element type"));
}

TEST_CASE("LoadOnnx, ValuesOfAnotherRankAreAWarning", "[onnx]") {
  GraphParts parts = Product(ValueInfo("z", 1, {}));
  parts.nodes.push_back(NodeBytes("Relu", {"y"}, {"z"}));
  parts.value_infos = {ValueInfo("y", 1, {"4"})};
  const Loaded loaded = MustLoad(ModelBytes(parts));
  CHECK(Warns(loaded, "value \"y\" is declared as float32[4] but is float32[n,1,2]"));
  CHECK(Warns(loaded, "value \"z\""));
}

// Operators of old opsets are converted by the ranks of their inputs: those that hold, not those that are declared.
TEST_CASE("LoadOnnx, DeclaredRanksDoNotMisleadConversion", "[onnx]") {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    GraphParts parts;
    parts.inputs = {ValueInfo("x", 1, {"2", "3", "4"})};
    parts.nodes = {NodeBytes("Neg", {"x"}, {"h"}), NodeBytes(op, {"h"}, {"y"})};
    parts.outputs = {ValueInfo("y", 1, {"2", "3", "4"})};
    const Tensor x = Cycle({2, 3, 4}, -1, 0.25f, 7, 24);
    const std::vector<Tensor> expected = RunOnReference(MustLoad(At(11, parts)).graph, {{x}});
    parts.value_infos = {ValueInfo("h", 1, {"2", "12"})};
    parts.outputs = {ValueInfo("y", 1, {})};
    const Loaded loaded = MustLoad(At(11, parts));
    CHECK(Warns(loaded, "value \"h\""));
    CHECK(RunOnReference(loaded.graph, {{x}})[0].content_hash() == expected[0].content_hash());
    CHECK(expected[0].dims() == std::vector<int64_t>{2, 3, 4});
  }
}

// What the branches of If declare is a hint, too.
TEST_CASE("LoadOnnx, OutputsOfBranchesOfAnotherRankLoad", "[onnx]") {
  const auto branch = [](const char* op, const std::string& out) {
    GraphParts parts;
    parts.nodes = {NodeBytes(op, {"x"}, {out})};
    parts.outputs = {ValueInfo(out, 1, {})};
    return GraphBytes(parts);
  };
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2", "3"}), ValueInfo("c", 9, {})};
  parts.nodes = {NodeBytes(
      "If", {"c"}, {"y"},
      {GraphAttribute("then_branch", branch("Relu", "t")), GraphAttribute("else_branch", branch("Neg", "e"))})};
  parts.outputs = {ValueInfo("y", 1, {"2", "3"})};
  for (const int64_t opset : {11, 25}) {
    const Loaded loaded = MustLoad(At(opset, parts));
    CHECK(ToString(loaded.graph.value(loaded.graph.outputs()[0]).type) == "float32[2,3]");
  }
}

TEST_CASE("LoadOnnx, InitialisersGivenTwiceAreAWarningWhereTheyAreEqual", "[onnx]") {
  GraphParts parts = Product(ValueInfo("y", 1, {"n", "1", "2"}));
  parts.initializers.push_back(parts.initializers[0]);
  CHECK(Warns(MustLoad(ModelBytes(parts)), "initialiser \"w\" of graph \"g\" is given twice, as #0 and as #1"));
  parts.initializers[1] = FloatTensor("w", {3, 2}, {1, 2, 3, 4, 5, 7});
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "given twice, as #0 and as #1, with different data"));
  parts.initializers[1] = FloatTensor("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "with different data"));
}

TEST_CASE("LoadOnnx, ConstantsDefinedTwiceAreAWarningWhereTheyAreEqual", "[onnx]") {
  const auto constant = [](const std::vector<float>& values) {
    return NodeBytes("Constant", {}, {"w"}, {TensorAttribute("value", FloatTensor("", {3, 2}, values))});
  };
  const std::vector<float> same = {1, 2, 3, 4, 5, 6}, other = {1, 2, 3, 4, 5, 7};
  GraphParts parts = Product(ValueInfo("y", 1, {"n", "1", "2"}));
  parts.nodes.push_back(constant(same));
  CHECK(Warns(MustLoad(ModelBytes(parts)), "constant \"w\" is defined twice, as initialiser and as Constant w (#1)"));
  parts.nodes.back() = constant(other);
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "with different values"));
  parts.initializers.clear();
  parts.nodes.back() = constant(same);
  parts.nodes.push_back(constant(same));
  CHECK(Warns(MustLoad(ModelBytes(parts)), "as Constant w (#1) and as Constant w (#2); the values are the same"));
  parts.nodes.back() = constant(other);
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "as Constant w (#1) and as Constant w (#2), with different values"));
  // What is computed twice stays an error.
  parts.nodes.back() = NodeBytes("Relu", {"x"}, {"w"});
  CHECK(Mentions(LoadFault(ModelBytes(parts)), "defined twice"));
}

TEST_CASE("LoadOnnx, OperatorsOfOnnxRuntimeNeedNoImport", "[onnx]") {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2", "3"})};
  parts.nodes = {NodeBytes("QuickGelu", {"x"}, {"y"}, {}, "", "com.microsoft")};
  parts.outputs = {ValueInfo("y", 1, {"2", "3"})};
  const std::string with = At(17, parts, {{"com.microsoft", 1}}), without = At(17, parts);
  CHECK(MustLoad(with).warnings.empty());
  const Loaded loaded = MustLoad(without);
  CHECK(Warns(loaded, "the model does not import domain com.microsoft; version 1 is taken"));
  const Tensor x = Floats({2, 3}, {-2, -1, 0, 1, 2, 3});
  CHECK(RunOnReference(loaded.graph, {{x}})[0].content_hash() ==
        RunOnReference(MustLoad(with).graph, {{x}})[0].content_hash());
}

TEST_CASE("LoadOnnx, DomainsMayBeImportedTwiceWithOneVersion", "[onnx]") {
  const GraphParts parts = Product(ValueInfo("y", 1, {"n", "1", "2"}));
  for (const std::string domain : {"", "ai.onnx"}) {
    CHECK(MustLoad(At(17, parts, {{"ai.onnx.ml", 3}, {domain, 17}, {"ai.onnx.ml", 3}})).warnings.empty());
    CHECK(Mentions(LoadFault(At(17, parts, {{domain, 18}})),
                   "domain ai.onnx is imported with opset 17 and with opset 18"));
  }
}

TEST_CASE("LoadOnnx, OtherDomainsNeedAnImportWhereVersionsDiffer", "[onnx]") {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2", "3"})};
  parts.nodes = {NodeBytes("Binarizer", {"x"}, {"y"}, {FloatAttribute("threshold", 0.5f)}, "", "ai.onnx.ml")};
  parts.outputs = {ValueInfo("y", 1, {"2", "3"})};
  CHECK(Warns(MustLoad(At(17, parts)), "does not import domain ai.onnx.ml"));
  parts.inputs = {ValueInfo("x", 7, {"2"})};
  parts.nodes = {NodeBytes("LabelEncoder", {"x"}, {"y"},
                           {IntsAttribute("keys_int64s", {1, 2}), IntsAttribute("values_int64s", {3, 4})}, "",
                           "ai.onnx.ml")};
  parts.outputs = {ValueInfo("y", 7, {"2"})};
  CHECK(Mentions(LoadFault(At(17, parts)), "LabelEncoder has several versions there"));
  ModelParts model;
  model.graph = GraphBytes(Product(ValueInfo("y", 1, {"n", "1", "2"})));
  model.opsets = {{"com.microsoft", 1}};
  CHECK(Mentions(LoadFault(ModelBytes(model)), "does not import domain ai.onnx"));
}

// Scale and bias are of groups there; later of channels.
TEST_CASE("LoadOnnx, GroupNormalizationOfOpset18IsOfGroups", "[onnx]") {
  GraphParts parts;
  for (const bool known : {true, false}) {
    parts.inputs = {ValueInfo("x", 1, {"1", known ? "4" : "c", "2"})};
    parts.initializers = {FloatTensor("s", {2}, {2, -1}), FloatTensor("b", {2}, {0.5f, 10})};
    parts.nodes = {NodeBytes("GroupNormalization", {"x", "s", "b"}, {"y"}, {IntAttribute("num_groups", 2)})};
    parts.outputs = {Wire().Bytes(1, "y")};
    for (const int64_t opset : {18, 20}) {
      const Loaded loaded = MustLoad(At(opset, parts));
      CHECK(loaded.graph.opset() == kTargetOpset);
      // Both groups: mean 1.5, variance 1.25 and 5.
      const Tensor x = Floats({1, 4, 2}, {0, 1, 2, 3, -1.5f, 0.5f, 2.5f, 4.5f});
      const float a = 1 / std::sqrt(1.25f + 1e-5f), c = 1 / std::sqrt(5.0f + 1e-5f);
      CheckNear(RunOnReference(InferShapes(loaded.graph, {{}, {{"x", {1, 4, 2}}}}).value(), {{x}})[0], {1, 4, 2},
                {-3 * a + 0.5f, -a + 0.5f, a + 0.5f, 3 * a + 0.5f, 3 * c + 10, c + 10, -c + 10, -3 * c + 10});
    }
  }
  parts.nodes = {NodeBytes("GroupNormalization", {"x", "s", "b"}, {"y"}, {IntAttribute("num_groups", 2)})};
  parts.inputs = {ValueInfo("x", 1, {"1", "4", "2"})};
  parts.initializers = {FloatTensor("s", {4}, {2, -1, 1, 1}), FloatTensor("b", {4}, {0, 1, 2, 3})};
  CHECK_FALSE(MustLoad(At(21, parts)).graph.nodes().empty());
}

// Exporters leave out what Resize does not read; the standard lets them from opset 13 on.
TEST_CASE("LoadOnnx, ResizeOfOpset11NeedsNoRoi", "[onnx]") {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"1", "1", "2", "2"})};
  parts.initializers = {FloatTensor("scales", {4}, {1, 1, 2, 2}), Int64Tensor("sizes", {4}, {1, 1, 4, 4})};
  parts.outputs = {Wire().Bytes(1, "y")};
  const std::vector<std::vector<std::string>> given = {{"x", "", "scales"}, {"x", "", "", "sizes"}};
  for (const auto& inputs : given) {
    for (const int64_t opset : {11, 12, 13, 19}) {
      parts.nodes = {NodeBytes("Resize", inputs, {"y"}, {StringAttribute("mode", "nearest")})};
      CheckNear(RunOnReference(MustLoad(At(opset, parts)).graph, {{Floats({1, 1, 2, 2}, {1, 2, 3, 4})}})[0],
                {1, 1, 4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
    }
  }
  // What is read must be there.
  parts.nodes = {NodeBytes("Resize", {"x", "", "scales"}, {"y"},
                           {StringAttribute("coordinate_transformation_mode", "tf_crop_and_resize")})};
  CHECK_FALSE(LoadFault(At(11, parts)).empty());
}

}  // namespace pt::exporter_habits_test
