#include "partitiontuner/graph/transposed_sizes.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/resized_dim.h"
#include "partitiontuner/graph/stft_sizes.h"
#include "partitiontuner/support/limits.h"

namespace pt::transposed_sizes_test {
namespace {

using Dims = std::vector<int64_t>;

Node Transposed(std::initializer_list<std::pair<const char*, Attribute>> attributes) {
  Node node;
  node.op = "ConvTranspose";
  for (const auto& [name, value] : attributes) node.attributes[name] = value;
  return node;
}

Dims OutOf(const Node& node, const Dims& in, const Dims& kernel) {
  const Result<TransposedSizes> sizes = TransposedSizesOf(node, in, kernel);
  INFO((sizes.ok() ? "" : sizes.error().message));
  REQUIRE(sizes.ok());
  return sizes->out;
}

std::string FaultOf(const Node& node, const Dims& in, const Dims& kernel) {
  const Result<TransposedSizes> sizes = TransposedSizesOf(node, in, kernel);
  REQUIRE_FALSE(sizes.ok());
  CHECK(sizes.error().code == ErrorCode::kInvalidInput);
  return sizes.error().message;
}

TEST_CASE("TransposedSizes, SameIsTheInputTimesTheStride", "[graph]") {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
    for (int64_t in = 1; in <= 4; ++in) {
      for (int64_t kernel = 1; kernel <= 4; ++kernel) {
        for (int64_t stride = 1; stride <= 3; ++stride) {
          for (int64_t extra = 0; extra < stride; ++extra) {
            const Node node = Transposed(
                {{"auto_pad", std::string(mode)}, {"strides", Dims{stride}}, {"output_padding", Dims{extra}}});
            CHECK(OutOf(node, {in}, {kernel}) == Dims{in * stride});
          }
        }
      }
    }
  }
}

TEST_CASE("TransposedSizes, PadsAreCutOffWhatTheWindowsCover", "[graph]") {
  CHECK(OutOf(Transposed({}), {5}, {3}) == Dims{7});
  CHECK(OutOf(Transposed({{"auto_pad", std::string()}}), {5}, {3}) == Dims{7});
  CHECK(OutOf(Transposed({{"strides", Dims{2}}, {"dilations", Dims{3}}}), {5}, {3}) == Dims{15});
  const Node padded = Transposed({{"strides", Dims{2, 1}}, {"pads", Dims{1, 0, 2, 1}}, {"output_padding", Dims{1, 0}}});
  const Result<TransposedSizes> sizes = TransposedSizesOf(padded, Dims{5, 4}, Dims{3, 2});
  REQUIRE(sizes.ok());
  CHECK(sizes->out == Dims{9, 4});
  CHECK(sizes->pads_begin == Dims{1, 0});
  CHECK(OutOf(Transposed({{"auto_pad", std::string("VALID")}, {"pads", Dims{1, 1}}}), {5}, {3}) == Dims{7});
}

TEST_CASE("TransposedSizes, OutputShapeWinsAndSaysThePads", "[graph]") {
  for (const auto& [mode, begin] : {std::pair("NOTSET", 2), std::pair("SAME_UPPER", 1), std::pair("SAME_LOWER", 2)}) {
    const Node node = Transposed({{"auto_pad", std::string(mode)}, {"output_shape", Dims{4}}});
    const Result<TransposedSizes> sizes = TransposedSizesOf(node, Dims{5}, Dims{3});
    REQUIRE(sizes.ok());
    CHECK(sizes->out == Dims{4});
    CHECK(sizes->pads_begin == Dims{begin});
  }
  CHECK(OutOf(Transposed({{"output_shape", Dims{1, 3, 9}}}), {5}, {3}) == Dims{9});  // with batch and channels
}

TEST_CASE("TransposedSizes, UnknownDimsStayUnknown", "[graph]") {
  CHECK(OutOf(Transposed({{"strides", Dims{2, 2}}}), {-1, 4}, {3, 3}) == Dims{-1, 9});
  CHECK(OutOf(Transposed({{"output_shape", Dims{8, 9}}}), {-1, 4}, {3, 3}) == Dims{8, 9});
}

TEST_CASE("TransposedSizes, WhatDoesNotFitIsInvalid", "[graph]") {
  CHECK(FaultOf(Transposed({{"strides", Dims{1, 1}}}), {5}, {3}).find("do not fit") != std::string::npos);
  CHECK(FaultOf(Transposed({{"strides", Dims{0}}}), {5}, {3}).find("out of range") != std::string::npos);
  CHECK(FaultOf(Transposed({{"pads", Dims{INT64_MIN, 0}}}), {5}, {3}).find("out of range") != std::string::npos);
  CHECK(FaultOf(Transposed({{"pads", Dims{4, 4}}}), {5}, {3}).find("negative dim") != std::string::npos);
  CHECK(FaultOf(Transposed({{"dilations", Dims{1 << 30}}}), {5}, {4}).find("too large") != std::string::npos);
  CHECK(FaultOf(Transposed({{"auto_pad", std::string("SOME")}}), {5}, {3}).find("SOME") != std::string::npos);
  CHECK(FaultOf(Transposed({}), {int64_t{1} << 40}, {3}).find("out of range") != std::string::npos);
}

TEST_CASE("ResizedDim, CountsThePartOfTheRegion", "[graph]") {
  CHECK(ResizedDim(8, 1.5, 0.5) == 6);
  CHECK(ResizedDim(10, 1.25, static_cast<double>(0.9F) - static_cast<double>(0.2F)) == 8);
  CHECK(ResizedDim(10, static_cast<double>(0.7F), 1) == 6);  // 0.7 in float32 is less
  CHECK(ResizedDim(0, 2, 1) == 0);
  CHECK_FALSE(ResizedDim(8, -1, 1));
  CHECK_FALSE(ResizedDim(8, 1e12, 1));
  CHECK_FALSE(ResizedDim(8, std::numeric_limits<double>::quiet_NaN(), 1));
}

TEST_CASE("StftSizes, FramesAreCountedInIntegers", "[graph]") {
  CHECK(FramesOf(32, 16, 4) == 5);
  CHECK(FramesOf(33, 16, 4) == 5);
  CHECK(FramesOf(16, 16, 4) == 1);
  CHECK_FALSE(FramesOf(15, 16, 4));
  CHECK_FALSE(FramesOf(32, 0, 4));
  CHECK_FALSE(FramesOf(32, 16, 0));
  CHECK(FramesOf(50'331'651, 4, 8) == 6'291'456);  // one more where the quotient is rounded to float32
  CHECK(BinsOf(16, true) == 9);
  CHECK(BinsOf(5, true) == 3);
  CHECK(BinsOf(16, false) == 16);
}

}  // namespace
}  // namespace pt::transposed_sizes_test
