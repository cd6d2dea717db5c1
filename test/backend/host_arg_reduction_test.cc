// ArgMax and ArgMin of the host library against the reference library: every axis and length, equals, and NaN at every
// place.
#include <array>
#include <limits>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_arg_reduction_test {
namespace {

std::string Text(const std::string& op, const std::string& dims, int axis, bool keep, bool last) {
  return "input x float32" + dims + "\ny = " + op + "(x) axis=" + std::to_string(axis) +
         " keepdims=" + (keep ? "1" : "0") + " select_last_index=" + (last ? "1" : "0") + "\noutput y\n";
}

constexpr std::array kKinds = {"ArgMax", "ArgMin"};

TEST_CASE("HostArgReduction, EveryAxisEqualsTheReference", "[host]") {
  for (const char* op : kKinds) {
    for (int axis = -4; axis < 4; ++axis) {
      CheckText(Text(op, "[3,5,4,37]", axis, axis % 2 == 0, axis > 0), 0);
      CheckText(Text(op, "[2,300,1,3]", axis, axis % 2 != 0, axis < 0), 0);
    }
    CheckText(Text(op, "[70001]", 0, false, false), 0);
    CheckText(Text(op, "[21,900,31]", 1, true, false), 0);
    CheckText(Text(op, "[0,5]", 1, true, false), 0);
  }
}

TEST_CASE("HostArgReduction, EveryLengthAroundTheVectorsEqualsTheReference", "[host]") {
  for (const char* op : kKinds) {
    for (int n = 1; n <= 70; ++n) {
      CheckText(Text(op, "[3," + std::to_string(n) + "]", 1, false, n % 2 == 0), 0);
      CheckText(Text(op, "[3," + std::to_string(n) + "]", 0, true, n % 2 != 0), 0);
    }
  }
}

// Few different values, so that equals meet in and between the vectors; and what is not a number.
TEST_CASE("HostArgReduction, EqualsAndAwkwardElementsEqualTheReference", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float awkward : {kNan, kInfinity, -kInfinity, 0.0F, -0.0F, 5.0F}) {
    for (const size_t at : {0, 1, 7, 15, 16, 17, 33, 40, 50}) {
      std::vector<float> x(51);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 3);
      x[at] = awkward;
      INFO("element " << at << " is " << awkward);
      for (const char* op : kKinds) {
        for (const bool last : {false, true}) {
          CheckAgainstReference(TypedText(Text(op, "[1,51]", 1, false, last)), {Tensor::Float32({1, 51}, x)}, 0);
          CheckAgainstReference(TypedText(Text(op, "[51,1]", 0, false, last)), {Tensor::Float32({51, 1}, x)}, 0);
        }
      }
    }
    for (const char* op : kKinds) {
      CheckAgainstReference(TypedText(Text(op, "[1,40]", 1, false, false)),
                            {Tensor::Float32({1, 40}, std::vector<float>(40, awkward))}, 0);
    }
  }
}

}  // namespace
}  // namespace pt::testing::host_arg_reduction_test
