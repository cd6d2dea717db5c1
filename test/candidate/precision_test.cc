#include "partitiontuner/candidate/precision.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <set>

#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt::precision_test {
namespace {

TEST_CASE("Precision, TextAndSetAreInverses", "[candidate]") {
  CHECK(ToString(Precision()) == "fp32");
  for (const char* text : {"bf16", "fp32,bf16", "bf16,fp32", "bf16,bf16"}) {
    INFO(text);
    const Result<Precision> precision = PrecisionFromText(text);
    REQUIRE(precision.ok());
    CHECK(*precision == Precision({MathMode::kBf16}));
    CHECK(ToString(*precision) == "fp32,bf16");
    CHECK(*PrecisionFromText(ToString(*precision)) == *precision);
  }
  CHECK(*PrecisionFromText("fp32") == Precision());
}

TEST_CASE("Precision, UnknownAndUnofferedModesAreRefusedByName", "[candidate]") {
  for (const char* text : {"", "fp33", "BF16", "bf16,", ",", "bf16;fp32", "int8"}) {
    INFO(text);
    const Result<Precision> precision = PrecisionFromText(text);
    REQUIRE_FALSE(precision.ok());
    CHECK(precision.error().code == ErrorCode::kUsage);
    CHECK(precision.error().message.find("expected fp32, tf32, bf16 or fp16") != std::string::npos);
  }
}

TEST_CASE("Precision, StorageIsTheValuesOwnUnlessTheMathAllowsLess", "[candidate]") {
  const QuantisationId some{7};
  for (MathMode mode : kMathModes) {
    INFO(MathModeName(mode));
    CHECK(MayStore(mode, DataType::kFloat32, DataType::kFloat32));
    CHECK(MayStore(mode, DataType::kInt64, DataType::kInt64));
    CHECK(MayStore(mode, DataType::kFloat32, DataType::kBfloat16) == (mode == MathMode::kBf16));
    CHECK(MayStore(mode, DataType::kFloat32, DataType::kFloat16) == (mode == MathMode::kFp16));
    CHECK_FALSE(MayStore(mode, DataType::kFloat64, DataType::kBfloat16));
    CHECK_FALSE(MayStore(mode, DataType::kInt64, DataType::kInt32));
    CHECK_FALSE(MayStore(mode, DataType::kFloat32, DataType::kInt8));  // what would the integers mean?
    CHECK(MayStore(mode, DataType::kFloat32, DataType::kInt8, some) == (mode == MathMode::kInt8));
    CHECK_FALSE(MayStore(mode, DataType::kFloat32, DataType::kFloat32, some));
  }
  CHECK_FALSE(Precision().allows_storage(DataType::kFloat32, DataType::kBfloat16));
  CHECK(Precision({MathMode::kBf16}).allows_storage(DataType::kFloat32, DataType::kBfloat16));
  CHECK_FALSE(Precision({MathMode::kBf16}).allows_storage(DataType::kFloat32, DataType::kInt8, some));
}

TEST_CASE("Precision, ToleranceIsTheLooserOfMathAndOutput", "[candidate]") {
  CHECK(RelativeTolerance(MathMode::kFp32, DataType::kFloat32) == 1e-4);
  CHECK(RelativeTolerance(MathMode::kBf16, DataType::kFloat32) == 4e-2);
  CHECK(RelativeTolerance(MathMode::kFp32, DataType::kBfloat16) == 4e-2);
  CHECK(RelativeTolerance(MathMode::kFp32, DataType::kFloat16) == 1e-2);
  CHECK(RelativeTolerance(MathMode::kBf16, DataType::kInt64) == 0);
}

TEST_CASE("Quantisation, IdsComeFromTheContent", "[candidate]") {
  const Quantisation whole{Quantisation::kWholeTensor, {0.5F}, {3}};
  const Quantisation others[] = {{0, {0.5F}, {3}},
                                 {Quantisation::kWholeTensor, {0.25F}, {3}},
                                 {Quantisation::kWholeTensor, {0.5F}, {4}},
                                 {1, {0.5F, 0.5F}, {3, 3}}};
  std::set<QuantisationId> ids{IdOf(whole)};
  CHECK(IdOf(whole).valid());
  CHECK(IdOf(whole) == IdOf(Quantisation(whole)));
  for (const Quantisation& other : others) CHECK(ids.insert(IdOf(other)).second);
  CHECK_FALSE(QuantisationId().valid());
  CHECK(ToString(QuantisationId{0xab}) == "00000000000000ab");
}

TEST_CASE("Quantisation, FaultsAreNamed", "[candidate]") {
  const ValueType value = StaticType(DataType::kFloat32, {2, 3});
  CHECK(QuantisationFault({Quantisation::kWholeTensor, {0.5F}, {0}}, value, DataType::kInt8).empty());
  CHECK(QuantisationFault({1, {1, 2, 3}, {0, -8, 7}}, value, DataType::kInt4).empty());
  const float kInfinite = std::numeric_limits<float>::infinity();
  const std::pair<Quantisation, DataType> bad[] = {
      {{Quantisation::kWholeTensor, {0.5F}, {0}}, DataType::kBfloat16},
      {{2, {0.5F}, {0}}, DataType::kInt8},
      {{-2, {0.5F}, {0}}, DataType::kInt8},
      {{1, {0.5F}, {0}}, DataType::kInt8},
      {{1, {1, 2, 3}, {0}}, DataType::kInt8},
      {{Quantisation::kWholeTensor, {0}, {0}}, DataType::kInt8},
      {{Quantisation::kWholeTensor, {-1}, {0}}, DataType::kInt8},
      {{Quantisation::kWholeTensor, {kInfinite}, {0}}, DataType::kInt8},
      {{Quantisation::kWholeTensor, {1}, {128}}, DataType::kInt8},
      {{Quantisation::kWholeTensor, {1}, {-1}}, DataType::kUint8},
  };
  for (const auto& [quantisation, storage] : bad) CHECK_FALSE(QuantisationFault(quantisation, value, storage).empty());
}

TEST_CASE("Quantisation, FormsAndKeysTellItApart", "[candidate]") {
  Form plain{RowMajor(2), DataType::kInt8}, one = plain, two = plain;
  one.quantisation = IdOf({Quantisation::kWholeTensor, {0.5F}, {0}});
  two.quantisation = IdOf({Quantisation::kWholeTensor, {0.25F}, {0}});
  CHECK(one != two);
  CHECK(((one < two) != (two < one)));
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "test"});
  platform.unit_classes.push_back({"cpu/1", DeviceId(0U), 1});
  const std::vector<int64_t> dims{2, 3};
  const Form wide{RowMajor(2), DataType::kFloat32}, narrow{RowMajor(2), DataType::kBfloat16};
  std::set<Hash128> keys;
  for (const Form& to : {plain, one, two, wide, narrow}) {
    keys.insert(ReorderKey(platform, UnitClassId(0U), dims, wide, to, "1").hash);
  }
  CHECK(keys.size() == 5);
}

TEST_CASE("StepTolerance, IsOneUnitForWhatTheGroupQuantises", "[candidate]") {
  const Result<Graph> graph = ParseGraph(
      "input f float32[4]\nconst s float32[] value 1\nconst z uint8[] value 7\nr = Relu(f) : float32[4]\n"
      "q = QuantizeLinear(r, s, z) : uint8[4]\nm = Reshape(q, s) : uint8[4]\noutput m\n");
  REQUIRE(graph.ok());
  const std::vector<NodeId> all = {NodeId(0U), NodeId(1U), NodeId(2U)};
  const ValueId r = graph->node(all[0]).outputs[0], q = graph->node(all[1]).outputs[0],
                m = graph->node(all[2]).outputs[0];
  CHECK(StepTolerance(*graph, std::span(all).first(2), q) == 1);
  CHECK(StepTolerance(*graph, std::span(all).first(1), r) == 0);
  CHECK(StepTolerance(*graph, std::span(all).last(1), m) == 0);
}

}  // namespace
}  // namespace pt::precision_test
