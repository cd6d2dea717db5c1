// Recognised LSTM cells, in every way exporters spell them out.
#include "test/transform/passes_lab.h"

namespace pt::testing::lstm_cells_test {
namespace {

// LSTM cells spelled out step by step, in the ways that exporters have.
struct SpelledOut {
  int steps = 3, batch = 2, input = 5, hidden = 4;
  std::string gates = "ifog";    // as the Split gives them
  bool h_first = false;          // Concat(h, x)
  bool swapped = false;          // the operands of sums and products the other way round
  std::string product = "Gemm";  // or "Gemm transposed", "Gemm bare", "MatMul"
  std::string begin = "";        // of names: layers differ in it
  std::string x = "x";           // of the inputs: x0, x1, …
};

std::string Cells(const SpelledOut& c) {
  const auto dims = [](int a, int b) { return "[" + std::to_string(a) + "," + std::to_string(b) + "]"; };
  const std::string p = c.begin;
  const int rows = c.input + c.hidden, columns = 4 * c.hidden;
  const bool transposed = c.product == "Gemm transposed", matmul = c.product == "MatMul";
  std::string text =
      "const " + p + "w float32" + (transposed ? dims(columns, rows) : dims(rows, columns)) + " random 1\n";
  text += "const " + p + "b float32[" + std::to_string(columns) + "] random 2\n";
  const auto two = [&](const std::string& op, const std::string& a, const std::string& b) {
    return op + (c.swapped ? "(" + b + ", " + a + ")\n" : "(" + a + ", " + b + ")\n");
  };
  std::string h = p + "h_", cell = p + "c_";
  text += "input " + h + " float32" + dims(c.batch, c.hidden) + "\ninput " + cell + " float32" +
          dims(c.batch, c.hidden) + "\n";
  for (int t = 0; t < c.steps; ++t) {
    const std::string n = std::to_string(t), x = c.x + n, q = p + "q" + n;
    text += q + " = Concat(" + (c.h_first ? h + ", " + x : x + ", " + h) + ") axis=1\n";
    if (matmul) {
      text +=
          p + "m" + n + " = MatMul(" + q + ", " + p + "w)\n" + p + "s" + n + " = " + two("Add", p + "m" + n, p + "b");
    } else {
      text += p + "s" + n + " = Gemm(" + q + ", " + p + "w" + (c.product == "Gemm bare" ? "" : ", " + p + "b") + ")" +
              (transposed ? " transB=1" : "") + "\n";
    }
    std::string parts;
    for (const char gate : c.gates) parts += (parts.empty() ? "" : ", ") + p + gate + n;
    text += parts + " = Split(" + p + "s" + n + ") axis=-1 num_outputs=4\n";
    for (const char gate : std::string("ifo")) text += p + "S" + gate + n + " = Sigmoid(" + p + gate + n + ")\n";
    text += p + "T" + n + " = Tanh(" + p + "g" + n + ")\n";
    text += p + "k" + n + " = " + two("Mul", p + "Sf" + n, cell) + p + "a" + n + " = " +
            two("Mul", p + "Si" + n, p + "T" + n);
    cell = p + "c" + n;
    text += cell + " = " + two("Add", p + "k" + n, p + "a" + n) + p + "U" + n + " = Tanh(" + cell + ")\n";
    h = p + "h" + n;
    text += h + " = " + two("Mul", p + "So" + n, p + "U" + n);
  }
  return text;
}

std::string Inputs(const SpelledOut& c) {
  std::string text;
  for (int t = 0; t < c.steps; ++t) {
    text += "input " + c.x + std::to_string(t) + " float32[" + std::to_string(c.batch) + "," + std::to_string(c.input) +
            "]\n";
  }
  return text;
}

size_t CountOf(const Ops& ops, std::string_view op) {
  return static_cast<size_t>(std::count(ops.begin(), ops.end(), op));
}

TEST_CASE("RollLstmCells, EverySpellingBecomesOneLstm", "[transform]") {
  std::string gates = "fgio";
  do {
    for (const bool h_first : {false, true}) {
      for (const bool swapped : {false, true}) {
        for (const char* product : {"Gemm", "Gemm transposed", "Gemm bare", "MatMul"}) {
          SpelledOut c;
          c.gates = gates;
          c.h_first = h_first;
          c.swapped = swapped;
          c.product = product;
          INFO(gates << " " << product << " " << h_first << swapped);
          const Ops ops = OperatorsAfter(Inputs(c) + Cells(c) + "output h2\n");
          CHECK(CountOf(ops, "LSTM") == 1);
          CHECK(CountOf(ops, "Sigmoid") == 0);
        }
      }
    }
  } while (std::next_permutation(gates.begin(), gates.end()));
}

TEST_CASE("RollLstmCells, StatesThatAreNeededAreGivenOut", "[transform]") {
  SpelledOut c;
  for (const char* outputs : {"output h0\noutput h2\n", "output h2\noutput c2\n", "output c2\n",
                              "output h1\noutput c2\n", "z = Exp(h0)\nv = Add(z, h2)\noutput v\n"}) {
    INFO(outputs);
    CHECK(CountOf(OperatorsAfter(Inputs(c) + Cells(c) + outputs), "LSTM") == 1);
  }
  // The state between two cells is none of the operator's outputs: what comes after it still is a chain.
  c.steps = 5;
  const Ops ops = OperatorsAfter(Inputs(c) + Cells(c) + "output c1\noutput h4\n");
  CHECK(CountOf(ops, "LSTM") == 2);
  CHECK(CountOf(ops, "Sigmoid") == 0);
}

TEST_CASE("RollLstmCells, LayersPassTheirStatesOnWhole", "[transform]") {
  SpelledOut low, high;
  low.begin = "l";
  high.begin = "u";
  high.x = "lh";
  high.input = low.hidden;
  const Ops ops = OperatorsAfter(Inputs(low) + Cells(low) + Cells(high) + "output uh2\n");
  CHECK(CountOf(ops, "LSTM") == 2);
  CHECK(CountOf(ops, "Split") == 0);
  CHECK(CountOf(ops, "Concat") == 1);
}

// Each could be rolled alone; both would wait for each other.
TEST_CASE("RollLstmCells, OfTwoChainsThatFeedEachOtherOneIsRolled", "[transform]") {
  SpelledOut low, high;
  low.begin = "l";
  low.x = "lx";
  high.begin = "u";
  high.x = "ux";
  low.input = high.input = 4;
  const std::string text =
      "input lx0 float32[2,4]\ninput lx1 float32[2,4]\ninput ux0 float32[2,4]\ninput ux1 float32[2,4]\n"
      "lx2 = Exp(uh1)\nux2 = Exp(lh0)\n";
  const Ops ops = OperatorsAfter(text + Cells(low) + Cells(high) + "output lh2\noutput uh2\n");
  CHECK(CountOf(ops, "LSTM") == 1);
  CHECK(CountOf(ops, "Sigmoid") == 9);
}

TEST_CASE("RollLstmCells, CellsThatAreNoChainStay", "[transform]") {
  SpelledOut c;
  const auto lstms = [](const std::string& text) { return CountOf(OperatorsAfter(text), "LSTM"); };
  c.steps = 1;
  CHECK(lstms(Inputs(c) + Cells(c) + "output h0\n") == 0);
  // What a step reads comes from the step before it.
  c.steps = 2;
  c.input = c.hidden;
  const std::string fed = "input x0 float32[2,4]\nx1 = Exp(h0)\n";
  CHECK(lstms(fed + Cells(c) + "output h1\n") == 0);
  c.steps = 3;
  std::string text = Inputs(c) + Cells(c) + "output h2\n";
  const auto edited = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    const size_t at = other.find(from);
    REQUIRE(at != std::string::npos);
    return other.replace(at, from.size(), to);
  };
  // Another function, another scale, a gate read twice, the other state handed on.
  CHECK(lstms(edited("Si1 = Sigmoid(i1)", "Si1 = HardSigmoid(i1)")) == 0);
  CHECK(lstms(edited("s1 = Gemm(q1, w, b)", "s1 = Gemm(q1, w, b) alpha=2.0")) == 0);
  CHECK(lstms(edited("output h2\n", "output h2\noutput Sf1\n")) == 0);
  CHECK(lstms(edited("q1 = Concat(x1, h0)", "q1 = Concat(x1, h_)")) == 1);
  CHECK(lstms(edited("k1 = Mul(Sf1, c0)", "k1 = Mul(Sf1, c_)")) == 1);
}

}  // namespace
}  // namespace pt::testing::lstm_cells_test
