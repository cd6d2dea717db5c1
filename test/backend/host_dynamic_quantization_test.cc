// DynamicQuantizeLinear of the host library against the reference library, bit for bit.
#include <cmath>
#include <limits>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_dynamic_quantization_test {
namespace {

void CheckData(const std::vector<float>& x) {
  const std::string n = std::to_string(x.size());
  CheckAgainstReference(TypedText("input x float32[" + n +
                                  "]\nq, s, z = DynamicQuantizeLinear(x)\noutput q\noutput "
                                  "s\noutput z\n"),
                        {Tensor::Float32({static_cast<int64_t>(x.size())}, x)}, 0);
}

TEST_CASE("HostDynamicQuantization, RandomDataEqualTheReference", "[host]") {
  for (const char* dims : {"[1]", "[15]", "[16]", "[3,40]", "[20003]", "[2,3,5,129]", "[0]", "[3,0]", "[]"}) {
    CheckText(
        std::string("input x float32") + dims + "\nq, s, z = DynamicQuantizeLinear(x)\noutput q\noutput s\noutput z\n",
        0);
  }
  CheckText("input x float32[9000]\nq, s, z = DynamicQuantizeLinear(x)\noutput s\n", 0);
  CheckText("input x float32[9000]\nq, s, z = DynamicQuantizeLinear(x)\noutput q\n", 0);
}

// From ends of the range to the middle between two steps, where the even one is taken.
TEST_CASE("HostDynamicQuantization, EveryHalfStepEqualsTheReference", "[host]") {
  for (const float low : {0.0F, -51.0F, -127.5F, -255.0F, 3.0F}) {
    std::vector<float> x;
    for (int i = 0; i <= 510; ++i) x.push_back(low + static_cast<float>(i) * 0.5F);
    CheckData(x);
  }
}

TEST_CASE("HostDynamicQuantization, ExtremeDataEqualTheReference", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN(),
                  kMost = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::denorm_min();
  for (const std::vector<float>& ends : std::vector<std::vector<float>>{{0, 0},
                                                                        {-0.0F, 0},
                                                                        {2, 2},
                                                                        {-3, -3},
                                                                        {kNan, 1},
                                                                        {kNan, kNan},
                                                                        {-1, kInfinity},
                                                                        {-kInfinity, 1},
                                                                        {-kInfinity, kInfinity},
                                                                        {-kMost, kMost},
                                                                        {0, kMost},
                                                                        {0, kLeast},
                                                                        {-kLeast * 200, kLeast * 300},
                                                                        {1e-38F, -1e-38F}}) {
    for (const size_t count : {size_t{2}, size_t{37}, size_t{9001}}) {
      std::vector<float> x(count, ends[0]);
      for (size_t i = 1; i < count; i += 3) x[i] = ends[1];
      for (size_t i = 2; i < count; i += 5) x[i] = ends[1] / 2;
      CheckData(x);
    }
  }
}

}  // namespace
}  // namespace pt::testing::host_dynamic_quantization_test
