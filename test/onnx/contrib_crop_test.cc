// CropAndResize as ONNX Runtime has it. Expected numbers are its own, of version 1.32 without optimisation.
#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_crop_test {
namespace {

const Tensor kImages = Cycle({2, 1, 3, 4}, 0, 1, 7, 11);
const Tensor kBoxes = Floats({3, 4}, {0, 0, 1, 1, 0.25F, -0.25F, 0.75F, 0.5F, 1, 0.5F, 0, 1.1F});

Single Crops(const std::string& mode, std::vector<int32_t> size, bool constant = true) {
  return {"CropAndResize",
          {kImages, kBoxes, Int32({3}, {1, 0, 1}), {Int32({2}, size), constant}},
          {StringAttribute("mode", mode), FloatAttribute("extrapolation_value", -7)}};
}

TEST_CASE("Contrib, CropsAreReadAtPointsWithinTheImage", "[onnx]") {
  for (const bool constant : {true, false}) {
    CAPTURE(constant);
    CheckNear(Results(Crops("bilinear", {2, 3}, constant))[0], {3, 1, 2, 3},
              {7, 6.5F, 6, 8, 2, 7, -7, 3.5625F, 5.25F, -7, 4.0625F, 5.75F, 2, 2.8F, -7, 6.5F, 8.4F, -7});
    CheckNear(Results(Crops("nearest", {2, 3}, constant))[0], {3, 1, 2, 3},
              {7, 10, 6, 8, 0, 7, -7, 6, 9, -7, 1, 4, 0, 0, -7, 10, 10, -7});
  }
}

TEST_CASE("Contrib, CropsOfOnePointTakeTheMiddle", "[onnx]") {
  CheckNear(Results(Crops("Bilinear", {1, 1}))[0], {3, 1, 1, 1}, {7, 4.5F, 3.4F});
  CheckNear(Results(Crops("nearest", {1, 1}))[0], {3, 1, 1, 1}, {5, 6, 5});
}

TEST_CASE("Contrib, CropsOfImagesThatAreNotThereAreRefused", "[onnx]") {
  for (const auto& images : std::vector<std::vector<int32_t>>{{1, 0, -1}, {1, 2, 0}, {INT32_MIN, 0, 0}, {1, 0}, {1}}) {
    Single wrong = Crops("bilinear", {2, 3});
    wrong.inputs[2] = Int32({static_cast<int64_t>(images.size())}, images);
    const Result<Graph> graph = Load(BytesOf(wrong));
    if (!graph.ok()) {  // the numbers of boxes differ
      CHECK(images.size() != 3);
      continue;
    }
    const auto refused = EvaluateGraph(*graph, std::vector<Tensor>{kImages, kBoxes, wrong.inputs[2].tensor});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("Contrib, WhatCropAndResizeDoesNotHaveIsRefused", "[onnx]") {
  CHECK(Mentions(FaultOf(Crops("cubic", {2, 3})), "unknown mode \"cubic\"; expected bilinear or nearest"));
  Single wrong = Crops("nearest", {2, 3});
  wrong.inputs[1] = Floats({3, 5}, std::vector<float>(15));
  CHECK(Mentions(FaultOf(wrong), "its rois have 5 columns; they need 4"));
  wrong.inputs[1] = Floats({12}, std::vector<float>(12));
  CHECK(Mentions(FaultOf(wrong), "input 1 has 1 dims; it needs 2"));
  wrong.inputs[1] = GivenInput(kBoxes, false, false);
  CHECK(Mentions(FaultOf(wrong), "the number of dims of input 1"));
}

}  // namespace
}  // namespace pt::testing::contrib_crop_test
