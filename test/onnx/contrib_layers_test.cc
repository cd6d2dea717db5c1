// Gelu and normalisation as ONNX Runtime has them. Expected numbers are its own, of version 1.32 without optimisation,
// with the same inputs.
#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_layers_test {
namespace {

const Tensor kX = Floats({2, 3}, {-2, -0.5F, 0, 0.5F, 1, 3}), kBias = Floats({3}, {0.5F, -1, 0.25F});

TEST_CASE("Contrib, GeluInItsForms", "[onnx]") {
  CheckNear(Results({"Gelu", {kX}})[0], {2, 3}, {-0.045500278F, -0.15426877F, 0, 0.34573123F, 0.84134471F, 2.9959502F});
  CheckNear(Results({"BiasGelu", {kX, kBias}})[0], {2, 3},
            {-0.10021082F, -0.10021082F, 0.14967658F, 0.84134471F, 0, 3.2481246F});
  CheckNear(Results({"FastGelu", {kX}})[0], {2, 3}, {-0.045402348F, -0.154286F, 0, 0.345714F, 0.84119201F, 2.9963627F});
  CheckNear(Results({"FastGelu", {kX, Constant(kBias)}})[0], {2, 3},
            {-0.10042843F, -0.10042843F, 0.14967535F, 0.84119201F, 0, 3.2484314F});
  CheckNear(Results({"QuickGelu", {kX}})[0], {2, 3},
            {-0.064341366F, -0.14961158F, 0, 0.35038841F, 0.84579575F, 2.9819288F});
  CheckNear(Results({"QuickGelu", {kX}, {FloatAttribute("alpha", 2)}})[0], {2, 3},
            {-0.035972476F, -0.13447072F, 0, 0.3655293F, 0.88079709F, 2.9925821F});
}

Tensor Halves(std::vector<int64_t> dims, const std::vector<uint16_t>& bits) {
  return Tensor::Of<uint16_t>(DataType::kFloat16, std::move(dims), bits);
}

// ONNX Runtime has no kernel of 16 bits for it, so that its definition runs, in which an Add broadcasts.
TEST_CASE("Contrib, FastGeluOfHalvesTakesABiasOfAnyDims", "[onnx]") {
  const Tensor x = Halves({2, 2}, {0x3C00, 0x4000, 0x4200, 0xBC00});  // 1, 2, 3, -1
  const Tensor by_row = Results({"FastGelu", {x, Halves({2, 1}, {0xBC00, 0x3C00})}})[0];
  const Tensor by_element = Results({"FastGelu", {x, Halves({2, 2}, {0xBC00, 0xBC00, 0x3C00, 0x3C00})}})[0];
  CHECK(by_row.dims() == std::vector<int64_t>{2, 2});
  const uint16_t expected[] = {0, 0x3ABB, 0x4400, 0};  // Gelu of 0, 1, 4 and 0
  for (size_t i = 0; i < std::size(expected); ++i) {
    CHECK(by_row.values<uint16_t>()[i] == expected[i]);
    CHECK(by_element.values<uint16_t>()[i] == expected[i]);
  }
}

const Tensor kRows = Floats({1, 2, 3}, {1, 2, 4, -1, 0, 3}), kSkip = Floats({2, 3}, {0.5F, 0.5F, -1, 2, 1, 0}),
             kGamma = Floats({3}, {1, 2, 0.5F}), kBeta = Floats({3}, {0, 0.5F, -1}),
             kRowBias = Floats({3}, {0.1F, 0.2F, 0.3F});
const std::vector<float> kSum = {1.6F, 2.7F, 3.3F, 1.1F, 1.2F, 3.3F};

TEST_CASE("Contrib, SkipLayerNormalizationGivesOutItsSum", "[onnx]") {
  const auto all = Results({"SkipLayerNormalization",
                            {kRows, kSkip, kGamma, kBeta, kRowBias},
                            {FloatAttribute("epsilon", 0.1F)},
                            {"y", "", "", "sum"}});
  CheckNear(all[0], {1, 2, 3}, {-1.2094158F, 0.93193448F, -0.50327563F, -0.72157431F, -0.75491178F, -0.32548505F});
  CheckNear(all[1], {1, 2, 3}, kSum);
  CheckNear(Results({"SkipLayerNormalization", {kRows, kSkip, kGamma}})[0], {1, 2, 3},
            {-1.336306F, 0.53452271F, 0.53452253F, -0.70710689F, -1.4142138F, 0.70710677F});
}

TEST_CASE("Contrib, NormalizationWithoutAMean", "[onnx]") {
  const std::vector<Wire> epsilon = {FloatAttribute("epsilon", 0.1F)};
  const auto all =
      Results({"SkipSimplifiedLayerNormalization", {kRows, kSkip, kGamma, kRowBias}, epsilon, {"y", "", "", "sum"}});
  CheckNear(all[0], {1, 2, 3}, {0.60416806F, 2.039067F, 0.62304825F, 0.51213604F, 1.1173877F, 0.76820397F});
  CheckNear(all[1], {1, 2, 3}, kSum);
  // ONNX Runtime writes this one into the default domain.
  for (const char* domain : {"", "com.microsoft"}) {
    CheckNear(Results({"SimplifiedLayerNormalization", {kRows, kGamma}, epsilon, {"y"}, domain})[0], {1, 2, 3},
              {0.37529331F, 1.5011733F, 0.75058663F, -0.5396871F, 0, 0.80953062F});
  }
}

// What is saved of rows for training, in float32 whatever the type: means, and 1 / √(variance or mean of squares +
// epsilon).
TEST_CASE("Contrib, NormalizationSavesMeansAndDeviations", "[onnx]") {
  const std::vector<Wire> epsilon = {FloatAttribute("epsilon", 0.1F)};
  const std::vector<std::string> outputs = {"y", "mean", "inverse", "sum"};
  const auto skip = Results({"SkipLayerNormalization", {kRows, kSkip, kGamma, kBeta, kRowBias}, epsilon, outputs});
  REQUIRE(skip.size() == 4);
  CheckNear(skip[1], {1, 2, 1}, {2.5333333F, 1.8666667F});
  CheckNear(skip[2], {1, 2, 1}, {1.2958027F, 0.94118374F});
  CheckNear(skip[3], {1, 2, 3}, kSum);
  CheckNear(Results({"SkipLayerNormalization", {kRows, kSkip, kGamma}, epsilon, {"y", "", "inverse"}})[1], {1, 2, 1},
            {1.4301939F, 1.0056023F});
  const auto simple = Results({"SkipSimplifiedLayerNormalization", {kRows, kSkip, kGamma, kRowBias}, epsilon, outputs});
  REQUIRE(simple.size() == 4);
  CheckNear(simple[1], {1, 2, 1}, {0, 0});
  CheckNear(simple[2], {1, 2, 1}, {0.37760502F, 0.46557814F});
  CheckNear(simple[3], {1, 2, 3}, kSum);
}

TEST_CASE("Contrib, NormalizationWithoutAMeanSavesDeviationsOverItsAxes", "[onnx]") {
  const auto plain = [](int64_t axis, const Tensor& scale) {
    return Single{"SimplifiedLayerNormalization",
                  {kRows, scale},
                  {FloatAttribute("epsilon", 0.1F), IntAttribute("axis", axis)},
                  {"y", "inverse"},
                  ""};
  };
  for (const int64_t axis : {-1, 2}) CheckNear(Results(plain(axis, kGamma))[1], {1, 2, 1}, {0.37529331F, 0.53968707F});
  for (const int64_t axis : {-2, 1})
    CheckNear(Results(plain(axis, Floats({2, 3}, {1, 1, 1, 1, 1, 1})))[1], {1, 1, 1}, {0.43574467F});
  for (const int64_t axis : {INT64_MIN, INT64_MAX, int64_t{-4}})
    CHECK(Mentions(FaultOf(plain(axis, kGamma)), "of a tensor of 3 dims"));
}

TEST_CASE("Contrib, SavedValuesOfHalvesAreFloats", "[onnx]") {
  const Tensor x = Halves({1, 2}, {0x3C00, 0x4000}), skip = Halves({1, 2}, {0x4000, 0x3C00});  // 1, 2 and 2, 1
  const Tensor gamma = Halves({2}, {0x3C00, 0x3C00});
  const std::vector<std::string> outputs = {"y", "mean", "inverse"};
  const std::vector<Wire> epsilon = {FloatAttribute("epsilon", 0.25F)};
  const auto layer = Results({"SkipLayerNormalization", {x, skip, gamma}, epsilon, outputs});
  CheckNear(layer[1], {1, 1}, {3});
  CheckNear(layer[2], {1, 1}, {2});
  const auto simple = Results({"SkipSimplifiedLayerNormalization", {x, skip, gamma}, epsilon, outputs});
  CheckNear(simple[1], {1, 1}, {0});
  CheckNear(simple[2], {1, 1}, {0.3287979746F});
}

TEST_CASE("Contrib, LayerNormalizationBeforeOpset17", "[onnx]") {
  Single layer = {"LayerNormalization", {kRows, kGamma, kBeta}, {FloatAttribute("epsilon", 0.1F)}, {"y"}, "", 13};
  CheckNear(Results(layer)[0], {1, 2, 3},
            {-1.0362554F, -0.01812762F, -0.35234034F, -0.9640373F, -0.2712298F, -0.3251738F});
  layer.outputs = {"y", "mean", "scale"};
  const auto all = Results(layer);
  CheckNear(all[1], {1, 2, 1}, {7.0F / 3, 2.0F / 3});
}

const Tensor kIds = Int32({2, 3}, {1, 0, 2, 2, 2, 1}), kSegmentIds = Int32({2, 3}, {0, 1, 0, 1, 1, 0}),
             kWords = Floats({3, 2}, {1, 2, 3, 4, 0, 1}), kPositions = Floats({4, 2}, {0.5F, 1, -1, 0, 2, 1, 9, 9}),
             kSegments = Floats({2, 2}, {0, 1, 1, 0}), kScale = Floats({2}, {1, 2}), kShift = Floats({2}, {0, 1});

TEST_CASE("Contrib, EmbedLayerNormalizationCountsTokensOfTheMask", "[onnx]") {
  const Tensor mask = Int32({2, 3}, {1, 1, 0, 1, 2, 0});
  const auto all =
      Results({"EmbedLayerNormalization",
               {kIds, kSegmentIds, Constant(kWords), Constant(kPositions), Constant(kSegments), kScale, kShift, mask},
               {FloatAttribute("epsilon", 0.1F)},
               {"y", "mask_index", "sum"}});
  CheckNear(all[0], {2, 3, 2},
            {-0.9694584F, 2.9389167F, -0.84515423F, 2.6903086F, -0.84515423F, 2.6903086F, -0.62017369F, 2.2403474F,
             -0.84515423F, 2.6903086F, -0.84515423F, 2.6903086F});
  CHECK(all[1].ToInts() == std::vector<int64_t>{2, 1});
  CHECK(all[1].type() == DataType::kInt32);
  CheckNear(all[2], {2, 3, 2}, {3.5F, 6, 1, 2, 2, 3, 1.5F, 2, 0, 1, 5, 6});
}

TEST_CASE("Contrib, EmbedLayerNormalizationTakesPositionsAndNoSegments", "[onnx]") {
  const auto all = Results({"EmbedLayerNormalization",
                            {kIds, {}, kWords, kPositions, {}, kScale, kShift, {}, Int32({1, 3}, {3, 0, 1})},
                            {FloatAttribute("epsilon", 0.1F)},
                            {"y", "mask_index"}});
  CheckNear(all[0], {2, 3, 2},
            {-0.84515423F, 2.6903086F, -0.92144263F, 2.8428853F, -0.9534626F, 2.9069252F, -0.84515423F, 2.6903086F,
             -0.92144263F, 2.8428853F, -0.9534626F, 2.9069252F});
  CHECK(all[1].ToInts() == std::vector<int64_t>{0, 0});
}

TEST_CASE("Contrib, EmbedLayerNormalizationRefusesIdsThatAreNoRows", "[onnx]") {
  enum Input { kIdsAt = 0, kSegmentIdsAt = 1, kPositionIdsAt = 8 };
  const Single right = {
      "EmbedLayerNormalization",
      {kIds, kSegmentIds, kWords, kPositions, kSegments, kScale, kShift, {}, Int32({2, 3}, {3, 0, 1, 0, 1, 2})}};
  Results(right);
  for (const auto& [input, rows] : {std::pair{kIdsAt, 3}, {kSegmentIdsAt, 2}, {kPositionIdsAt, 4}}) {
    for (const int32_t id : {-1, -rows, rows, INT32_MIN}) {
      CAPTURE(input, id);
      Single wrong = right;
      wrong.inputs[input].tensor = Int32({2, 3}, {0, 0, 1, 0, id, 1});
      const Graph graph = Load(BytesOf(wrong)).value();
      std::vector<Tensor> inputs;
      for (const GivenInput& operand : wrong.inputs) {
        if (operand.tensor.type() != DataType::kUndefined) inputs.push_back(operand.tensor);
      }
      const auto refused = EvaluateGraph(graph, inputs);
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().code == ErrorCode::kInvalidInput);
    }
  }
}

TEST_CASE("Contrib, WhatLayersDoNotHaveIsRefusedByName", "[onnx]") {
  CHECK(Mentions(FaultOf({"Gelu", {kX}, {FloatAttribute("alpha", 1)}}), "Gelu has no attribute alpha"));
  CHECK(Mentions(FaultOf({"Gelu", {kX, kX}}), "it has 2 inputs; Gelu takes 1 at most"));
  CHECK(Mentions(FaultOf({"BiasGelu", {kX}}), "its input B is missing [com.microsoft.BiasGelu y (#0)]"));
  for (const char* op : {"BiasGelu", "FastGelu"}) {
    CHECK(Mentions(FaultOf({op, {kX, kX}}), "its bias has 2 dims"));
    CHECK(Mentions(FaultOf({op, {kX, Floats({1}, {1})}}), "its bias has 1 elements where the last dim of its input"));
  }
  CHECK(Mentions(FaultOf({"QuickGelu", {kX}, {IntAttribute("alpha", 1)}}), "attribute alpha is of type INT; FLOAT"));
  CHECK(Mentions(FaultOf({"Gelu", {kX}, {}, {"y", "z"}}), "it has 2 outputs; Gelu makes 1 at most"));
  CHECK(Mentions(FaultOf({"SkipLayerNormalization", {kRows, Floats({1, 1, 3}, {1, 2, 3}), kGamma}}),
                 "dim -2 of skip is 1 where input has 2"));
  CHECK(Mentions(FaultOf({"EmbedLayerNormalization", {kIds, kSegmentIds, kWords, kPositions, {}, kScale, kShift}}),
                 "segment_ids and segment_embedding come together"));
}

TEST_CASE("Contrib, OtherVersionsOfTheDomainAreRefused", "[onnx]") {
  ModelParts model;
  model.graph = GraphBytes(PartsOf({"Gelu", {kX}}));
  model.opsets = {{"", 17}, {"com.microsoft", 2}};
  CHECK(Mentions(LoadFault(ModelBytes(model)), "version 2 of domain com.microsoft is not supported: 1 is"));
}

TEST_CASE("Contrib, OperatorsInBranchesAreSpelledOut", "[onnx]") {
  const auto branch = [](const std::string& op, const std::string& out) {
    GraphParts parts;
    parts.nodes = {NodeBytes(op, {"x"}, {out}, {}, "", "com.microsoft")};
    parts.outputs = {Wire().Bytes(1, out)};
    return GraphBytes(parts);
  };
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2", "3"}), ValueInfo("c", 9, {})};
  parts.nodes = {NodeBytes(
      "If", {"c"}, {"y"},
      {GraphAttribute("then_branch", branch("QuickGelu", "t")), GraphAttribute("else_branch", branch("Gelu", "e"))})};
  parts.outputs = {Wire().Bytes(1, "y")};
  ModelParts model;
  model.graph = GraphBytes(parts);
  model.opsets = {{"", 13}, {"com.microsoft", 1}};
  const auto graph = Load(ModelBytes(model));
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  const Graph& then_branch = *graph->nodes()[0].subgraphs[0].graph;
  REQUIRE(then_branch.nodes().size() == 3);
  for (const Node& node : then_branch.nodes()) {
    CHECK(node.domain.empty());
    CHECK(node.source.at(0).subgraph == "0.then_branch");
  }
  CHECK(ToString(graph->value(graph->outputs()[0]).type) == "float32[2,3]");
}

TEST_CASE("Contrib, OperatorsInFunctionsAreSpelledOut", "[onnx]") {
  FunctionParts function;
  function.domain = "local";
  function.name = "Normalise";
  function.inputs = {"a", "s"};
  function.outputs = {"b"};
  function.nodes = {NodeBytes("SimplifiedLayerNormalization", {"a", "s"}, {"n"}),
                    NodeBytes("Gelu", {"n"}, {"b"}, {}, "", "com.microsoft")};
  function.opsets = {{"", 17}, {"com.microsoft", 1}};
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2", "3"}), ValueInfo("g", 1, {"3"})};
  parts.nodes = {NodeBytes("Normalise", {"x", "g"}, {"y"}, {}, "", "local")};
  parts.outputs = {Wire().Bytes(1, "y")};
  ModelParts model;
  model.graph = GraphBytes(parts);
  model.functions = {FunctionBytes(function)};
  model.opsets = {{"", 17}, {"local", 1}};
  const auto graph = Load(ModelBytes(model));
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  REQUIRE(graph->nodes().size() == 2);
  CHECK(graph->nodes()[0].op == "RMSNormalization");
  CHECK(graph->nodes()[1].op == "Gelu");
  CHECK(graph->nodes()[1].domain.empty());
}

// Softmax of opset 12 goes over all dims from the axis on: to say it in opset 13 the dims behind the operator of
// ONNX Runtime have to be known.
TEST_CASE("Contrib, ConversionKnowsDimsBehindOperators", "[onnx]") {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2", "3", "4"})};
  parts.nodes = {NodeBytes("Gelu", {"x"}, {"g"}, {}, "", "com.microsoft"),
                 NodeBytes("Softmax", {"g"}, {"y"}, {IntAttribute("axis", 1)})};
  parts.outputs = {Wire().Bytes(1, "y")};
  ModelParts model;
  model.graph = GraphBytes(parts);
  model.opsets = {{"", 11}, {"com.microsoft", 1}};
  LoadReport report;
  const auto graph = Load(ModelBytes(model), {}, &report);
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  CHECK(graph->opset() == kTargetOpset);
  CHECK(report.warnings.empty());
}

TEST_CASE("Contrib, NodesTheySpellOutToCountAgainstTheLimit", "[onnx]") {
  LoadOptions options;
  options.limits.nodes = 3;
  CHECK(LoadFault(BytesOf({"Gelu", {kX}}), options) == "");
  CHECK(Mentions(LoadFault(BytesOf({"QuickGelu", {kX}}), options), "more nodes than the limit of 3"));
}

}  // namespace
}  // namespace pt::testing::contrib_layers_test
