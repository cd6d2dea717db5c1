// Reductions of the host library against the reference library: every kind over every set of axes, every length around
// the vectors', and the elements that reductions go wrong on.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <limits>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_reduction_test {
namespace {

constexpr std::array kKinds = {"ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                               "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSum",       "ReduceSumSquare"};

std::string Text(const std::string& op, const std::string& dims, const std::string& axes, bool keep) {
  return "input x float32" + dims + "\ny = " + op + "(x) axes=" + axes + " keepdims=" + (keep ? "1" : "0") +
         "\noutput y\n";
}

std::string AxesText(uint32_t set, size_t rank) {
  std::string text;
  for (size_t d = 0; d < rank; ++d) {
    if ((set >> d & 1) == 0) continue;
    // Every other one counted from the end.
    const int64_t axis = static_cast<int64_t>(d) - (d % 2 == 0 ? 0 : static_cast<int64_t>(rank));
    text += (text.empty() ? "" : ",") + std::to_string(axis);
  }
  return "[" + text + "]";
}

TEST_CASE("HostReduction, EveryKindOverEverySetOfAxesEqualsTheReference", "[host]") {
  for (const char* op : kKinds) {
    for (uint32_t set = 1; set < 16; ++set) CheckText(Text(op, "[3,5,4,7]", AxesText(set, 4), set % 3 != 0));
  }
}

TEST_CASE("HostReduction, EveryLengthAroundTheVectorsEqualsTheReference", "[host]") {
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceLogSumExp"}) {
    for (int n = 0; n <= 70; ++n) {
      CheckText(Text(op, "[2," + std::to_string(n) + "]", "[1]", false));
      CheckText(Text(op, "[3," + std::to_string(n) + "]", "[0]", true));
      CheckText(Text(op, "[" + std::to_string(n) + ",20,3]", "[2]", true));
    }
  }
}

// Many lines of few elements, contiguous and apart from each other.
TEST_CASE("HostReduction, ManyShortLinesEqualTheReference", "[host]") {
  for (const char* op : kKinds) {
    for (int n = 1; n <= 16; ++n) {
      CheckText(Text(op, "[700," + std::to_string(n) + "]", "[1]", false), 1e-6);
      CheckText(Text(op, "[2,40," + std::to_string(n) + "]", "[2]", true), 1e-6);
    }
  }
}

// So large that the cores share what becomes one result.
TEST_CASE("HostReduction, FewLargeResultsEqualTheReference", "[host]") {
  for (const char* op : kKinds) {
    CheckText(Text(op, "[70001]", "[0]", false), 1e-4);
    CheckText(Text(op, "[2,211,317]", "[1,2]", false), 1e-4);
    CheckText(Text(op, "[5003,1,17]", "[0]", true), 1e-4);
    CheckText(Text(op, "[311,2,129]", "[0,2]", true), 1e-4);
    CheckText(Text(op, "[1,40,1031]", "[1]", true), 1e-4);
  }
}

TEST_CASE("HostReduction, EmptyTensorsEqualTheReference", "[host]") {
  for (const char* op : kKinds) {
    CheckText(Text(op, "[0,3]", "[0]", true));
    CheckText(Text(op, "[3,0]", "[1]", false));
    CheckText(Text(op, "[0,3]", "[1]", true));
    CheckText(Text(op, "[0]", "[0]", false));
  }
}

// NaN and infinities at any place of a vector, overflow in float where the result is finite, and cancellation.
TEST_CASE("HostReduction, AwkwardElementsEqualTheReference", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> sets = {{kNan},
                                                {kInfinity},
                                                {-kInfinity},
                                                {kInfinity, -kInfinity},
                                                {kNan, kInfinity},
                                                {3e38F, 3e38F, -3e38F},
                                                {1e20F, 1e-20F},
                                                {1e-30F},
                                                {-0.0F},
                                                {std::numeric_limits<float>::denorm_min()}};
  for (const char* op : kKinds) {
    for (const std::vector<float>& set : sets) {
      for (const size_t at : {0, 1, 15, 16, 17, 33, 36}) {
        std::vector<float> x(37, set[0] == 1e-30F ? 1e-30F : 0.5F);
        for (size_t i = 0; i < set.size(); ++i) x[(at + 5 * i) % x.size()] = set[i];
        INFO(op << ", element " << at << " is " << set[0]);
        CheckAgainstReference(TypedText(Text(op, "[1,37]", "[1]", false)), {Tensor::Float32({1, 37}, x)});
        CheckAgainstReference(TypedText(Text(op, "[37,1]", "[0]", true)), {Tensor::Float32({37, 1}, x)});
      }
    }
    for (const float all : {kInfinity, -kInfinity, kNan}) {
      CheckAgainstReference(TypedText(Text(op, "[2,37]", "[1]", false)),
                            {Tensor::Float32({2, 37}, std::vector<float>(74, all))});
      CheckAgainstReference(TypedText(Text(op, "[3,40]", "[0]", false)),
                            {Tensor::Float32({3, 40}, std::vector<float>(120, all))});
    }
  }
}

TEST_CASE("HostReduction, NoAxesMeansAllOrNothing", "[host]") {
  CheckText("input x float32[3,4]\ny = ReduceSumSquare(x)\noutput y\n");
  CheckText("input x float32[3,4]\ny = ReduceSumSquare(x) noop_with_empty_axes=1\noutput y\n");
  CheckText("input x float32[3,4]\nconst axes int64[1] ints -2\ny = ReduceSum(x, axes) keepdims=0\noutput y\n");
  CheckText("input x float32[]\ny = ReduceSum(x) keepdims=0\noutput y\n");
}

TEST_CASE("HostReduction, RandomShapesEqualTheReference", "[host]") {
  const uint32_t seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 150; ++i) {
    const size_t rank = 1 + random() % 6;
    std::string dims;
    for (size_t d = 0; d < rank; ++d) dims += (d == 0 ? "[" : ",") + std::to_string(1 + random() % (rank > 3 ? 6 : 40));
    const auto set = static_cast<uint32_t>(1 + random() % ((1U << rank) - 1));
    CheckText(Text(kKinds[random() % kKinds.size()], dims + "]", AxesText(set, rank), random() % 2 == 0), 1e-4);
  }
}

constexpr std::array kIntegerKinds = {"ReduceL1",   "ReduceMax", "ReduceMean",     "ReduceMin",
                                      "ReduceProd", "ReduceSum", "ReduceSumSquare"};

TEST_CASE("HostReduction, IntegersOverEverySetOfAxesEqualTheReference", "[host]") {
  for (const char* op : kIntegerKinds) {
    for (const char* type : {"int32", "int64"}) {
      for (const char* dims : {"[3,5,4,7]", "[2,0,4,3]", "[1,40,1,333]"}) {
        for (uint32_t set = 1; set < 16; ++set) {
          const std::string text = "input x " + std::string(type) + dims + "\ny = " + op +
                                   "(x) axes=" + AxesText(set, 4) + " keepdims=" + (set % 3 != 0 ? "1" : "0") +
                                   "\noutput y\n";
          CheckText(text, 0);
        }
      }
    }
  }
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  for (const char* op : kIntegerKinds) {
    CheckAgainstReference(TypedText("input x int64[2,3]\ny = " + std::string(op) + "(x) axes=[1]\noutput y\n"),
                          {Tensor::Int64({2, 3}, {kLeast, kMost, -1, kLeast, kLeast, 3})}, 0);
  }
}

TEST_CASE("HostCumSum, EveryAxisTypeAndDirectionEqualsTheReference", "[host]") {
  for (const char* type : {"float32", "int32", "int64"}) {
    for (const char* dims : {"[3,5,7]", "[2,300,3]", "[4,2,1000]", "[3,0,2]", "[1,1,1]"}) {
      for (int axis = -3; axis < 3; ++axis) {
        const std::string head = "input x " + std::string(type) + dims + "\nconst a int64[] ints " +
                                 std::to_string(axis) + "\ny = CumSum(x, a)";
        for (const char* tail : {"", " exclusive=1", " reverse=1", " exclusive=1 reverse=1"}) {
          CheckText(head + tail + "\noutput y\n", 0);
        }
      }
    }
  }
  CheckText("input x float32[37]\nconst a int32[1] ints -1\ny = CumSum(x, a)\noutput y\n", 0);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  CheckAgainstReference(TypedText("input x int64[3]\nconst a int64[] ints 0\ny = CumSum(x, a)\noutput y\n"),
                        {Tensor::Int64({3}, {kMost, kMost, -5})}, 0);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CheckAgainstReference(TypedText("input x float32[5]\nconst a int64[] ints 0\ny = CumSum(x, a)\noutput y\n"),
                        {Tensor::Float32({5}, {1e38F, 3e38F, 3e38F, kInfinity, -kInfinity})}, 0);
}

}  // namespace
}  // namespace pt::testing::host_reduction_test
