// Products of 8-bit integers on panels: the loops of every set of instructions against plain ones, and every group of
// the host library that begins with MatMulInteger or ConvInteger against the reference library.
#include <algorithm>
#include <random>

#include "lib/backend/host_kernels/products/integer_panels.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_integer_product_test {
namespace {

std::string Size(int64_t n) { return std::to_string(n); }

// Memory aligned for panels.
struct Panels {
  explicit Panels(int64_t bytes) : memory(static_cast<size_t>(bytes) + 64) {
    void* at = memory.data();
    size_t room = memory.size();
    data = static_cast<int8_t*>(std::align(64, static_cast<size_t>(bytes), at, room));
  }
  std::vector<int8_t> memory;
  int8_t* data = nullptr;
};

void CheckLoops(const host::IntegerPanels& loops, std::mt19937& random) {
  const auto upto = [&](uint32_t most) { return static_cast<int64_t>(random() % most) + 1; };
  const int64_t rows = upto(20), depth = upto(90), columns = upto(160), gap = upto(3) - 1;
  const bool a_flips = random() % 2 != 0, b_flips = random() % 2 != 0, has_zeros = random() % 2 != 0;
  INFO(rows << " x " << depth << " x " << columns << ", " << a_flips << b_flips << has_zeros);
  std::vector<uint8_t> a(static_cast<size_t>(rows * depth)), b(static_cast<size_t>(depth * columns));
  std::ranges::generate(a, [&] { return static_cast<uint8_t>(random()); });
  std::ranges::generate(b, [&] { return static_cast<uint8_t>(random()); });
  const int64_t padded = (columns + loops.columns - 1) / loops.columns * loops.columns, deep = (depth + 3) / 4 * 4;
  const Panels panels(padded * deep);
  std::vector<int32_t> sums(static_cast<size_t>(padded)), zeros(sums.size()), terms(sums.size());
  loops.pack({b.data(), columns, depth, columns, b_flips, panels.data, sums.data()});
  std::vector<int32_t> row_zeros(static_cast<size_t>(rows)), row_sums(row_zeros.size());
  std::ranges::generate(row_zeros, [&] { return static_cast<int32_t>(random() % 256); });
  for (size_t j = 0; j < zeros.size(); ++j) {
    zeros[j] = has_zeros ? static_cast<int32_t>(random() % 256) - 128 : 0;
    terms[j] = sums[j] - static_cast<int32_t>(depth) * zeros[j];
  }
  loops.sum_rows({a.data(), depth, a_flips, rows, depth, row_sums.data()});
  constexpr int32_t kFiller = 77;
  std::vector<int32_t> c(static_cast<size_t>(rows * (columns + gap)), kFiller);
  loops.multiply({.a = a.data(),
                  .a_row_stride = depth,
                  .flips = a_flips,
                  .panels = panels.data,
                  .rows = rows,
                  .depth = depth,
                  .columns = columns,
                  .row_zeros = row_zeros.data(),
                  .column_terms = terms.data(),
                  .row_sums = has_zeros ? row_sums.data() : nullptr,
                  .column_zeros = zeros.data(),
                  .integers = c.data(),
                  .c_row_stride = columns + gap});
  bool right = true;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns + gap; ++j) {
      int32_t sum = j < columns ? 0 : kFiller;
      for (int64_t k = 0; k < depth && j < columns; ++k) {
        const int x = a[static_cast<size_t>(i * depth + k)], y = b[static_cast<size_t>(k * columns + j)];
        sum += ((a_flips ? x ^ 0x80 : x) - row_zeros[static_cast<size_t>(i)]) *
               (static_cast<int8_t>(b_flips ? y ^ 0x80 : y) - zeros[static_cast<size_t>(j)]);
      }
      right = right && c[static_cast<size_t>(i * (columns + gap) + j)] == sum;
    }
  }
  CHECK(right);
}

TEST_CASE("HostIntegerProduct, EverySetOfInstructionsEqualsPlainLoops", "[host]") {
  const uint32_t seed = 20263;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const host::IntegerPanels& loops : host::IntegerPanelsOfProcessor()) {
    INFO("panels of " << loops.columns);
    for (int i = 0; i < 300; ++i) CheckLoops(loops, random);
  }
}

// Sums beyond 32 bits wrap around.
TEST_CASE("HostIntegerProduct, SumsWrapAround", "[host]") {
  CheckText(
      "const a uint8[1,40000] value 255\nconst b uint8[40000,2] value 255\ninput z uint8[]\ny = MatMulInteger(a, b, "
      "z)\noutput y\n",
      0);
}

struct Sides {
  std::string a_type, b_type, a_dims, b_dims;
  bool constant;

  std::string text() const {
    const std::string b = " " + b_type + b_dims;
    return "input a " + a_type + a_dims + "\n" + (constant ? "const b" + b + " whole 3\n" : "input b" + b + "\n");
  }
};

// Zero points of both sides: none, one, several; known before the run and in it.
std::vector<std::string> ZeroPoints(const Sides& sides, const std::string& rows, const std::string& columns) {
  const auto zero = [&](const char* side, const std::string& dims, const char* how) {
    const std::string& type = side[0] == 'a' ? sides.a_type : sides.b_type;
    return std::string(how[0] == 'i' ? "input " : "const ") + side + "z " + type + dims + " " +
           (how[0] == 'i' ? "" : how) + "\n";
  };
  const std::string both = "y = MatMulInteger(a, b, az, bz)\n";
  return {"y = MatMulInteger(a, b)\n",
          zero("a", "[]", "input") + "y = MatMulInteger(a, b, az)\n",
          zero("a", "[1]", "ints 117") + zero("b", "[]", "ints 9") + both,
          zero("a", "[]", "input") + zero("b", "[" + columns + "]", "value 5") + both,
          zero("a", "[]", "input") + zero("b", "[" + columns + "]", "whole 7") + both,
          zero("a", "[" + rows + "]", "input") + zero("b", "[" + columns + "]", "input") + both};
}

TEST_CASE("HostIntegerProduct, MatricesOfAllTypesAndZeroPointsEqualTheReference", "[host]") {
  for (const std::string a : {"uint8", "int8"}) {
    for (const std::string b : {"int8", "uint8"}) {
      for (const bool constant : {true, false}) {
        for (const auto& [rows, depth, columns] :
             std::vector<std::array<int, 3>>{{1, 1, 1}, {1, 7, 40}, {5, 33, 1}, {9, 16, 33}, {3, 130, 70}}) {
          const Sides sides{a, b, "[" + Size(rows) + "," + Size(depth) + "]",
                            "[" + Size(depth) + "," + Size(columns) + "]", constant};
          for (const std::string& zeros : ZeroPoints(sides, Size(rows), Size(columns))) {
            CheckText(sides.text() + zeros + "output y\n", 0);
          }
        }
      }
    }
  }
}

TEST_CASE("HostIntegerProduct, EverySizeAroundTheTilesEqualsTheReference", "[host]") {
  for (int n = 1; n <= 40; ++n) {
    for (const auto& [m, k, c] : std::vector<std::array<int, 3>>{{n, 6, 9}, {3, n, 9}, {9, 5, n}}) {
      CheckText("input a uint8[" + Size(m) + "," + Size(k) + "]\nconst b int8[" + Size(k) + "," + Size(c) +
                    "] whole 2\ninput z uint8[]\nconst w int8[" + Size(c) + "] whole 4\n" +
                    "y = MatMulInteger(a, b, z, w)\noutput y\n",
                0);
    }
  }
  // Few rows are computed across several panels; many in blocks.
  for (const int m : {1, 2, 3, 4, 7, 65, 130}) {
    for (const int c : {31, 64, 65, 128, 129, 257}) {
      CheckText("input a uint8[" + Size(m) + ",50]\nconst b int8[50," + Size(c) +
                    "] whole 2\ninput z uint8[]\ny = MatMulInteger(a, b, z)\noutput y\n",
                0);
    }
  }
}

TEST_CASE("HostIntegerProduct, VectorsStacksAndBroadcastingEqualTheReference", "[host]") {
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{{"[7]", "[7]"},
                                                                             {"[7]", "[7,40]"},
                                                                             {"[5,7]", "[7]"},
                                                                             {"[2,3,5,7]", "[7,9]"},
                                                                             {"[2,3,5,7]", "[2,3,7,9]"},
                                                                             {"[2,1,5,7]", "[3,7,9]"},
                                                                             {"[5,7]", "[2,3,7,40]"},
                                                                             {"[7]", "[2,7,9]"},
                                                                             {"[2,5,7]", "[7]"},
                                                                             {"[0,7]", "[7,9]"},
                                                                             {"[5,7]", "[7,0]"}}) {
    for (const bool constant : {true, false}) {
      const Sides sides{"uint8", "int8", a, b, constant};
      CheckText(sides.text() + "y = MatMulInteger(a, b)\noutput y\n", 0);
      CheckText(sides.text() + "input az uint8[]\nconst bz int8[] ints 3\ny = MatMulInteger(a, b, az, bz)\noutput y\n",
                0);
    }
  }
  for (const bool constant : {true, false}) {
    const Sides sides{"int8", "uint8", "[2,3,5,7]", "[2,3,7,9]", constant};
    CheckText(sides.text() + "input az int8[5]\nconst bz uint8[9] whole 3\ny = MatMulInteger(a, b, az, bz)\noutput y\n",
              0);
    CheckText(
        sides.text() + "input az int8[2,3,5,1]\ninput bz uint8[2,3,1,9]\ny = MatMulInteger(a, b, az, bz)\noutput y\n",
        0);
  }
  CheckText(
      "input a uint8[2,3,5,7]\nconst b int8[7,9] whole 1\ninput az uint8[2,3,5,1]\ninput bz int8[1,9]\n"
      "y = MatMulInteger(a, b, az, bz)\noutput y\n",
      0);
}

TEST_CASE("HostIntegerProduct, RandomProductsEqualTheReference", "[host]") {
  const uint32_t seed = 20264;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return Size(static_cast<int>(random() % most) + 1); };
  const auto type = [&] { return random() % 2 != 0 ? std::string("uint8") : std::string("int8"); };
  for (int i = 0; i < 40; ++i) {
    const std::string rows = upto(150), depth = upto(200), columns = upto(200);
    const Sides sides{type(), type(), "[" + rows + "," + depth + "]", "[" + depth + "," + columns + "]",
                      random() % 2 != 0};
    const auto zeros = ZeroPoints(sides, rows, columns);
    CheckText(sides.text() + zeros[random() % zeros.size()] + "output y\n", 0);
  }
}

// What quantisers write behind the sums, with scales by column and as one number, and what follows. Sums become real
// numbers, are scaled and shifted bit for bit as node by node.
TEST_CASE("HostIntegerProduct, ScaledProductsEqualTheReference", "[host]") {
  for (const std::string columns : {"9", "70"}) {
    for (const std::string dims : {"[5,33]", "[1,33]", "[2,70,33]"}) {
      const std::string sides = "input a uint8" + dims + "\nconst b int8[33," + columns +
                                "] whole 3\ninput z uint8[]\ninput s float32[]\n"
                                "i = MatMulInteger(a, b, z)\nf = Cast(i) to=1\n";
      const std::string row = "const t float32[" + columns + "] random 5\n";
      const std::string one = "const t float32[] value 0.01\n";
      const std::string bias = "const c float32[" + columns + "] random 6\n";
      for (const std::string& scale : {row, one}) {
        CheckText(sides + scale + "k = Mul(s, t)\ny = Mul(f, k)\noutput y\n", 0);
        CheckText(sides + scale + bias + "k = Mul(t, s)\nm = Mul(k, f)\ny = Add(c, m)\noutput y\n", 0);
        CheckText(sides + scale + bias + "k = Mul(t, s)\nm = Mul(k, f)\nd = Add(m, c)\ny = Relu(d)\noutput y\n", 0);
      }
      CheckText(sides + row + "y = Mul(f, t)\noutput y\n", 0);
      CheckText(sides + "y = Mul(f, s)\noutput y\n", 0);
      CheckText(sides + "y = Relu(f)\noutput y\n", 0);
      CheckText(sides + row + bias +
                    "k = Mul(t, s)\nm = Mul(k, f)\nd = Add(m, c)\nconst h float32[] value 0.5\nconst q float32[] value "
                    "1.4142135\nconst o float32[] value 1\nv = Div(d, q)\ne = Erf(v)\nw = Add(e, o)\ng = Mul(d, w)\n"
                    "y = Mul(g, h)\noutput y\n",
                1e-5);
      CheckText(sides + row + "input r float32" + dims.substr(0, dims.rfind(',')) + "," + columns +
                    "]\nk = Mul(t, s)\nm = Mul(k, f)\ny = Add(m, r)\noutput y\n",
                1e-5);
    }
  }
}

// The scale's own product belongs to the group: nothing of it is a step of its own.
TEST_CASE("HostIntegerProduct, TheWholePatternIsOneGroup", "[host]") {
  const Graph graph = TypedText(
      "input x float32[8,32]\nconst b int8[32,16] whole 1\nconst v int8[16] value 0\nconst t float32[16] random 2\n"
      "const c float32[16] random 3\nq, s, z = DynamicQuantizeLinear(x)\nk = Mul(s, t)\ni = MatMulInteger(q, b, z, v)\n"
      "f = Cast(i) to=1\nm = Mul(f, k)\na = Add(m, c)\ny = Tanh(a)\noutput y\n");
  const auto candidates = HostLibrary()->Candidates(graph, MakeTestPlatform(2, false), Precision());
  const auto offers = [&](size_t nodes, uint32_t past) {
    return std::ranges::any_of(candidates, [&](const Candidate& candidate) {
      return candidate.nodes.size() == nodes && candidate.nodes.front() == NodeId(1U) &&
             candidate.nodes.back() == NodeId(past);
    });
  };
  CHECK(offers(6, 6));
  CHECK(offers(5, 5));
}

TEST_CASE("HostIntegerProduct, ConvolutionsEqualTheReference", "[host]") {
  struct Shape {
    std::string x, w, attributes, filters;
  };
  for (const Shape& shape :
       std::vector<Shape>{{"[1,1,28,28]", "[8,1,5,5]", "pads=[2,2,2,2]", "8"},
                          {"[2,3,9,7]", "[5,3,3,3]", "pads=[1,0,2,1] strides=[2,1]", "5"},
                          {"[1,4,11,13]", "[6,2,3,2]", "group=2 dilations=[2,3]", "6"},
                          {"[2,6,8,8]", "[6,1,3,3]", "group=6 pads=[1,1,1,1] strides=[1,2]", "6"},
                          {"[1,8,6,6]", "[40,8,1,1]", "", "40"},
                          {"[2,3,37]", "[4,3,5]", "pads=[2,2] strides=[3]", "4"},
                          {"[1,2,5,6,7]", "[3,2,2,3,3]", "pads=[0,1,1,1,1,0]", "3"},
                          {"[1,3,10,10]", "[4,3,4,4]", "auto_pad=\"SAME_UPPER\"", "4"},
                          // One row by each image: by windows, not by panels.
                          {"[2,5,9,41]", "[5,1,5,5]", "group=5 pads=[2,2,2,2]", "5"},
                          {"[1,3,7,70]", "[3,1,3,3]", "group=3 strides=[2,2] pads=[1,1,1,1]", "3"},
                          {"[1,3,7,70]", "[3,1,3,3]", "group=3 strides=[1,3] dilations=[2,2]", "3"},
                          {"[1,4,9,11]", "[2,2,3,3]", "group=2", "2"},
                          {"[2,3,20,37]", "[1,3,3,3]", "pads=[1,1,1,1]", "1"}}) {
    for (const std::string x : {"uint8", "int8"}) {
      for (const std::string w : {"int8", "uint8"}) {
        const std::string sides =
            "input x " + x + shape.x + "\nconst w " + w + shape.w + " whole 1\ninput xz " + x + "[]\n";
        const std::string call = shape.attributes + "\noutput y\n";
        CheckText(sides + "y = ConvInteger(x, w) " + call, 0);
        CheckText(sides + "y = ConvInteger(x, w, xz) " + call, 0);
        CheckText(sides + "const wz " + w + "[] ints 9\ny = ConvInteger(x, w, xz, wz) " + call, 0);
        CheckText(sides + "const wz " + w + "[" + shape.filters + "] whole 5\ny = ConvInteger(x, w, xz, wz) " + call,
                  0);
      }
    }
  }
}

TEST_CASE("HostIntegerProduct, ScaledConvolutionsEqualTheReference", "[host]") {
  const std::string sides =
      "input x uint8[2,3,9,7]\nconst w int8[6,3,3,3] whole 1\ninput z uint8[]\ninput s float32[]\n"
      "i = ConvInteger(x, w, z) pads=[1,1,1,1]\nf = Cast(i) to=1\n";
  const std::string bias = "const c float32[6,1,1] random 6\n";
  CheckText(sides + "const t float32[] value 0.01\nk = Mul(s, t)\ny = Mul(f, k)\noutput y\n", 0);
  CheckText(sides + bias + "const t float32[1,6,1,1] random 2\nk = Mul(s, t)\nm = Mul(f, k)\nd = Add(m, c)\n" +
                "y = Relu(d)\noutput y\n",
            0);
  CheckText(sides + bias + "const t float32[7] random 2\nm = Mul(f, t)\ny = Add(m, c)\noutput y\n", 0);
  CheckText(sides + "y = Relu(f)\noutput y\n", 0);
  const std::string windows =
      "input x int8[2,6,9,37]\nconst w uint8[6,1,3,3] whole 1\ninput z int8[]\ninput s float32[]\n"
      "i = ConvInteger(x, w, z) pads=[1,1,1,1] group=6\nf = Cast(i) to=1\nconst t float32[6,1,1] random 2\n"
      "k = Mul(s, t)\nm = Mul(f, k)\nd = Add(m, c)\n";
  CheckText(bias + windows + "y = Relu(d)\noutput y\n", 0);
  CheckText(bias + windows + "y = Sigmoid(d)\noutput y\n", 1e-6);
}

}  // namespace
}  // namespace pt::testing::host_integer_product_test
