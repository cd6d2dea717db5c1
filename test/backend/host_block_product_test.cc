// Products with matrices of a few bits an element against the reference library: element types, blocks, either way
// round, sizes around the vectors' and the words', and what follows them.
#include <limits>
#include <random>

#include "partitiontuner/graph/packed_matrix.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_block_product_test {
namespace {

struct Case {
  std::string type = "uint4";
  int rows = 1, depth = 64, columns = 48, block = 32;
  bool zero_points = true, transposed = false;
  std::string behind = "";  // nodes that make y of m
};

std::string Size(int n) { return std::to_string(n); }

std::string Text(const Case& c) {
  const std::string k = Size(c.depth), n = Size(c.columns), blocks = Size((c.depth + c.block - 1) / c.block);
  const std::string dims = c.transposed ? "[" + n + "," + blocks + "]" : "[" + blocks + "," + n + "]";
  std::string text = "input x float32[" + Size(c.rows) + "," + k + "]\nconst q " + c.type +
                     (c.transposed ? "[" + n + "," + k + "]" : "[" + k + "," + n + "]") + " whole 1\nconst s float32" +
                     dims + " random 2\n";
  if (c.zero_points) text += "const z " + c.type + dims + " whole 3\n";
  text += std::string("w = DequantizeLinear(q, s") + (c.zero_points ? ", z" : "") +
          ") axis=" + (c.transposed ? "1" : "0") + " block_size=" + Size(c.block) + "\n";
  const std::string result = c.behind.empty() ? "y" : "m";
  text += result + (c.transposed ? " = Gemm(x, w) transB=1\n" : " = MatMul(x, w)\n");
  return text + c.behind + "output y\n";
}

void Check(const Case& c) { CheckText(Text(c), 3e-5); }

TEST_CASE("HostBlockProduct, EveryTypeAndBlockEqualsTheReference", "[host]") {
  for (const char* type : {"uint4", "int4", "uint8", "int8", "uint2", "int2"}) {
    for (const int block : {16, 32, 64, 128, 256}) {
      for (const bool zero_points : {false, true}) {
        for (const bool transposed : {false, true})
          Check({type, 1 + block % 3, 300, 37, block, zero_points, transposed});
      }
    }
  }
}

TEST_CASE("HostBlockProduct, SizesAroundTheVectorsAndTheWordsEqualTheReference", "[host]") {
  for (int n = 1; n <= 40; ++n) Check({.depth = n, .columns = 19, .block = 16});
  for (int n = 1; n <= 140; n += n < 34 ? 1 : 7) {
    Check({.depth = 37, .columns = n, .block = 16});
    Check({.rows = 3, .depth = 37, .columns = n, .block = 16, .zero_points = false});
  }
  for (int rows = 1; rows <= 20; ++rows) {
    for (const char* type : {"uint4", "int8"}) Check({type, rows, 70, 50, 32});
  }
  Check({.rows = 150, .depth = 520, .columns = 200});
  Check({.rows = 1, .depth = 2100, .columns = 1030, .block = 128});
}

TEST_CASE("HostBlockProduct, RandomSizesEqualTheReference", "[host]") {
  const uint32_t seed = 20261;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 40; ++i) {
    const char* types[] = {"uint4", "int4", "uint8", "int8", "uint2", "int2"};
    Check({types[random() % 6], upto(12), upto(400), upto(200), 16 << random() % 5, random() % 2 == 0,
           random() % 2 == 0});
  }
}

TEST_CASE("HostBlockProduct, OneScaleAColumnOrForAllEqualsTheReference", "[host]") {
  const std::string x = "input x float32[2,70]\n", end = "y = MatMul(x, w)\noutput y\n";
  CheckText(x + "const q int8[70,33] whole 1\nconst s float32[33] random 2\nw = DequantizeLinear(q, s) axis=1\n" + end);
  CheckText(x +
            "const q uint8[70,33] whole 1\nconst s float32[] value 0.01\nconst z uint8[] value 117\n"
            "w = DequantizeLinear(q, s, z)\n" +
            end);
  CheckText(x +
            "const q int4[33,70] whole 1\nconst s float32[33] random 2\nw = DequantizeLinear(q, s) axis=0\n"
            "y = Gemm(x, w) transB=1\noutput y\n");
}

TEST_CASE("HostBlockProduct, WhatFollowsEqualsTheReference", "[host]") {
  const std::string bias = "const b float32[48] random 4\n";
  for (const int rows : {1, 2, 9, 70}) {
    const std::string r = "input r float32[" + Size(rows) + ",48]\n";
    for (const std::string& behind :
         {bias + "y = Add(m, b)\n", bias + "a = Add(b, m)\ny = Relu(a)\n", r + "y = Add(m, r)\n",
          std::string("s1 = Sigmoid(m)\ny = Mul(m, s1)\n"), bias + r + "a = Add(m, b)\nt = Tanh(a)\ny = Mul(t, r)\n"}) {
      Check({.rows = rows, .behind = behind});
    }
  }
}

TEST_CASE("HostBlockProduct, SeveralOfOneInputEqualTheReference", "[host]") {
  std::string text = "input x float32[1,2,64]\n";
  for (const auto& [name, columns] : std::vector<std::pair<std::string, int>>{{"a", 64}, {"b", 16}, {"c", 17}}) {
    const std::string n = Size(columns);
    text += "const q" + name + " uint4[64," + n + "] whole 1\nconst s" + name + " float32[2," + n + "] random 2\nw" +
            name + " = DequantizeLinear(q" + name + ", s" + name + ") axis=0 block_size=32\n" + name +
            " = MatMul(x, w" + name + ")\n";
  }
  CheckText(text + "output a\noutput b\noutput c\n");
}

TEST_CASE("HostBlockProduct, NumbersThatAreNotFiniteGoWhereTheReferenceHasThem", "[host]") {
  for (const char* type : {"uint4", "uint8"}) {
    for (const int rows : {1, 3, 9}) {
      const Graph graph = TypedText(Text({type, rows, 64, 35, 32}));
      std::vector<Tensor> inputs = SeededInputs(graph);
      std::vector<float> x(inputs[0].values<float>().begin(), inputs[0].values<float>().end());
      x[5] = std::numeric_limits<float>::infinity();
      x.back() = std::numeric_limits<float>::quiet_NaN();
      inputs[0] = Tensor::Float32(inputs[0].dims(), x);
      CheckAgainstReference(graph, inputs);
    }
  }
}

TEST_CASE("HostBlockProduct, ItIsOfferedPackedAndDequantised", "[host]") {
  const Graph graph = TypedText(Text({}));
  const std::vector<NodeId> nodes{NodeId(0U), NodeId(1U)};
  std::set<std::string> variants;
  for (const Candidate& candidate :
       HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision())) {
    variants.insert(candidate.variant);
  }
  CHECK(variants == std::set<std::string>{"", "dequantised"});
  // The product alone reads real numbers that are made anew in every run.
  CHECK(HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), {&nodes[1], 1}, Precision()).empty());
}

TEST_CASE("PackedMatrix, WhatVariesOtherwiseIsNone", "[host]") {
  const auto matrix_of = [](const std::string& parameters) {
    const Graph graph =
        TypedText("input x float32[2,64]\nconst q int8[64,48] whole 1\n" + parameters + "y = MatMul(x, w)\noutput y\n");
    return PackedMatrixOf(graph, graph.nodes().back());
  };
  CHECK(matrix_of("const s float32[48] random 2\nw = DequantizeLinear(q, s) axis=1\n").has_value());
  CHECK(!matrix_of("const s float32[64] random 2\nw = DequantizeLinear(q, s) axis=0\n"));
  CHECK(!matrix_of("const s float32[64,3] random 2\nw = DequantizeLinear(q, s) axis=1 block_size=16\n"));
  CHECK(!matrix_of("const s float32[] value inf\nw = DequantizeLinear(q, s)\n"));
  CHECK(!matrix_of("input s float32[48]\nw = DequantizeLinear(q, s) axis=1\n"));
}

}  // namespace
}  // namespace pt::testing::host_block_product_test
