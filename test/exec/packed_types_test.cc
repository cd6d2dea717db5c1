// Tensors of 4 and 2 bits as inputs and outputs of a session: packed, low bits first, all their values.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>

#include "test/testing/host_lab.h"

namespace pt::testing::packed_types_test {
namespace {

struct PackedType {
  const char* name;
  DataType type;
  int bits;
  std::vector<float> values;  // by code
};

std::vector<PackedType> PackedTypes() {
  std::vector<float> unsigned4, signed4;
  for (int code = 0; code < 16; ++code) {
    unsigned4.push_back(static_cast<float>(code));
    signed4.push_back(static_cast<float>(code < 8 ? code : code - 16));
  }
  return {{"uint4", DataType::kUint4, 4, unsigned4},
          {"int4", DataType::kInt4, 4, signed4},
          {"uint2", DataType::kUint2, 2, {0, 1, 2, 3}},
          {"int2", DataType::kInt2, 2, {0, 1, -2, -1}},
          {"float4e2m1",
           DataType::kFloat4E2M1,
           4,
           {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6}}};
}

// Every code once and the first again, so that the last byte is not full.
std::vector<int> Codes(const PackedType& type) {
  std::vector<int> codes;
  for (int code = 0; code <= 1 << type.bits; ++code) codes.push_back(code % (1 << type.bits));
  return codes;
}

Tensor Packed(const PackedType& type, const std::vector<int>& codes, int behind) {
  std::string bytes((codes.size() * static_cast<size_t>(type.bits) + 7) / 8, '\0');
  for (size_t i = 0; i < bytes.size() * 8 / static_cast<size_t>(type.bits); ++i) {
    const int code = i < codes.size() ? codes[i] : behind;
    const size_t at = i * static_cast<size_t>(type.bits);
    bytes[at / 8] = static_cast<char>(bytes[at / 8] | code << (at % 8));
  }
  return Tensor::FromBytes(type.type, {static_cast<int64_t>(codes.size())}, bytes).value();
}

std::vector<Tensor> Run(const std::string& text, const std::vector<Tensor>& inputs) {
  HostLab lab;
  const auto session = lab.Open(TypedGraph(text), 1);
  const auto results = RunOnce(*session, inputs);
  if (!results.ok()) FAIL(ToString(results.error()));
  return *results;
}

}  // namespace

TEST_CASE("PackedTypes, CastsReadAndWriteEveryValue", "[exec]") {
  const PackedType type = GENERATE(from_range(PackedTypes()));
  CAPTURE(type.name);
  const std::vector<int> codes = Codes(type);
  const std::string count = std::to_string(codes.size()), number = std::to_string(static_cast<int>(type.type));
  const auto wide = Run("input x " + std::string(type.name) + "[" + count + "]\ny = Cast(x) to=1\noutput y\n",
                        {Packed(type, codes, (1 << type.bits) - 1)});
  REQUIRE(wide[0].element_count() == static_cast<int64_t>(codes.size()));
  for (size_t i = 0; i < codes.size(); ++i) {
    const float value = wide[0].values<float>()[i], expected = type.values[static_cast<size_t>(codes[i])];
    CHECK(value == expected);
    CHECK(std::signbit(value) == std::signbit(expected));
  }
  const auto narrow = Run("input x float32[" + count + "]\ny = Cast(x) to=" + number + "\noutput y\n", {wide[0]});
  const Tensor expected = Packed(type, codes, 0);
  CHECK(narrow[0].type() == type.type);
  CHECK(std::ranges::equal(narrow[0].bytes(), expected.bytes()));
}

TEST_CASE("PackedTypes, QuantisingRoundsAndSaturates", "[exec]") {
  const std::string text =
      "input x float32[5]\nconst s float32[] value 2\ninput z int4[]\ny = QuantizeLinear(x, s, z)\n"
      "w = DequantizeLinear(y, s, z)\noutput y\noutput w\n";
  const Tensor zero = Tensor::FromBytes(DataType::kInt4, {}, std::string(1, '\1')).value();
  const auto results = Run(text, {Tensor::Float32({5}, {-100, -3, 0, 5, 100}), zero});
  CHECK(results[0].ToInts() == std::vector<int64_t>{-8, -1, 1, 3, 7});  // -1.5 and 2.5 to even
  const std::span<const float> w = results[1].values<float>();
  CHECK(std::vector<float>(w.begin(), w.end()) == std::vector<float>{-18, -4, 0, 4, 12});
}

TEST_CASE("PackedTypes, PassThroughViewsAndEmptyTensors", "[exec]") {
  const PackedType type = PackedTypes()[1];
  const Tensor x = Packed(type, {1, 2, 3, 4, 5, 6}, 0);
  const auto results = Run(
      "input x int4[6]\nconst d int64[2] ints 2 3\ny = Reshape(x, d)\nz = Transpose(y)\noutput x\noutput y\noutput z\n",
      {x});
  CHECK(results[0].ToInts() == std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(results[1].ToInts() == std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(results[2].ToInts() == std::vector<int64_t>{1, 4, 2, 5, 3, 6});
  const auto none =
      Run("input x int4[0,3]\ny = Cast(x) to=1\noutput y\n", {Tensor::FromBytes(DataType::kInt4, {0, 3}, "").value()});
  CHECK(none[0].dims() == std::vector<int64_t>{0, 3});
}

TEST_CASE("PackedTypes, BuffersOfOtherSizesAreRefused", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input x int4[3]\ny = Cast(x) to=1\noutput y\n"), 1);
  std::array<std::byte, 4> in{};
  std::array<float, 3> out{};
  const LentTensor y{DataType::kFloat32, {3}, out.data(), sizeof out};
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{3}}) {
    const auto result = session->Run(std::array{LentTensor{DataType::kInt4, {3}, in.data(), bytes}}, std::array{y});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::kInvalidInput);
  }
  // Any address will do.
  CHECK(session->Run(std::array{LentTensor{DataType::kInt4, {3}, in.data() + 1, 2}}, std::array{y}).ok());
}

}  // namespace pt::testing::packed_types_test
