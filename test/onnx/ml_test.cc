// Operators of ai.onnx.ml as they are spelled out. Expected numbers are worked out by hand, or ONNX Runtime's own of
// version 1.32.
#include <cmath>
#include <limits>

#include "test/onnx/contrib_lab.h"

namespace pt::testing::ml_test {
namespace {

constexpr const char* kMl = "ai.onnx.ml";
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Single Ml(const std::string& op, const std::vector<GivenInput>& inputs, const std::vector<Wire>& attributes,
          const std::vector<std::string>& outputs = {"y"}) {
  return {op, inputs, attributes, outputs, kMl, 17, 1};
}

const Tensor kX = Floats({2, 3}, {1, -2, 4, 0, 0, 0});

TEST_CASE("Ml, ScalerTakesOffsetsBeforeScales", "[onnx]") {
  const std::vector<Wire> each = {FloatsAttribute("offset", {1, 2, 3}), FloatsAttribute("scale", {2, 3, -1})};
  CheckNear(Results(Ml("Scaler", {kX}, each))[0], {2, 3}, {0, -12, -1, -2, -6, 3});
  CheckNear(Results(Ml("Scaler", {Tensor::Int64({3}, {1, -2, 4})}, each))[0], {3}, {0, -12, -1});
  // In float64 where the input is: the offset takes all of it but what float32 would not hold.
  const std::vector<double> wide = {1 + 0x1p-40};
  CheckNear(Results(Ml("Scaler", {Tensor::Of<double>(DataType::kFloat64, {1, 1}, wide)},
                       {FloatsAttribute("offset", {1}), FloatsAttribute("scale", {0x1p40F})}))[0],
            {1, 1}, {1});
  CheckNear(Results(Ml("Scaler", {kX}, {FloatsAttribute("scale", {2})}))[0], {2, 3}, {2, -4, 8, 0, 0, 0});
  CHECK(Mentions(FaultOf(Ml("Scaler", {kX}, {FloatsAttribute("scale", {2, 1})})), "scale has 2 values for 3 features"));
  CHECK(Mentions(FaultOf(Ml("Scaler", {kX}, {FloatsAttribute("offset", {2}), FloatsAttribute("scale", {2, 1, 3})})),
                 "offset has 1 values and its scale 3"));
}

TEST_CASE("Ml, NormalizerLeavesRowsWithoutANorm", "[onnx]") {
  const auto normalized = [](const std::string& norm) {
    return Results(Ml("Normalizer", {kX}, {StringAttribute("norm", norm)}))[0];
  };
  const float root = std::sqrt(21.0F);
  CheckNear(normalized("MAX"), {2, 3}, {0.25F, -0.5F, 1, 0, 0, 0});
  CheckNear(normalized("L1"), {2, 3}, {1 / 7.0F, -2 / 7.0F, 4 / 7.0F, 0, 0, 0});
  CheckNear(normalized("L2"), {2, 3}, {1 / root, -2 / root, 4 / root, 0, 0, 0});
  // The maximum has a sign.
  CheckNear(Results(Ml("Normalizer", {Floats({2}, {-4, -2})}, {}))[0], {2}, {2, 1});
  CHECK(Mentions(FaultOf(Ml("Normalizer", {kX}, {StringAttribute("norm", "L3")})), "unknown norm \"L3\""));
}

TEST_CASE("Ml, ImputerReplacesWhatIsMissing", "[onnx]") {
  const Tensor gaps = Floats({2, 2}, {kNan, 1, 2, kNan});
  CheckNear(
      Results(Ml("Imputer", {gaps},
                 {FloatsAttribute("imputed_value_floats", {7, 8}), FloatAttribute("replaced_value_float", kNan)}))[0],
      {2, 2}, {7, 1, 2, 8});
  CheckNear(Results(Ml("Imputer", {kX}, {FloatsAttribute("imputed_value_floats", {9})}))[0], {2, 3},
            {1, -2, 4, 9, 9, 9});
  CHECK(Results(Ml("Imputer", {Tensor::Int64({3}, {1, 5, 1})},
                   {IntsAttribute("imputed_value_int64s", {3}), IntAttribute("replaced_value_int64", 1)}))[0]
            .ToInts() == std::vector<int64_t>{3, 5, 3});
  CHECK(Mentions(FaultOf(Ml("Imputer", {kX}, {IntsAttribute("imputed_value_int64s", {3})})), "exactly one of"));
  CHECK(Mentions(FaultOf(Ml("Imputer", {kX}, {FloatsAttribute("imputed_value_floats", {3, 4})})),
                 "imputed_value_floats has 2 values for 3 features"));
}

TEST_CASE("Ml, FeatureVectorizerCutsAndFills", "[onnx]") {
  const Tensor more = Floats({2, 1}, {8, 9});
  CheckNear(Results(Ml("FeatureVectorizer", {kX, more}, {IntsAttribute("inputdimensions", {2, 3})}))[0], {2, 5},
            {1, -2, 8, 0, 0, 0, 0, 9, 0, 0});
  CheckNear(Results(Ml("FeatureVectorizer", {Tensor::Int64({2}, {1, 2}), Tensor::Int64({1}, {3})}, {}))[0], {1, 3},
            {1, 2, 3});
  CHECK(Mentions(FaultOf(Ml("FeatureVectorizer", {kX}, {IntsAttribute("inputdimensions", {2, 3})})),
                 "inputdimensions has 2 values for 1 inputs"));
}

std::vector<Wire> With(std::vector<Wire> attributes, const std::string& transform) {
  attributes.push_back(StringAttribute("post_transform", transform));
  return attributes;
}

const Tensor kPairs = Floats({3, 2}, {-1, 2, 1, 0.5F, 0, 0});

TEST_CASE("Ml, LinearRegressorTransformsItsScores", "[onnx]") {
  const std::vector<Wire> two = {FloatsAttribute("coefficients", {1, 2, 0.25F, 0.125F}), IntAttribute("targets", 2),
                                 FloatsAttribute("intercepts", {0.5F, 0.25F})};
  CheckNear(Results(Ml("LinearRegressor", {kPairs}, two))[0], {3, 2}, {3.5F, 0.25F, 2.5F, 0.5625F, 0.5F, 0.25F});
  CheckNear(Results(Ml("LinearRegressor", {kPairs}, With(two, "LOGISTIC")))[0], {3, 2},
            {0.97068781F, 0.56217647F, 0.92414182F, 0.63703078F, 0.62245929F, 0.56217647F});
  CheckNear(Results(Ml("LinearRegressor", {kPairs}, With(two, "SOFTMAX")))[0], {3, 2},
            {0.96267307F, 0.03732688F, 0.8740772F, 0.12592277F, 0.56217647F, 0.4378235F});
  // Zeros stay zeros.
  const std::vector<Wire> bare = {two[0], two[1]};
  const Tensor rows = Floats({2, 2}, {-1, 2, 1, 0.5F});
  CheckNear(Results(Ml("LinearRegressor", {rows}, With(bare, "SOFTMAX_ZERO")))[0], {2, 2},
            {1, 0, 0.84389514F, 0.1561049F});
  const std::vector<Wire> one = {FloatsAttribute("coefficients", {0.25F, 0}), FloatsAttribute("intercepts", {0.5F})};
  CheckNear(Results(Ml("LinearRegressor", {kPairs}, With(one, "PROBIT")))[0], {3, 1}, {-0.67457432F, 0.67457432F, 0});
  CheckNear(Results(Ml("LinearRegressor", {Floats({2}, {1, 2})}, one))[0], {1, 1}, {0.75F});
  CHECK(Mentions(FaultOf(Ml("LinearRegressor", {kPairs}, With(one, "LOGISTIC"))), "of a single score"));
  CHECK(Mentions(FaultOf(Ml("LinearRegressor", {kPairs}, With(one, "LOG"))), "unknown post_transform \"LOG\""));
  CHECK(Mentions(FaultOf(Ml("LinearRegressor", {kX}, one)), "2 coefficients for 1 row of 3 features"));
  CHECK(Mentions(FaultOf(Ml("LinearRegressor", {kPairs}, {two[0], two[1], FloatsAttribute("intercepts", {1})})),
                 "1 intercepts for 2 rows"));
}

TEST_CASE("Ml, LinearClassifierTakesTheTopClass", "[onnx]") {
  const std::vector<Wire> three = {FloatsAttribute("coefficients", {1, 2, 0.5F, 0.25F, -1, -2}),
                                   FloatsAttribute("intercepts", {0.5F, 0, 1}),
                                   IntsAttribute("classlabels_ints", {3, 4, 5})};
  const auto all = Results(Ml("LinearClassifier", {kPairs}, With(three, "SOFTMAX"), {"label", "scores"}));
  CHECK(all[0].ToInts() == std::vector<int64_t>{3, 3, 5});
  CHECK(all[1].values<float>()[0] == Catch::Approx(1 / (1 + std::exp(-3.5) + std::exp(-5.5))));
  const std::vector<Wire> one = {FloatsAttribute("coefficients", {1, -2}), FloatsAttribute("intercepts", {0.5F}),
                                 IntsAttribute("classlabels_ints", {0, 1})};
  const auto plain = Results(Ml("LinearClassifier", {kPairs}, one, {"label", "scores"}));
  CHECK(plain[0].ToInts() == std::vector<int64_t>{0, 1, 1});
  CheckNear(plain[1], {3, 2}, {5.5F, -4.5F, 0.5F, 0.5F, 0.5F, 0.5F});
  CheckNear(Results(Ml("LinearClassifier", {kPairs}, With(one, "LOGISTIC"), {"label", "scores"}))[1], {3, 2},
            {0.98901306F, 0.01098694F, 0.37754067F, 0.62245933F, 0.37754067F, 0.62245933F});
  CHECK(Mentions(FaultOf(Ml("LinearClassifier", {kPairs}, With(one, "SOFTMAX"), {"label", "scores"})), "single score"));
  CHECK(Mentions(FaultOf(Ml("LinearClassifier", {kPairs},
                            {one[0], one[1], IntsAttribute("classlabels_ints", {1, 2, 3})}, {"label", "scores"})),
                 "3 labels and 1 intercept"));
  CHECK(Mentions(FaultOf(Ml("LinearClassifier", {kPairs}, {one[0], one[1]}, {"label", "scores"})), "exactly one of"));
}

const Node* Find(const Graph& graph, const std::string& op) {
  for (const Node& node : graph.nodes()) {
    if (node.op == op) return &node;
  }
  return nullptr;
}

// Kernels know integers and scores: texts and transforms stand behind them.
TEST_CASE("Ml, KernelsOfModelsMakeNumbersAlone", "[onnx]") {
  const Result<Graph> svm = Load(BytesOf(
      Ml("SVMClassifier", {kPairs},
         {StringsAttribute("classlabels_strings", {"no", "yes", "?"}), StringAttribute("post_transform", "SOFTMAX"),
          FloatsAttribute("prob_a", {1, 2, 3}), IntsAttribute("vectors_per_class", {1, 1, 1})},
         {"label", "scores"})));
  REQUIRE(svm.ok());
  const Node* const kernel = Find(*svm, "SVMClassifier");
  REQUIRE(kernel != nullptr);
  CHECK(kernel->ints_or("classlabels_ints", {}) == std::vector<int64_t>{0, 1, 2});
  CHECK(kernel->find("classlabels_strings") == nullptr);
  CHECK(kernel->string_or("post_transform", "") == "NONE");
  CHECK(Find(*svm, "Gather") != nullptr);
  CHECK(Find(*svm, "Softmax") != nullptr);
  const Value& label = svm->value(svm->outputs()[0]);
  CHECK(label.type.type == DataType::kString);
  CHECK(svm->value(svm->outputs()[1]).type == StaticType(DataType::kFloat32, {3, 3}));

  Single tree = Ml("TreeEnsembleRegressor", {kPairs}, With({IntAttribute("n_targets", 2)}, "SOFTMAX"));
  tree.version = 3;
  const Result<Graph> trees = Load(BytesOf(tree));
  REQUIRE(trees.ok());
  CHECK(Find(*trees, "TreeEnsembleRegressor")->string_or("post_transform", "") == "NONE");
  CHECK(trees->value(trees->outputs()[0]).type == StaticType(DataType::kFloat32, {3, 2}));
  tree.attributes = With({IntAttribute("n_targets", 1)}, "LOGISTIC");
  CHECK(Mentions(FaultOf(tree), "LOGISTIC of a single score"));
}

// Of two classes without probabilities there is a single score, whose transform ONNX Runtime leaves out.
TEST_CASE("Ml, AnSvmOfTwoClassesHasTransformsOfProbabilitiesAlone", "[onnx]") {
  const auto fault = [](size_t classes, bool probabilities, const std::string& transform) {
    std::vector<Wire> attributes = {IntsAttribute("classlabels_ints", std::vector<int64_t>(classes, 7)),
                                    IntsAttribute("vectors_per_class", std::vector<int64_t>(classes, 1)),
                                    StringAttribute("post_transform", transform)};
    if (probabilities) attributes.push_back(FloatsAttribute("prob_a", {1, 2, 3}));
    return FaultOf(Ml("SVMClassifier", {kPairs}, attributes, {"label", "scores"}));
  };
  for (const size_t classes : {1, 2, 3}) {
    for (const bool probabilities : {false, true}) {
      CAPTURE(classes, probabilities);
      CHECK(fault(classes, probabilities, "NONE") == "");
      const std::string of_a_transform = fault(classes, probabilities, "SOFTMAX");
      if (classes == 2 && !probabilities) {
        CHECK(Mentions(of_a_transform, "SOFTMAX of a single score"));
      } else {
        CHECK(of_a_transform == "");
      }
    }
  }
}

// How many scores there are is known from the attributes alone; where these do not say it, it is not.
TEST_CASE("Ml, ColumnsOfScoresAreKnownFromOneOn", "[onnx]") {
  const auto scores = [](const Single& single) {
    const Result<Graph> graph = Load(BytesOf(single));
    INFO((graph.ok() ? "" : ToString(graph.error())));
    REQUIRE(graph.ok());
    return graph->value(graph->outputs().back()).type;
  };
  CHECK(scores(Ml("SVMRegressor", {kPairs}, {IntAttribute("n_supports", 1)})) ==
        StaticType(DataType::kFloat32, {3, 1}));
  for (const int64_t targets : {1, 2, 3}) {
    Single trees = Ml("TreeEnsembleRegressor", {kPairs}, {IntAttribute("n_targets", targets)});
    trees.version = 3;
    CHECK(scores(trees) == StaticType(DataType::kFloat32, {3, targets}));
  }
  Single trees = Ml("TreeEnsembleRegressor", {kPairs}, {});
  trees.version = 3;
  CHECK(!scores(trees).static_dims());
}

// x[0] <= 0.5 ? 1 for the first target : 2 for the second. The text numbers SOFTMAX 1 and LOGISTIC 2.
TEST_CASE("Ml, TreeEnsembleNumbersItsTransforms", "[onnx]") {
  const auto bytes = [](const std::vector<float>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  const auto scores = [&](int64_t transform) {
    Single tree =
        Ml("TreeEnsemble", {Floats({2, 1}, {0, 1})},
           {IntAttribute("n_targets", 2), IntAttribute("post_transform", transform), IntsAttribute("tree_roots", {0}),
            IntsAttribute("nodes_featureids", {0}), IntsAttribute("nodes_truenodeids", {0}),
            IntsAttribute("nodes_falsenodeids", {1}), IntsAttribute("nodes_trueleafs", {1}),
            IntsAttribute("nodes_falseleafs", {1}), IntsAttribute("leaf_targetids", {0, 1}),
            TensorAttribute("nodes_modes", RawTensor("m", 2, {1}, std::string(1, '\0'))),
            TensorAttribute("nodes_splits", RawTensor("s", 1, {1}, bytes({0.5F}))),
            TensorAttribute("leaf_weights", RawTensor("w", 1, {2}, bytes({1, 2})))});
    tree.version = 5;
    const Result<Graph> graph = Load(BytesOf(tree));
    INFO((graph.ok() ? "" : ToString(graph.error())));
    REQUIRE(graph.ok());
    return RunOnReference(*graph, std::vector<Tensor>{Floats({2, 1}, {0, 1})})[0];
  };
  CheckNear(scores(0), {2, 2}, {1, 0, 0, 2});
  CheckNear(scores(1), {2, 2}, {0.73105858F, 0.26894142F, 0.11920292F, 0.88079708F});
  CheckNear(scores(2), {2, 2}, {0.73105858F, 0.5F, 0.5F, 0.88079708F});
  CheckNear(scores(3), {2, 2}, {1, 0, 0, 1});
}

// Exporters put a ZipMap behind the probabilities unless they are told not to.
TEST_CASE("Ml, ZipMapGivesOutItsTensor", "[onnx]") {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"2", "3"})};
  parts.nodes = {NodeBytes("Normalizer", {"x"}, {"p"}, {}, "", kMl),
                 NodeBytes("ZipMap", {"p"}, {"maps"}, {IntsAttribute("classlabels_int64s", {4, 5, 6})}, "", kMl)};
  // TypeProto{sequence{map{int64, float}}}
  const Wire number = Wire().Message(1, Wire().Number(1, 1));
  const Wire map = Wire().Message(5, Wire().Number(1, 7).Message(2, number));
  parts.outputs = {Wire().Bytes(1, "maps").Message(2, Wire().Message(4, Wire().Message(1, map)))};
  ModelParts model;
  model.graph = GraphBytes(parts);
  model.opsets = {{"", 17}, {kMl, 1}};
  LoadReport report;
  const Result<Graph> graph = Load(ModelBytes(model), {}, &report);
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  REQUIRE(report.warnings.size() == 1);
  CHECK(Mentions(report.warnings[0], "\"maps\" is a sequence of maps"));
  CHECK(Mentions(report.warnings[0], "of classes 4, 5, 6"));
  CheckNear(RunOnReference(*graph, std::vector<Tensor>{kX})[0], {2, 3}, {0.25F, -0.5F, 1, 0, 0, 0});
}

}  // namespace
}  // namespace pt::testing::ml_test
