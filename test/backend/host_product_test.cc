// Products with constant matrices of the host library against the reference library: sizes around the vectors' and the
// tiles', what is added and computed behind them, and several products of one input.
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_product_test {
namespace {

std::string Size(int n) { return std::to_string(n); }

std::string Product(int rows, int depth, int columns, const std::string& rest = "") {
  return "input x float32[" + Size(rows) + "," + Size(depth) + "]\nconst w float32[" + Size(depth) + "," +
         Size(columns) + "] random 1\n" + (rest.empty() ? "y = MatMul(x, w)\n" : "m = MatMul(x, w)\n" + rest) +
         "output y\n";
}

size_t CountCandidates(const std::string& text) {
  const Graph graph = TypedText(text);
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision()).size();
}

TEST_CASE("HostProduct, EverySizeAroundTheVectorsEqualsTheReference", "[host]") {
  for (int n = 1; n <= 40; ++n) {
    CheckText(Product(n, 6, 9));
    CheckText(Product(3, n, 9));
    CheckText(Product(9, 5, n));
  }
  // Few rows are computed across several panels.
  for (const int rows : {1, 2, 3, 4, 7}) {
    for (const int columns : {31, 64, 65, 96, 100, 128, 129, 160, 200, 257}) CheckText(Product(rows, 5, columns));
  }
}

TEST_CASE("HostProduct, RandomSizesEqualTheReference", "[host]") {
  const uint32_t seed = 20262;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 30; ++i) CheckText(Product(upto(200), upto(150), upto(300)), 3e-5);
}

TEST_CASE("HostProduct, LargeSizesEqualTheReference", "[host]") {
  CheckText(Product(1, 1000, 1000), 1e-4);
  CheckText(Product(150, 600, 500), 1e-4);
}

// Matrices of a megabyte and more, read as they lie: sizes around the vectors' and the streams', either way round.
TEST_CASE("HostProduct, FewRowsByLargeMatricesEqualTheReference", "[host]") {
  for (const auto& [depth, columns] :
       std::vector<std::pair<int, int>>{{16411, 17}, {8200, 33}, {1031, 1024}, {1024, 1031}, {517, 523}, {17, 16411}}) {
    const std::string k = Size(depth), n = Size(columns), bias = "const b float32[" + n + "] random 2\n";
    for (const int rows : {1, 2, 3, 4}) {
      const std::string x = "input x float32[" + Size(rows) + "," + k + "]\n";
      CheckText(x + bias + "const w float32[" + n + "," + k + "] random 1\ny = Gemm(x, w, b) transB=1\noutput y\n",
                1e-4);
      CheckText(x + bias + "const w float32[" + k + "," + n + "] random 1\nm = Gemm(x, w, b)\ny = Relu(m)\noutput y\n",
                1e-4);
    }
    CheckText(Product(1, depth, columns), 1e-4);
    CheckText(Product(2, depth, columns, bias + "a = Add(m, b)\ny = Tanh(a)\n"), 1e-4);
  }
  const std::string w = "const w float32[700,411] random 1\n";
  CheckText("input x float32[3,1,700]\n" + w + "y = MatMul(x, w)\noutput y\n", 1e-4);
  CheckText("input x float32[700]\n" + w + "y = MatMul(x, w)\noutput y\n", 1e-4);
  CheckText("input x float32[2,700]\n" + w +
                "const v float32[700,400] random 2\na = MatMul(x, w)\nd = MatMul(x, v)\noutput a\noutput d\n",
            1e-4);
}

TEST_CASE("HostProduct, MatricesBeyondTheCachesAreOfferedForFewRows", "[host]") {
  const std::string w = "const w float32[2048,1024] random 1\ny = MatMul(x, w)\noutput y\n";
  CHECK(CountCandidates("input x float32[4,2048]\n" + w) > 0);
  CHECK(CountCandidates("input x float32[5,2048]\n" + w) == 0);
  CheckText("input x float32[1,2048]\n" + w, 1e-4);
}

TEST_CASE("HostProduct, BatchesAndVectorsAreRows", "[host]") {
  const std::string w = "const w float32[5,7] random 1\ny = MatMul(x, w)\noutput y\n";
  for (const char* dims : {"[5]", "[2,3,5]", "[2,1,4,5]", "[0,5]", "[3,0,5]"}) {
    CheckText(std::string("input x float32") + dims + "\n" + w);
  }
}

TEST_CASE("HostProduct, GemmsEqualTheReference", "[host]") {
  const std::string x = "input x float32[5,6]\n";
  CheckText(x + "const w float32[6,9] random 1\ny = Gemm(x, w)\noutput y\n");
  CheckText(x + "const w float32[9,6] random 1\nconst b float32[9] random 2\ny = Gemm(x, w, b) transB=1\noutput y\n");
  CheckText(x +
            "const w float32[70,6] random 1\nconst b float32[1,70] random 2\ny = Gemm(x, w, b) transB=1\n"
            "z = Relu(y)\noutput z\n");
}

TEST_CASE("HostProduct, WhatIsAddedAndComputedBehindEqualsTheReference", "[host]") {
  const std::string bias = "const b float32[9] random 2\n", add = "y = Add(m, b)\n";
  CheckText(Product(5, 6, 9, bias + add));
  CheckText(Product(5, 6, 9, bias + "y = Add(b, m)\n"));
  CheckText(Product(5, 6, 9, bias + "a = Add(m, b)\ny = Tanh(a)\n"));
  CheckText(Product(5, 6, 9, "y = Relu(m)\n"));
  CheckText(Product(5, 6, 9, bias + "input r float32[5,9]\na = Add(m, b)\ny = Add(a, r)\n"));
  CheckText(Product(5, 6, 9, bias + "input r float32[5,1]\na = Add(r, m)\ns = Sigmoid(a)\ny = Mul(s, a)\n"));
  // Gelu as it is exported, and the product read twice.
  const std::string gelu =
      "const h float32[] value 0.5\nconst q float32[] value 1.4142135\nconst o float32[] value 1\na = Add(m, b)\n"
      "d = Div(a, q)\ne = Erf(d)\nf = Add(e, o)\ng = Mul(a, f)\ny = Mul(g, h)\n";
  CheckText(Product(5, 6, 9, bias + gelu));
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{1, 9}, {1, 300}, {3, 2000}, {200, 40}, {70, 33}}) {
    const std::string row = "const b float32[" + Size(columns) + "] random 2\n";
    CheckText(Product(rows, 7, columns, row + gelu));
    CheckText(
        Product(rows, 7, columns,
                row + "a = Add(m, b)\ninput r float32[" + Size(rows) + "," + Size(columns) + "]\ny = Add(a, r)\n"));
  }
}

// Added as the results leave the registers: sizes around the tiles', in either order, with bounds, with more behind,
// and where it is the input itself or made within the group.
TEST_CASE("HostProduct, WithAResidualEqualsTheReference", "[host]") {
  for (int n = 1; n <= 40; ++n) {
    for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{n, 9}, {n, 37}, {5, n}, {9, n}, {16, 2 * n}}) {
      CheckText(Product(rows, 6, columns,
                        "input r float32[" + Size(rows) + "," + Size(columns) + "]\na = Add(m, r)\ny = Relu(a)\n"));
    }
  }
  const std::string r = "input r float32[13,21]\n", row = "const b float32[21] random 2\na = Add(m, b)\n";
  CheckText(Product(13, 6, 21, r + "y = Add(r, m)\n"));
  CheckText(Product(
      13, 6, 21,
      r + row + "const l float32[] value -0.5\nconst h float32[] value 0.25\nc = Add(r, a)\ny = Clip(c, l, h)\n"));
  CheckText(Product(13, 6, 21, r + "a = Add(m, r)\ny = Tanh(a)\n"));
  CheckText(Product(13, 6, 21, r + "a = Add(m, r)\nc = Relu(a)\nd = Mul(c, r)\ny = Add(d, r)\n"));
  CheckText(Product(13, 6, 21, r + "s = Sigmoid(r)\ny = Add(m, s)\n"));
  CheckText(Product(13, 6, 21, "input r float32[13,1]\na = Add(m, r)\ny = Relu(a)\n"));
  CHECK(CountCandidates(Product(13, 6, 21, "input r float32[1,13,21]\na = Add(m, r)\ny = Relu(a)\n")) == 0);
  CheckText(Product(13, 21, 21, "a = Add(m, x)\ny = Relu(a)\n"));
  CheckText(
      "input x float32[2,3,6]\ninput r float32[2,3,9]\nconst w float32[6,9] random 1\nm = MatMul(x, w)\n"
      "a = Add(m, r)\ny = Relu(a)\noutput y\n");
}

// The result may lie on the residual, not on the rows that other parts of the product still read.
TEST_CASE("HostProduct, LiesOnAResidualButNotOnItsInput", "[host]") {
  const auto aliases = [](const std::string& rest) {
    const Graph graph = TypedText(
        "input x float32[8,8]\ninput r float32[8,8]\nconst w float32[8,8] random 1\n"
        "m = MatMul(x, w)\n" +
        rest + "output y\n");
    std::vector<NodeId> nodes;
    for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
    const auto candidates = HostLibrary()->CandidatesFor(graph, MakeTestPlatform(1, false), nodes, Precision());
    REQUIRE(!candidates.empty());
    return candidates[0].aliases.size();
  };
  CHECK(aliases("a = Relu(m)\ny = Add(a, r)\n") == 1);
  CHECK(aliases("a = Relu(m)\ny = Add(a, x)\n") == 0);
  CHECK(aliases("a = Add(m, r)\ny = Relu(a)\n") == 1);
  CHECK(aliases("a = Add(m, x)\ny = Relu(a)\n") == 0);
  CheckText(
      "input x float32[8,8]\nconst w float32[8,8] random 1\nm = MatMul(x, w)\na = Relu(m)\ny = Add(a, x)\noutput y\n");
}

TEST_CASE("HostProduct, SeveralProductsOfOneInputEqualTheReference", "[host]") {
  const std::string x = "input x float32[2,7,6]\n";
  const std::string three =
      "const u float32[6,9] random 1\nconst v float32[6,9] random 2\nconst w float32[6,40] random 3\n"
      "const b float32[9] random 4\nconst c float32[40] random 5\n";
  CheckText(x + three + "a = MatMul(x, u)\nd = MatMul(x, v)\ne = MatMul(x, w)\noutput a\noutput d\noutput e\n");
  CheckText(x + three +
            "a = MatMul(x, u)\nd = MatMul(x, v)\ne = MatMul(x, w)\nf = Add(e, c)\ng = Add(b, a)\noutput f\n"
            "output d\noutput g\n");
}

TEST_CASE("HostProduct, OfferedWithItsBiasItsActivationAndItsSiblings", "[host]") {
  const Graph graph = TypedText(
      "input x float32[4,8]\nconst u float32[8,8] random 1\nconst v float32[8,8] random 2\nconst b float32[8] random "
      "3\n"
      "m = MatMul(x, u)\na = Add(m, b)\nt = Tanh(a)\nn = MatMul(x, v)\noutput t\noutput n\n");
  std::vector<std::vector<size_t>> groups;
  for (const Candidate& candidate : HostLibrary()->Candidates(graph, MakeTestPlatform(1, false), Precision())) {
    std::vector<size_t> nodes;
    for (NodeId node : candidate.nodes) nodes.push_back(node.index());
    groups.push_back(nodes);
  }
  std::sort(groups.begin(), groups.end());
  CHECK(groups == std::vector<std::vector<size_t>>{{0}, {0, 1}, {0, 1, 2}, {0, 1, 3}, {1}, {1, 2}, {2}, {3}});
}

// Gelu and Swish read the product twice.
TEST_CASE("HostProduct, OfferedWithWhatReadsItTwice", "[host]") {
  for (const char* rest : {"s = Sigmoid(a)\ny = Mul(a, s)\n", "e = Erf(a)\nf = Mul(a, e)\ny = Add(a, f)\n"}) {
    const Graph graph = TypedText(
        "input x float32[4,8]\nconst u float32[8,8] random 1\nconst b float32[8] random 3\n"
        "m = MatMul(x, u)\na = Add(m, b)\n" +
        std::string(rest) + "output y\n");
    bool whole = false;
    for (const Candidate& candidate : HostLibrary()->Candidates(graph, MakeTestPlatform(1, false), Precision())) {
      whole = whole || candidate.nodes.size() == graph.nodes().size();
    }
    CHECK(whole);
  }
}

TEST_CASE("HostProduct, WhatIsNoSuchProductIsNotOffered", "[host]") {
  const std::string x = "input x float32[6,6]\nconst w float32[6,6] random 1\n";
  CHECK(CountCandidates(x + "y = MatMul(x, w)\noutput y\n") > 0);
  CHECK(CountCandidates(x + "y = MatMul(w, x)\noutput y\n") == 0);
  CHECK(CountCandidates(x + "y = MatMul(x, x)\noutput y\n") == 0);
  CHECK(CountCandidates(x + "y = Gemm(x, w) transA=1\noutput y\n") == 0);
  CHECK(CountCandidates(x + "y = Gemm(x, w) alpha=2.0\noutput y\n") == 0);
  CHECK(CountCandidates(x + "const c float32[6,1] random 2\ny = Gemm(x, w, c)\noutput y\n") == 0);
  CHECK(CountCandidates("input x float32[6,6]\nconst w float32[2,6,6] random 1\ny = MatMul(x, w)\noutput y\n") == 0);
  // One row of a bias that would add a dim; a chain of two products.
  CHECK(CountCandidates(x + "const c float32[1,1,6] random 2\nm = MatMul(x, w)\ny = Add(m, c)\noutput y\n") == 0);
  CHECK(CountCandidates(x + "m = MatMul(x, w)\ny = MatMul(m, w)\noutput y\n") == 0);
  // What is elementwise around the product makes its input as well.
  CHECK(CountCandidates(x + "r = Relu(x)\na = MatMul(r, w)\nb = Tanh(r)\ny = Add(a, b)\noutput y\n") == 0);
}

}  // namespace
}  // namespace pt::testing::host_product_test
