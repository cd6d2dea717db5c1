// Movement of the host library against the reference library, byte by byte, for every size of element and on slices.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <random>
#include <span>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_movement_test {
namespace {

// One of each size, and bool.
constexpr std::array kTypes = {"bool", "int8", "float16", "float32", "int64", "complex128"};

using Dims = std::vector<int64_t>;

std::string ListText(const Dims& list) {
  std::string text;
  for (int64_t i : list) text += (text.empty() ? "" : ",") + std::to_string(i);
  return "[" + text + "]";
}

std::string ConstText(const std::string& name, const Dims& list) {
  std::string text = "const " + name + " int64[" + std::to_string(list.size()) + "] ints";
  for (int64_t i : list) text += " " + std::to_string(i);
  return text + "\n";
}

void CheckTypes(const std::string& text, std::span<const char* const> types = kTypes) {
  for (const char* type : types) {
    std::string typed = text;
    for (size_t at; (at = typed.find("TYPE")) != std::string::npos;) typed.replace(at, 4, type);
    CheckText(typed, 0);
  }
}

void CheckTranspose(const Dims& dims, const Dims& perm) {
  CheckTypes("input x TYPE" + ListText(dims) + "\ny = Transpose(x) perm=" + ListText(perm) + "\noutput y\n");
}

TEST_CASE("HostTranspose, EveryPermutationEqualsTheReference", "[host]") {
  Dims perm = {0, 1, 2, 3};
  do CheckTranspose({3, 5, 4, 7}, perm);
  while (std::next_permutation(perm.begin(), perm.end()));
  CheckTranspose({}, {});
  CheckTranspose({5}, {0});
}

// Squares of every element size, with whatever is left beside them.
TEST_CASE("HostTranspose, EverySideAroundTheVectorsEqualsTheReference", "[host]") {
  for (const int64_t rows : {1, 2, 3, 4, 8, 15, 16, 17, 31, 33, 64, 67}) {
    for (const int64_t columns : {1, 2, 3, 7, 8, 16, 19, 65}) {
      CheckTranspose({rows, columns}, {1, 0});
      CheckTranspose({2, rows, columns}, {2, 0, 1});
    }
  }
  CheckTranspose({1, 9000, 3}, {0, 2, 1});
  CheckTranspose({3, 9001}, {1, 0});
  CheckTranspose({0, 4}, {1, 0});
}

TEST_CASE("HostConcat, AlongEveryAxisEqualsTheReference", "[host]") {
  for (int axis = -3; axis < 3; ++axis) {
    std::string text;
    for (const int part : {0, 1, 2}) {
      Dims dims = {2, 3, 5};
      dims[static_cast<size_t>((axis + 3) % 3)] = std::array{4, 0, 7}[static_cast<size_t>(part)];
      text += "input x" + std::to_string(part) + " TYPE" + ListText(dims) + "\n";
    }
    CheckTypes(text + "y = Concat(x0, x1, x2) axis=" + std::to_string(axis) + "\noutput y\n");
  }
  CheckText("input a float32[2,3]\nconst b float32[2,4] random 3\ny = Concat(b, a, b) axis=1\noutput y\n", 0);
  CheckText("input a float32[2,90000]\ninput b float32[2,50001]\ny = Concat(a, b) axis=1\noutput y\n", 0);
}

TEST_CASE("HostSplit, AlongEveryAxisEqualsTheReference", "[host]") {
  for (int axis = -3; axis < 3; ++axis) {
    const std::string tail = " axis=" + std::to_string(axis) + "\noutput a\noutput b\noutput c\n";
    CheckTypes("input x TYPE[6,6,6]\n" + ConstText("s", {1, 0, 5}) + "a, b, c = Split(x, s)" + tail);
    CheckTypes("input x TYPE[6,6,6]\na, b, c = Split(x) num_outputs=3" + tail);
  }
  // A part that nobody reads.
  CheckText("input x float32[4,7]\n" + ConstText("s", {3, 4}) + "a, b = Split(x, s) axis=1\noutput b\n", 0);
}

void CheckSlice(const std::string& type, const Dims& dims, const Dims& starts, const Dims& ends, const Dims& axes,
                const Dims& steps) {
  CheckText("input x " + type + ListText(dims) + "\n" + ConstText("s", starts) + ConstText("e", ends) +
                ConstText("a", axes) + ConstText("t", steps) + "y = Slice(x, s, e, a, t)\noutput y\n",
            0);
}

TEST_CASE("HostSlice, EveryRangeAndStepEqualsTheReference", "[host]") {
  constexpr int64_t kFar = 1000000, kFarthest = std::numeric_limits<int64_t>::max();
  for (const int64_t start : {-kFarthest, -kFar, int64_t{-7}, int64_t{-3}, int64_t{0}, int64_t{2}, int64_t{6}, kFar}) {
    for (const int64_t end : {-kFarthest, int64_t{-8}, int64_t{-2}, int64_t{0}, int64_t{3}, int64_t{7}, kFarthest}) {
      for (const int64_t step : {-kFar, int64_t{-3}, int64_t{-1}, int64_t{1}, int64_t{2}, kFar}) {
        CheckSlice("float32", {7}, {start}, {end}, {0}, {step});
      }
    }
  }
  for (const char* type : kTypes) {
    CheckSlice(type, {4, 5, 6}, {3, 1}, {-9, 5}, {0, -1}, {-1, 2});
    CheckSlice(type, {4, 5, 6}, {1, 0, 1}, {3, 5, 4}, {0, 1, 2}, {1, 1, 1});
  }
  CheckText(
      "input x float32[4,5]\n" + ConstText("s", {1, 2}) + ConstText("e", {3, 5}) + "y = Slice(x, s, e)\noutput y\n", 0);
}

void CheckPad(const std::string& type, const Dims& dims, const Dims& pads, const std::string& mode) {
  CheckText("input x " + type + ListText(dims) + "\n" + ConstText("p", pads) + "y = Pad(x, p) mode=\"" + mode +
                "\"\noutput y\n",
            0);
}

TEST_CASE("HostPad, EveryModeEqualsTheReference", "[host]") {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    for (const char* type : kTypes) {
      CheckPad(type, {2, 3, 4}, {0, 1, 2, 1, 0, 3}, mode);
      CheckPad(type, {1, 5}, {0, 11, 0, 13}, mode);
    }
    for (int64_t before = -3; before <= 9; ++before) {
      for (int64_t behind = -2; behind <= 9; behind += 3) {
        CheckPad("float32", {5}, {before, behind}, mode);
        CheckPad("float32", {2, 5, 1}, {1, before, 0, 0, behind, 2}, mode);
      }
    }
    CheckPad("float32", {1, 3, 40, 50}, {0, 0, 3, 3, 0, 0, 3, 3}, mode);
  }
  CheckPad("float32", {0, 3}, {2, 1, 1, 1}, "constant");
  CheckText("input x float32[2,3]\nconst v float32[] value 2.5\n" + ConstText("p", {1, 1}) + ConstText("a", {-1}) +
                "y = Pad(x, p, v, a)\noutput y\n",
            0);
  CheckText("input x float32[2,3]\ninput v float32[]\n" + ConstText("p", {1, 1, 0, 2}) + "y = Pad(x, p, v)\noutput y\n",
            0);
}

TEST_CASE("HostExpandAndTile, EveryDimEqualTheReference", "[host]") {
  CheckTypes("input x TYPE[3,1,5]\n" + ConstText("s", {2, 1, 4, 1}) + "y = Expand(x, s)\noutput y\n");
  CheckTypes("input x TYPE[1]\n" + ConstText("s", {3, 40}) + "y = Expand(x, s)\noutput y\n");
  CheckTypes("input x TYPE[7,1]\n" + ConstText("s", {7, 33}) + "y = Expand(x, s)\noutput y\n");
  CheckTypes("input x TYPE[2,3,5]\n" + ConstText("r", {2, 3, 4}) + "y = Tile(x, r)\noutput y\n");
  CheckTypes("input x TYPE[2,3]\n" + ConstText("r", {0, 2}) + "y = Tile(x, r)\noutput y\n");
}

TEST_CASE("HostDepthAndSpace, BothModesEqualTheReference", "[host]") {
  for (const int b : {1, 2, 3}) {
    const std::string block = " blocksize=" + std::to_string(b) + "\noutput y\n";
    for (const char* mode : {"DCR", "CRD"}) {
      CheckTypes("input x TYPE[2,36,3,5]\ny = DepthToSpace(x) mode=\"" + std::string(mode) + "\"" + block);
    }
    CheckTypes("input x TYPE[2,5,6,12]\ny = SpaceToDepth(x)" + block);
  }
}

TEST_CASE("HostGather, EveryAxisAndIndexEqualsTheReference", "[host]") {
  for (const char* type : kTypes) {
    for (int axis = -3; axis < 3; ++axis) {
      const std::string text = "input x " + std::string(type) + "[5,4,6]\nconst i int64[2,3] ints 0 -1 3 -4 2 2\n";
      CheckText(text + "y = Gather(x, i) axis=" + std::to_string(axis) + "\noutput y\n", 0);
    }
  }
  const Graph graph = TypedText("input x float32[50,7]\ninput i int32[3,2]\ny = Gather(x, i)\noutput y\n");
  const Tensor x = RandomTensor(DataType::kFloat32, {50, 7}, 1);
  const auto indices = [](const std::vector<int32_t>& i) { return Tensor::Of<int32_t>(DataType::kInt32, {3, 2}, i); };
  CheckAgainstReference(graph, {x, indices({49, 0, -50, -1, 7, 7})}, 0);
  CheckText("input x float32[4,3]\nconst i int64[] ints -2\ny = Gather(x, i) axis=1\noutput y\n", 0);
  CheckText("input x float32[4,3]\nconst i int64[0] ints\ny = Gather(x, i) axis=1\noutput y\n", 0);
}

// The indices of the slice x[:, from:from+n:step, ...], given for the first `depth` dims of x.
std::string ScatterText(const Dims& x, const Dims& from, const Dims& size, const Dims& step, bool negative) {
  const size_t depth = from.size();
  Dims list, index(depth, 0), updates = size;
  updates.insert(updates.end(), x.begin() + static_cast<ptrdiff_t>(depth), x.end());
  int64_t count = 1;
  for (int64_t n : size) count *= n;
  for (int64_t i = 0; i < count; ++i) {
    for (size_t d = 0; d < depth; ++d) list.push_back(from[d] + index[d] * step[d] - (negative ? x[d] : 0));
    for (size_t d = depth; d-- > 0;) {
      if (++index[d] < size[d]) break;
      index[d] = 0;
    }
  }
  Dims index_dims = size;
  index_dims.push_back(static_cast<int64_t>(depth));
  std::string text = "input x TYPE" + ListText(x) + "\ninput u TYPE" + ListText(updates) + "\n";
  text += "const i int64" + ListText(index_dims) + " ints";
  for (int64_t i : list) text += " " + std::to_string(i);
  return text + "\ny = ScatterND(x, i, u)\noutput y\n";
}

TEST_CASE("HostScatter, AssignmentsToSlicesEqualTheReference", "[host]") {
  // The reference library has no complex numbers here.
  const auto check = [](const std::string& text) { CheckTypes(text, std::span(kTypes).first(5)); };
  check(ScatterText({4, 6, 5}, {1}, {1}, {1}, false));
  check(ScatterText({4, 6, 5}, {0}, {4}, {1}, true));
  check(ScatterText({4, 6, 5}, {1, 2}, {2, 3}, {2, 1}, false));
  check(ScatterText({4, 6, 5}, {0, 1, 0}, {4, 2, 3}, {1, 3, 2}, true));
  check(ScatterText({1, 4, 6, 5}, {0, 0, 4, 0}, {1, 4, 2, 5}, {1, 1, 1, 1}, false));
  check(ScatterText({3, 5}, {2, 4}, {1, 1}, {1, 1}, false));
  check("input x TYPE[4,3]\ninput u TYPE[0,3]\nconst i int64[0,1] ints\ny = ScatterND(x, i, u)\noutput y\n");
  check("input x TYPE[4,3]\ninput u TYPE[3]\nconst i int64[1] ints -1\ny = ScatterND(x, i, u)\noutput y\n");
}

TEST_CASE("HostTrilu, EveryDiagonalEqualsTheReference", "[host]") {
  for (const char* dims : {"[2,3,5,7]", "[7,5]", "[1,1]", "[0,3]", "[3,0]", "[2,40,41]"}) {
    for (int upper = 0; upper < 2; ++upper) {
      const std::string tail = " upper=" + std::to_string(upper) + "\noutput y\n";
      CheckTypes("input x TYPE" + std::string(dims) + "\ny = Trilu(x)" + tail);
      for (const char* k : {"-9223372036854775808", "-8", "-2", "1", "5", "9223372036854775807"}) {
        CheckText("input x float32" + std::string(dims) + "\nconst k int64[] ints " + k + "\ny = Trilu(x, k)" + tail,
                  0);
      }
    }
  }
  const Graph graph = TypedText("input x int64[4,6]\ninput k int64[1]\ny = Trilu(x, k)\noutput y\n");
  CheckAgainstReference(graph, {RandomTensor(DataType::kInt64, {4, 6}, 1), Tensor::Int64({1}, {-2})}, 0);
}

}  // namespace
}  // namespace pt::testing::host_movement_test
