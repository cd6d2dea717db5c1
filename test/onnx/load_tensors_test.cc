// Tensors of models: sizes that lie, data in the wrong place, sparse and zero-size ones.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"

namespace pt::load_tensors_test {
namespace {
using namespace testing;

std::string WithInitializer(const Wire& tensor, bool sparse = false) {
  GraphParts parts;
  parts.nodes = {NodeBytes("Identity", {"w"}, {"y"})};
  (sparse ? parts.sparse_initializers : parts.initializers) = {tensor};
  parts.outputs = {Wire().Bytes(1, "y")};
  return ModelBytes(parts);
}

// The same tensor as the value of a Constant node.
std::string WithConstant(const Wire& tensor) {
  GraphParts parts;
  parts.nodes = {NodeBytes("Constant", {}, {"w"}, {TensorAttribute("value", tensor)}),
                 NodeBytes("Identity", {"w"}, {"y"})};
  parts.outputs = {Wire().Bytes(1, "y")};
  return ModelBytes(parts);
}

TEST_CASE("LoadOnnx, InitialisersAreConstantsAndShareTheirBytes", "[onnx]") {
  const std::vector<float> big(1000, 0.5f);
  const auto graph = Load(WithInitializer(FloatTensor("w", {10, 100}, big)));
  REQUIRE(graph.ok());
  const Value& w = graph->value(graph->find_value("w"));
  REQUIRE(w.is_constant());
  CHECK(w.constant->values<float>()[999] == 0.5f);
  CHECK(graph->inputs().empty());
  CHECK(ToString(graph->value(graph->outputs()[0]).type) == "float32[10,100]");
  const pt::Graph inferred = InferShapes(*graph).value();
  CHECK(inferred.value(inferred.find_value("w")).constant->bytes().data() == w.constant->bytes().data());
}

TEST_CASE("LoadOnnx, InitialiserThatIsAnInputTooIsAConstant", "[onnx]") {
  for (const int64_t ir_version : {3, 10}) {
    GraphParts parts;
    parts.nodes = {NodeBytes("Add", {"x", "w"}, {"y"})};
    parts.inputs = {ValueInfo("w", 1, {"4"}), ValueInfo("x", 1, {"4"})};
    parts.initializers = {FloatTensor("w", {4}, {1, 2, 3, 4})};
    parts.outputs = {ValueInfo("y", 1, {"4"})};
    ModelParts model;
    model.graph = GraphBytes(parts);
    model.ir_version = ir_version;
    model.opsets = {{"", 8}};
    const auto graph = Load(ModelBytes(model));
    REQUIRE(graph.ok());
    REQUIRE(graph->inputs().size() == 1);
    CHECK(graph->value(graph->inputs()[0]).name == "x");
  }
}

TEST_CASE("LoadOnnx, TensorSizesThatLieAreRefused", "[onnx]") {
  const std::string four(16, 'a');
  const std::vector<std::pair<std::vector<int64_t>, std::string>> cases = {
      {{-1}, four},
      {{INT64_MIN}, four},
      {{int64_t{1} << 62}, four},
      {{int64_t{1} << 32, int64_t{1} << 32}, four},
      {{int64_t{1} << 62, 4}, four},
      {{int64_t{1} << 33, int64_t{1} << 31, 1}, four},
      {{-2, -2}, four},
      {{5}, four},
      {{3}, four},
      {{4}, std::string(15, 'a')},
      {{0}, four},
      {std::vector<int64_t>(65, 1), std::string(4, 'a')},
  };
  for (const auto& [dims, bytes] : cases) {
    INFO(dims.size() << " dims, the first " << dims[0]);
    for (const std::string& model :
         {WithInitializer(RawTensor("w", 1, dims, bytes)), WithConstant(RawTensor("", 1, dims, bytes))}) {
      const auto graph = Load(model);
      REQUIRE_FALSE(graph.ok());
      CHECK(graph.error().code == ErrorCode::kInvalidInput);
    }
  }
  CHECK(Mentions(LoadFault(WithInitializer(RawTensor("w", 1, {-7}, four))), "\"w\""));
  CHECK(Mentions(LoadFault(WithInitializer(RawTensor("w", 1, {-7}, four))), "-7"));
  CHECK(LoadFault(WithInitializer(RawTensor("w", 1, {4}, four))).empty());
}

TEST_CASE("LoadOnnx, TensorDataInTheWrongFieldIsRefused", "[onnx]") {
  const auto start = [](int type) { return Wire().Signed(1, 1).Signed(2, type).Bytes(8, "w"); };
  CHECK(LoadFault(WithInitializer(start(1).Float(4, 1))).empty());
  CHECK(LoadFault(WithInitializer(start(7).Signed(7, -5))).empty());
  CHECK_FALSE(LoadFault(WithInitializer(start(1).Float(4, 1).Bytes(9, "abcd"))).empty());
  CHECK_FALSE(LoadFault(WithInitializer(start(1).Signed(5, 1))).empty());
  CHECK_FALSE(LoadFault(WithInitializer(start(7).Float(4, 1))).empty());
  CHECK_FALSE(LoadFault(WithInitializer(start(0).Bytes(9, "abcd"))).empty());
  CHECK(Mentions(LoadFault(WithInitializer(start(999).Bytes(9, "abcd"))), "999"));
  CHECK_FALSE(LoadFault(WithInitializer(start(-1).Bytes(9, "abcd"))).empty());
  CHECK_FALSE(LoadFault(WithInitializer(start(257).Bytes(9, "abcd"))).empty());
  CHECK_FALSE(LoadFault(WithInitializer(start(8).Bytes(9, "abcd"))).empty());
  CHECK(LoadFault(WithInitializer(start(8).Bytes(6, "abcd"))).empty());
  CHECK_FALSE(LoadFault(WithInitializer(start(1))).empty());
  CHECK_FALSE(
      LoadFault(WithInitializer(start(1).Bytes(9, "abcd").Message(3, Wire().Number(1, 0).Number(2, 1)))).empty());
}

TEST_CASE("LoadOnnx, ZeroSizeTensorsAreValid", "[onnx]") {
  for (const std::string& model :
       {WithInitializer(RawTensor("w", 1, {0, 3}, "")), WithConstant(RawTensor("", 1, {0, 3}, ""))}) {
    const auto graph = Load(model);
    INFO((graph.ok() ? "" : ToString(graph.error())));
    REQUIRE(graph.ok());
    CHECK(graph->value(graph->find_value("w")).constant->element_count() == 0);
  }
}

TEST_CASE("LoadOnnx, BooleansAreZeroOrOne", "[onnx]") {
  const auto graph = Load(WithInitializer(RawTensor("w", 9, {3}, std::string("\0\2\xff", 3))));
  REQUIRE(graph.ok());
  CHECK(graph->value(graph->find_value("w")).constant->ToInts() == std::vector<int64_t>{0, 1, 1});
}

Wire Sparse(const std::vector<int64_t>& dims, const std::vector<float>& values, const std::vector<int64_t>& index_dims,
            const std::vector<int64_t>& indices) {
  Wire wire;
  wire.Message(1, FloatTensor("w", {static_cast<int64_t>(values.size())}, values))
      .Message(2, Int64Tensor("i", index_dims, indices));
  for (int64_t d : dims) wire.Signed(3, d);
  return wire;
}

TEST_CASE("LoadOnnx, SparseInitialisersBecomeDense", "[onnx]") {
  for (const Wire& sparse : {Sparse({2, 3}, {5, 7}, {2}, {1, 5}), Sparse({2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 2})}) {
    const auto graph = Load(WithInitializer(sparse, true));
    INFO((graph.ok() ? "" : ToString(graph.error())));
    REQUIRE(graph.ok());
    const auto values = graph->value(graph->find_value("w")).constant->values<float>();
    CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{0, 5, 0, 0, 0, 7});
  }
}

TEST_CASE("LoadOnnx, SparseInitialisersThatLieAreRefusedBeforeTheyGrow", "[onnx]") {
  const auto fault = [](const Wire& sparse) { return LoadFault(WithInitializer(sparse, true)); };
  CHECK(Mentions(fault(Sparse({2, 3}, {5, 7}, {2}, {1, 6})), "index 6"));
  CHECK(Mentions(fault(Sparse({2, 3}, {5, 7}, {2}, {-1, 2})), "index -1"));
  CHECK(Mentions(fault(Sparse({2, 3}, {5, 7}, {2}, {3, 1})), "ascending"));
  CHECK(Mentions(fault(Sparse({2, 3}, {5, 7}, {2}, {3, 3})), "ascending"));
  CHECK(Mentions(fault(Sparse({2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 3})), "index 3"));
  CHECK_FALSE(fault(Sparse({2, 3}, {5, 7}, {3}, {1, 2, 3})).empty());
  CHECK(Mentions(fault(Sparse({2, 3}, {5}, {}, {1})), "do not fit each other"));  // a scalar has no first dim
  CHECK(Mentions(fault(Sparse({1 << 20, 1 << 20}, {5}, {1}, {1})), "dense it needs 4398046511104 bytes"));
  CHECK_FALSE(fault(Sparse({int64_t{1} << 62, 8}, {5}, {1}, {1})).empty());
  CHECK_FALSE(fault(Sparse({-1}, {5}, {1}, {0})).empty());
}

TEST_CASE("LoadOnnx, DeclaredShapesNeverWinOverInferredOnes", "[onnx]") {
  const auto model = [](int type, const std::vector<std::string>& declared) {
    GraphParts parts;
    parts.nodes = {NodeBytes("Relu", {"x"}, {"h"}), NodeBytes("Neg", {"h"}, {"y"})};
    parts.inputs = {ValueInfo("x", 1, {"2", "3"})};
    parts.outputs = {ValueInfo("y", 1, {"2", "3"})};
    parts.value_infos = {ValueInfo("h", type, declared)};
    return ModelBytes(parts);
  };
  LoadReport report;
  const auto graph = Load(model(1, {"2000", "3"}), {}, &report);
  REQUIRE(graph.ok());
  CHECK(ToString(graph->value(graph->find_value("h")).type) == "float32[2,3]");
  CHECK(report.warnings.size() == 1);
  LoadReport other_rank;
  const auto flat = Load(model(1, {"6"}), {}, &other_rank);
  REQUIRE(flat.ok());
  REQUIRE(other_rank.warnings.size() == 1);
  CHECK(Mentions(other_rank.warnings[0], "is declared as float32[6]"));
  CHECK(Mentions(LoadFault(model(7, {"2", "3"})), "another element type"));
}

TEST_CASE("LoadOnnx, OddDimsOfInputsAreUnknownAndDistinct", "[onnx]") {
  GraphParts parts;
  parts.nodes = {NodeBytes("Relu", {"x"}, {"y"})};
  parts.inputs = {ValueInfo("x", 1, {"-1", "", "?", "unk__5", "N", "4"})};
  parts.outputs = {Wire().Bytes(1, "y")};
  const auto graph = Load(ModelBytes(parts));
  REQUIRE(graph.ok());
  CHECK(ToString(graph->value(graph->inputs()[0]).type) == "float32[?,?,?,?,N,4]");
}

}  // namespace
}  // namespace pt::load_tensors_test
