// Operators of ONNX Runtime that ONNX has as well, in later opsets or other words. Expected numbers are worked out by
// hand, or ONNX Runtime's own of version 1.32.
#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_renamed_test {
namespace {

const Tensor kSquare = Floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});

TEST_CASE("Contrib, TriluKeepsATriangle", "[onnx]") {
  CheckNear(Results({"Trilu", {kSquare}})[0], {3, 3}, {1, 2, 3, 0, 5, 6, 0, 0, 9});
  CheckNear(Results({"Trilu", {kSquare, Tensor::Int64({}, {1})}, {IntAttribute("upper", 0)}})[0], {3, 3},
            {1, 2, 0, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("Contrib, ExpandDimsTakesAnAxisOfInt32", "[onnx]") {
  CheckNear(Results({"ExpandDims", {Floats({2}, {1, 2}), Constant(Int32({}, {-1}))}})[0], {2, 1}, {1, 2});
  CheckNear(Results({"ExpandDims", {Floats({2}, {1, 2}), Constant(Int32({}, {0}))}})[0], {1, 2}, {1, 2});
}

TEST_CASE("Contrib, GatherNdTakesIndicesOfInt32", "[onnx]") {
  CheckNear(Results({"GatherND", {kSquare, Int32({2, 2}, {0, 1, -1, 0})}})[0], {2}, {2, 7});
}

TEST_CASE("Contrib, RangeHasADelta", "[onnx]") {
  const Tensor two = Floats({1}, {2});
  CheckNear(Results({"Range", {Constant(two), Constant(Floats({}, {4.5F}))}})[0], {3}, {2, 3, 4});
  CheckNear(Results({"Range", {Constant(two), Constant(Floats({}, {-3})), Constant(Floats({1}, {-3}))}})[0], {2},
            {2, -1});
}

TEST_CASE("Contrib, PadTakesPadsOfTwoDims", "[onnx]") {
  const Tensor pads = Tensor::Int64({1, 2}, {1, 2});
  CheckNear(Results({"Pad", {Floats({2}, {5, 6}), Constant(pads), Floats({1}, {9})}})[0], {5}, {9, 5, 6, 9, 9});
  CheckNear(Results({"Pad", {Floats({2}, {5, 6}), Constant(pads)}, {StringAttribute("mode", "edge")}})[0], {5},
            {5, 5, 6, 6, 6});
}

TEST_CASE("Contrib, GridSampleKnowsModesByTheirFormerNames", "[onnx]") {
  const Tensor image = Floats({1, 1, 2, 2}, {0, 1, 2, 3}), middle = Floats({1, 1, 1, 2}, {0, 0});
  CheckNear(Results({"GridSample", {image, middle}})[0], {1, 1, 1, 1}, {1.5F});
  CHECK(Mentions(FaultOf({"GridSample",
                          {image, middle},
                          {StringAttribute("mode", "bicubic"), StringAttribute("padding_mode", "border")}}),
                 "bicubic with padding_mode border"));
  CheckNear(Results({"GridSample", {image, middle}, {StringAttribute("mode", "bicubic")}})[0], {1, 1, 1, 1},
            {2.1152344F});
}

TEST_CASE("Contrib, CDistIsExactWhereRowsAreClose", "[onnx]") {
  const Tensor a = Floats({2, 2}, {0, 0, 3, 4}), b = Floats({3, 2}, {0, 0, 1, 0, 3, 4});
  CheckNear(Results({"CDist", {a, b}})[0], {2, 3}, {0, 1, 25, 25, 20, 0});
  CheckNear(Results({"CDist", {a, b}, {StringAttribute("metric", "euclidean")}})[0], {2, 3},
            {0, 1, 5, 5, 4.4721360F, 0});
  // Squares of float32 would cancel.
  const Tensor far = Floats({1, 1}, {4096.5F}), close = Floats({1, 1}, {4096.25F});
  CheckNear(Results({"CDist", {far, close}})[0], {1, 1}, {0.0625F});
  CHECK(Mentions(FaultOf({"CDist", {a, Floats({1, 3}, {1, 2, 3})}}), "2 and 3 columns"));
  CHECK(Mentions(FaultOf({"CDist", {a, b}, {StringAttribute("metric", "cosine")}}), "unknown metric \"cosine\""));
  const Tensor images = Floats({1, 2, 2}, {0, 0, 3, 4});
  CHECK(Mentions(FaultOf({"CDist", {images, b}}), "its inputs have two dims, not 3"));
  CHECK(Mentions(FaultOf({"CDist", {a, images}}), "its inputs have two dims, not 3"));
}

TEST_CASE("Contrib, NhwcMaxPoolLooksAtTheDimsBetween", "[onnx]") {
  const Tensor x = Uint8({1, 2, 2, 2}, {1, 8, 2, 7, 3, 6, 4, 5});
  const Tensor y = Results({"NhwcMaxPool", {x}, {IntsAttribute("kernel_shape", {2, 2})}})[0];
  CHECK(y.dims() == std::vector<int64_t>{1, 1, 1, 2});
  CHECK(y.ToInts() == std::vector<int64_t>{4, 8});
}

TEST_CASE("Contrib, QLinearConvWithChannelsLast", "[onnx]") {
  // Two channels, of which the second is taken away from the first.
  const Tensor x = Uint8({1, 1, 2, 2}, {9, 4, 7, 1}), scale = Floats({}, {1}), zero = Uint8({}, {0});
  Single conv = {"QLinearConv",
                 {x, Constant(scale), Constant(zero), Constant(Int8({1, 2, 1, 1}, {1, -1})), Constant(scale),
                  Constant(Int8({}, {0})), Constant(scale), Constant(zero)},
                 {IntAttribute("channels_last", 1)}};
  const Tensor y = Results(conv)[0];
  CHECK(y.dims() == std::vector<int64_t>{1, 1, 2, 1});
  CHECK(y.ToInts() == std::vector<int64_t>{5, 6});
}

TEST_CASE("Contrib, InverseHasAKernel", "[onnx]") {
  const Tensor matrices = Floats({2, 2, 2}, {0, 2, 4, 0, 1, 2, 3, 4});
  const Result<Graph> graph = Load(BytesOf({"Inverse", {matrices}}));
  REQUIRE(graph.ok());
  CheckNear(RunOnReference(*graph, std::vector<Tensor>{matrices})[0], {2, 2, 2},
            {0, 0.25F, 0.5F, 0, -2, 1, 1.5F, -0.5F});
}

}  // namespace
}  // namespace pt::testing::contrib_renamed_test
