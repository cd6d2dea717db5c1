// Operators that ONNX had on trial before opset 10, in the default domain. Expected numbers are ONNX Runtime's.
#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_experimental_test {
namespace {

Single Trial(const std::string& op, std::vector<GivenInput> inputs, std::vector<Wire> attributes, int64_t opset = 9) {
  return {op, std::move(inputs), std::move(attributes), {"y"}, "", opset};
}

const Tensor kImage = Cycle({1, 2, 2, 4}, -2, 0.25F, 1, 16);
const std::vector<Wire> kBoth = {FloatAttribute("alpha", 2), FloatAttribute("beta", 0.5F)};

TEST_CASE("Contrib, TrialElementwiseOperatorsOfEarlyOpsets", "[onnx]") {
  const Tensor x = Floats({4}, {-2, -1, 0, 3});
  for (const int64_t opset : {7, 9}) {
    CheckNear(Results(Trial("Affine", {x}, kBoth, opset))[0], {4}, {-3.5F, -1.5F, 0.5F, 6.5F});
    CheckNear(Results(Trial("Affine", {x}, {}, opset))[0], {4}, {-2, -1, 0, 3});
    CheckNear(Results(Trial("Scale", {x}, {FloatAttribute("scale", 3)}, opset))[0], {4}, {-6, -3, 0, 9});
    CheckNear(Results(Trial("ScaledTanh", {x}, kBoth, opset))[0], {4}, {-1.5231884F, -0.92423433F, 0, 1.8102965F});
    CheckNear(Results(Trial("ParametricSoftplus", {x}, kBoth, opset))[0], {4},
              {0.62652338F, 0.94815397F, 1.3862944F, 3.4028266F});
  }
  CHECK(Mentions(FaultOf(Trial("ScaledTanh", {x}, {})), "its attribute alpha is missing"));
  CHECK(Mentions(FaultOf(Trial("Affine", {x}, {}, 10)), "Affine"));
}

TEST_CASE("Contrib, ImageScalerAddsABiasAChannel", "[onnx]") {
  const std::vector<Wire> attributes = {FloatsAttribute("bias", {1, -2}), FloatAttribute("scale", 2)};
  CheckNear(Results(Trial("ImageScaler", {kImage}, attributes))[0], {1, 2, 2, 4},
            {-3, -2.5F, -2, -1.5F, -1, -0.5F, 0, 0.5F, -2, -1.5F, -1, -0.5F, 0, 0.5F, 1, 1.5F});
  const auto fault = [&](const GivenInput& x, std::vector<Wire> given) {
    return FaultOf(Trial("ImageScaler", {x}, std::move(given)));
  };
  CHECK(Mentions(fault(kImage, {}), "its attribute bias is missing"));
  CHECK(Mentions(fault(kImage, {FloatsAttribute("bias", {1})}), "its bias has 1 elements where its input has 2"));
  CHECK(Mentions(fault(Floats({1, 2}, {1, 2}), attributes), "its input has 2 dims; it needs four"));
  CHECK(Mentions(fault(GivenInput(kImage, false, false), attributes), "the number of dims of input"));
}

TEST_CASE("Contrib, CropKeepsWhatIsWithinItsBorder", "[onnx]") {
  const auto cropped = [](std::vector<int64_t> border, std::vector<int64_t> scale) {
    std::vector<Wire> attributes = {IntsAttribute("border", border)};
    if (!scale.empty()) attributes.push_back(IntsAttribute("scale", scale));
    return Trial("Crop", {kImage}, attributes);
  };
  CheckNear(Results(cropped({1, 0, 1, 0}, {}))[0], {1, 2, 2, 2},
            {-1.75F, -1.5F, -0.75F, -0.5F, 0.25F, 0.5F, 1.25F, 1.5F});
  CheckNear(Results(cropped({1, 1, 2, 0}, {}))[0], {1, 2, 1, 1}, {-0.75F, 1.25F});
  // A scale says what remains, whatever the border says of the other side.
  CheckNear(Results(cropped({1, 1, 9, 9}, {1, 3}))[0], {1, 2, 1, 3}, {-0.75F, -0.5F, -0.25F, 1.25F, 1.5F, 1.75F});
  for (const auto& border : std::vector<std::vector<int64_t>>{
           {4, 0, 0, 0}, {2, 0, 2, 0}, {0, 1, 0, 1}, {-1, 0, 0, 0}, {0, 0, -1, 0}, {INT64_MAX, 0, INT64_MAX, 0}}) {
    CHECK(Mentions(FaultOf(cropped(border, {})), "it cuts off what its input does not have"));
  }
  for (const auto& scale : std::vector<std::vector<int64_t>>{{3, 1}, {1, 5}, {0, 1}, {INT64_MIN, 1}, {1, INT64_MAX}})
    CHECK(Mentions(FaultOf(cropped({0, 0, 0, 0}, scale)), "it cuts off what its input does not have"));
  CHECK(Mentions(FaultOf(cropped({0, 0, 0}, {})), "its border needs four elements"));
  CHECK(Mentions(FaultOf(cropped({0, 0, 0, 0}, {1})), "its scale needs two elements"));
}

TEST_CASE("Contrib, DynamicSliceIsSlice", "[onnx]") {
  const Tensor from = Tensor::Int64({1}, {1}), to = Tensor::Int64({1}, {-1}), axis = Tensor::Int64({1}, {3});
  CheckNear(Results(Trial("DynamicSlice", {kImage, from, to, axis}, {}))[0], {1, 2, 2, 2},
            {-1.75F, -1.5F, -0.75F, -0.5F, 0.25F, 0.5F, 1.25F, 1.5F});
}

}  // namespace
}  // namespace pt::testing::contrib_experimental_test
