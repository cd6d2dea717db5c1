// Every pass, by its effect on the graph and by running the graph before and after on the reference library.
#include "partitiontuner/transform/passes.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"

namespace pt {
namespace {

PassContext Context() {
  return {EvaluateNode, [](const Graph& graph) { return InferShapes(graph); }, {}};
}

Graph Parsed(std::string_view text) {
  auto graph = ParseGraph(text);
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  auto inferred = InferShapes(*graph);
  INFO((inferred.ok() ? std::string() : ToString(inferred.error())));
  REQUIRE(inferred.ok());
  return *std::move(inferred);
}

std::vector<std::string> Operators(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

// Runs node by node on the reference library; inputs are drawn from a fixed seed.
std::vector<Tensor> RunOnReference(const Graph& graph) {
  std::vector<Tensor> values(graph.values().size());
  for (size_t v = 0; v < values.size(); ++v) {
    if (graph.values()[v].is_constant()) values[v] = *graph.values()[v].constant;
  }
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (ValueId input : graph.inputs()) {
    const auto dims = graph.value(input).type.static_dims();
    REQUIRE(dims);
    size_t count = 1;
    for (int64_t d : *dims) count *= static_cast<size_t>(d);
    std::vector<float> data(count);
    for (float& x : data) x = draw(random);
    values[input.index()] = Tensor::Float32(*dims, data);
  }
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    std::vector<Tensor> inputs;
    for (ValueId input : node.inputs) inputs.push_back(input.valid() ? values[input.index()] : Tensor());
    auto results = EvaluateNode(graph, NodeId(n), inputs);
    INFO(NodeLabel(graph, NodeId(n)) << ": " << (results.ok() ? "" : ToString(results.error())));
    REQUIRE(results.ok());
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].valid()) values[node.outputs[o].index()] = (*results)[o];
    }
  }
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs()) outputs.push_back(values[output.index()]);
  return outputs;
}

// Simplifies, and proves that names, types and results of the outputs stay; tolerance is of the largest result.
Graph Simplified(const Graph& graph, float tolerance = 1e-5F) {
  auto simple = Simplify(graph, Context());
  INFO((simple.ok() ? std::string() : ToString(simple.error())));
  REQUIRE(simple.ok());
  const std::vector<Tensor> before = RunOnReference(graph), after = RunOnReference(*simple);
  REQUIRE(after.size() == before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(graph.value(graph.outputs()[i]).name == simple->value(simple->outputs()[i]).name);
    REQUIRE(before[i].type() == after[i].type());
    REQUIRE(before[i].dims() == after[i].dims());
    if (before[i].type() != DataType::kFloat32) {
      CHECK(before[i].ToInts() == after[i].ToInts());
      continue;
    }
    float largest = 0, difference = 0;
    for (int64_t e = 0; e < before[i].element_count(); ++e) {
      const float a = before[i].values<float>()[static_cast<size_t>(e)],
                  b = after[i].values<float>()[static_cast<size_t>(e)];
      largest = std::max(largest, std::abs(a));
      difference = std::max(difference, std::abs(a - b));
    }
    CHECK(difference <= tolerance * largest);
  }
  return *std::move(simple);
}

std::vector<std::string> OperatorsAfter(std::string_view text) { return Operators(Simplified(Parsed(text))); }

using Ops = std::vector<std::string>;

TEST_CASE("FoldConstants, ShapeArithmeticBecomesOneConstant", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[2,3,4]
const zero int64[1] ints 0
const rest int64[1] ints -1
s = Shape(x)
n = Gather(s, zero)
t = Concat(n, rest) axis=0
y = Reshape(x, t)
output y
)") == Ops{"Reshape"});
}

TEST_CASE("FoldConstants, KeepsWhatIsDrawnAtRandom", "[transform]") {
  auto simple = Simplify(Parsed("r = RandomNormal() shape=[2,2]\ny = Relu(r)\noutput y\n"), Context());
  REQUIRE(simple.ok());
  CHECK(Operators(*simple) == Ops{"RandomNormal", "Relu"});
}

TEST_CASE("FoldConstants, LeavesResultsOverTheLimit", "[transform]") {
  PassContext context = Context();
  context.limits.folded_bytes = 1 << 10;
  const Graph graph =
      Parsed("const d int64[2] ints 64 64\nw = ConstantOfShape(d)\ninput x float32[64,64]\ny = Add(x, w)\noutput y\n");
  auto small = Simplify(graph, context);
  REQUIRE(small.ok());
  CHECK(Operators(*small) == Ops{"ConstantOfShape", "Add"});
  auto large = Simplify(graph, Context());
  REQUIRE(large.ok());
  CHECK(Operators(*large) == Ops{"Add"});
}

TEST_CASE("RemoveNoOps, ChainOfIdentitiesVanishes", "[transform]") {
  CHECK(OperatorsAfter(
            "input x float32[2,3]\na = Identity(x)\nb = Identity(a)\nc = Relu(b)\ny = Identity(c)\noutput y\n") ==
        Ops{"Relu"});
}

TEST_CASE("RemoveNoOps, OutputThatIsTheInputKeepsItsName", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\ny = Identity(x)\noutput y\n") == Ops{"Identity"});
}

TEST_CASE("RemoveNoOps, NeutralFactorsGoUnlessTheyBroadcast", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\nconst one float32[1] ones\na = Mul(x, one)\ny = Relu(a)\noutput y\n") ==
        Ops{"Relu"});
  CHECK(OperatorsAfter("input x float32[1,3]\nconst one float32[2,3] ones\na = Mul(x, one)\ny = Relu(a)\noutput y\n") ==
        Ops{"Mul", "Relu"});
}

TEST_CASE("RemoveNoOps, TransposeOfEqualDimsStays", "[transform]") {
  CHECK(OperatorsAfter("input x float32[3,3]\na = Transpose(x) perm=[1,0]\ny = Relu(a)\noutput y\n") ==
        Ops{"Transpose", "Relu"});
  CHECK(OperatorsAfter("input x float32[3,3]\na = Transpose(x) perm=[0,1]\ny = Relu(a)\noutput y\n") == Ops{"Relu"});
}

TEST_CASE("MergeViews, OppositeTransposesCancel", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3,4]\na = Transpose(x) perm=[2,0,1]\nb = Transpose(a) perm=[1,2,0]\ny = "
                       "Relu(b)\noutput y\n") == Ops{"Relu"});
  CHECK(OperatorsAfter("input x float32[2,3,4]\na = Transpose(x) perm=[2,0,1]\nb = Transpose(a) perm=[2,0,1]\ny = "
                       "Relu(b)\noutput y\n") == Ops{"Transpose", "Relu"});
}

TEST_CASE("MergeViews, ChainOfReshapesIsOne", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[2,3,4]
const a int64[1] ints -1
const b int64[2] ints 4 6
u = Reshape(x, a)
v = Reshape(u, b)
y = Relu(v)
output y
)") == Ops{"Reshape", "Relu"});
}

TEST_CASE("FoldBatchNormalization, ConvTakesScaleAndShift", "[transform]") {
  for (const char* convolution : {"c = Conv(x, w)\n", "c = Conv(x, w, b)\n"}) {
    CHECK(OperatorsAfter(std::string(R"(
input x float32[1,3,5,5]
const w float32[4,3,3,3] random 1
const b float32[4] random 2
const scale float32[4] random 3
const shift float32[4] random 4
const mean float32[4] random 5
const variance float32[4] value 0.7
)") + convolution + "y = BatchNormalization(c, scale, shift, mean, variance)\noutput y\n") == Ops{"Conv"});
  }
}

TEST_CASE("FoldBatchNormalization, ConvReadElsewhereStays", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[1,3,5,5]
const w float32[4,3,3,3] random 1
const scale float32[4] random 3
const shift float32[4] random 4
const mean float32[4] random 5
const variance float32[4] value 0.7
c = Conv(x, w)
n = BatchNormalization(c, scale, shift, mean, variance)
y = Add(c, n)
output y
)") == Ops{"Conv", "BatchNormalization", "Add"});
}

TEST_CASE("FoldBatchNormalization, GemmAndGroupedConvTranspose", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[2,3]
const w float32[3,4] random 1
const b float32[4] random 2
const scale float32[4] random 3
const shift float32[4] random 4
const mean float32[4] random 5
const variance float32[4] value 0.7
c = Gemm(x, w, b)
y = BatchNormalization(c, scale, shift, mean, variance)
output y
)") == Ops{"Gemm"});
  CHECK(OperatorsAfter(R"(
input x float32[1,4,3,3]
const w float32[4,3,2,2] random 1
const scale float32[6] random 3
const shift float32[6] random 4
const mean float32[6] random 5
const variance float32[6] value 0.7
c = ConvTranspose(x, w) group=2
y = BatchNormalization(c, scale, shift, mean, variance)
output y
)") == Ops{"ConvTranspose"});
}

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

TEST_CASE("ShareCommonSubexpressions, EqualNodesBecomeOne", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\na = Exp(x)\nb = Exp(x)\ny = Add(a, b)\noutput y\n") == Ops{"Exp", "Add"});
  CHECK(OperatorsAfter("input x float32[2,3]\na = Elu(x) alpha=1.0\nb = Elu(x) alpha=2.0\ny = Add(a, b)\noutput y\n") ==
        Ops{"Elu", "Elu", "Add"});
}

// Scales a, b and c, and zero points of 8 bits for them.
constexpr std::string_view kQuantisations =
    "const sa float32[] value 0.05\nconst za uint8[] value 128\nconst sb float32[] value 0.11\nconst zb uint8[] value "
    "3\n"
    "const sw float32[] value 0.02\nconst zw int8[] value 0\n";
Ops QuantisedAfter(std::string_view text) { return OperatorsAfter(std::string(kQuantisations) + std::string(text)); }

TEST_CASE("MoveQuantisation, IntegersTravelThroughMoves", "[transform]") {
  // Through each alone, with the pair around it gone.
  for (const char* move : {"Transpose(r) perm=[0,2,1,3]", "MaxPool(r) kernel_shape=[2,2] strides=[2,2]", "Flatten(r)",
                           "DepthToSpace(r) blocksize=2", "Reshape(r, shape)"}) {
    INFO(move);
    const Ops ops = QuantisedAfter(
        "input x float32[2,4,6,6]\nconst shape int64[2] ints 2 -1\nq = QuantizeLinear(x, sa, za)\n"
        "r = DequantizeLinear(q, sa, za)\nm = " +
        std::string(move) + "\np = QuantizeLinear(m, sa, za)\noutput p\n");
    REQUIRE(ops.size() == 2);
    CHECK(std::ranges::find(ops, "QuantizeLinear") != ops.end());
    CHECK(std::ranges::find(ops, "DequantizeLinear") == ops.end());
  }
  // Unequal parameters: the pair meets and stays.
  CHECK(QuantisedAfter("input x float32[2,4,6,6]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n"
                       "m = MaxPool(r) kernel_shape=[3,3] pads=[1,1,1,1]\np = QuantizeLinear(m, sb, zb)\noutput p\n") ==
        Ops{"QuantizeLinear", "MaxPool", "DequantizeLinear", "QuantizeLinear"});
}

TEST_CASE("MoveQuantisation, PairOfUnequalParametersStays", "[transform]") {
  CHECK(QuantisedAfter("input x float32[40]\nq = QuantizeLinear(x, sb, zb)\nr = DequantizeLinear(q, sb, zb)\n"
                       "p = QuantizeLinear(r, sa, za)\nd = DequantizeLinear(p, sa, za)\noutput d\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "DequantizeLinear"});
}

TEST_CASE("MoveQuantisation, ConcatIsOfIntegers", "[transform]") {
  constexpr std::string_view kTwo =
      "input x float32[2,3,4]\ninput y float32[2,5,4]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, "
      "za)\n";
  CHECK(QuantisedAfter(std::string(kTwo) + "p = QuantizeLinear(y, sa, za)\ns = DequantizeLinear(p, sa, za)\n"
                                           "c = Concat(r, s) axis=1\nz = Relu(c)\noutput z\n") ==
        Ops{"QuantizeLinear", "QuantizeLinear", "Concat", "DequantizeLinear", "Relu"});
  // Quantised once more, each by itself, where they differ.
  const Ops ops = QuantisedAfter(std::string(kTwo) +
                                 "p = QuantizeLinear(y, sb, zb)\ns = DequantizeLinear(p, sb, zb)\n"
                                 "c = Concat(r, s) axis=1\nz = QuantizeLinear(c, sa, za)\noutput z\n");
  CHECK(ops == Ops{"QuantizeLinear", "QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "Concat"});
}

TEST_CASE("MoveQuantisation, OutputsKeepTheirNames", "[transform]") {
  // p equals q; both are outputs, so one is made from the other.
  CHECK(QuantisedAfter("input x float32[2,6]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n"
                       "m = Transpose(r) perm=[1,0]\np = QuantizeLinear(r, sa, za)\noutput m\noutput p\noutput q\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "Transpose", "QuantizeLinear", "DequantizeLinear"});
}

TEST_CASE("SplitDequantisation, EveryReaderHasItsOwn", "[transform]") {
  const Ops ops = QuantisedAfter(
      "input x float32[2,6]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n"
      "a = Exp(r)\nb = Sin(r)\ny = Add(a, b)\nz = Add(y, r)\noutput z\n");
  CHECK(std::ranges::count(ops, "DequantizeLinear") == 3);
}

TEST_CASE("FoldConstants, KeepsTheIntegersOfQuantisedProducts", "[transform]") {
  constexpr std::string_view kData = "input x float32[1,4,6,6]\nconst w int8[8,4,3,3] whole 1\n";
  constexpr std::string_view kInts = "q = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n";
  const auto after = [&](std::string_view front, std::string_view rest) {
    return QuantisedAfter(std::string(kData) + std::string(front) + std::string(rest));
  };
  constexpr std::string_view kConv = "v = DequantizeLinear(w, sw, zw)\ny = Conv(r, v)\noutput y\n";
  CHECK(after(kInts, kConv) == Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"});
  // A product of real numbers has real weights.
  CHECK(after("r = Relu(x)\n", kConv) == Ops{"Relu", "Conv"});
  // Zero points that do not fit 8-bit weights, and scales along the wrong axis, make real weights, too.
  CHECK(after(kInts, "const z int8[] value 5\nv = DequantizeLinear(w, sw, z)\ny = Conv(r, v)\noutput y\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "Conv"});
  CHECK(after(kInts,
              "const s float32[4] random 3\nconst t float32[4] ones\nv = DequantizeLinear(w, t) axis=1\n"
              "y = Conv(r, v)\noutput y\n") == Ops{"QuantizeLinear", "DequantizeLinear", "Conv"});
  CHECK(after(kInts, "const t float32[8] ones\nv = DequantizeLinear(w, t) axis=0\ny = Conv(r, v)\noutput y\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"});
  // Both kinds of readers get what they want.
  const Ops both = after(kInts,
                         "v = DequantizeLinear(w, sw, zw)\ny = Conv(r, v)\nf = Relu(x)\ng = Conv(f, v)\n"
                         "z = Add(y, g)\noutput z\n");
  CHECK(std::ranges::count(both, "DequantizeLinear") == 2);
  CHECK(std::ranges::count(both, "Conv") == 2);
}

TEST_CASE("FoldConstants, TransposedIntegersOfProductsStayIntegers", "[transform]") {
  const Ops ops = QuantisedAfter(
      "input x float32[5,7]\nconst w int8[9,7] whole 1\nq = QuantizeLinear(x, sa, za)\n"
      "r = DequantizeLinear(q, sa, za)\nv = DequantizeLinear(w, sw, zw)\nt = Transpose(v) perm=[1,0]\n"
      "y = MatMul(r, t)\noutput y\n");
  CHECK(ops == Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "MatMul"});
}

TEST_CASE("ExpandQLinear, ComputesTheSameUpToOneUnit", "[transform]") {
  const Graph graph = Parsed(std::string(kQuantisations) +
                             "input x float32[1,4,6,6]\nconst w int8[8,4,3,3] whole 1\nconst b int32[8] random 2\n"
                             "const ws float32[8] floats 0.01 0.02 0.03 0.01 0.004 0.01 0.02 0.01\n"
                             "const wz int8[8] zeros\nq = QuantizeLinear(x, sa, za)\n"
                             "y = QLinearConv(q, sa, za, w, ws, wz, sb, zb, b) pads=[1,1,1,1]\noutput y\n");
  const auto simple = Simplify(graph, Context());
  REQUIRE(simple.ok());
  CHECK(Operators(*simple) == Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv", "QuantizeLinear"});
  const std::vector<int64_t> before = RunOnReference(graph)[0].ToInts(), after = RunOnReference(*simple)[0].ToInts();
  REQUIRE(before.size() == after.size());
  for (size_t i = 0; i < before.size(); ++i) CHECK(std::abs(before[i] - after[i]) <= 1);
  // Parameters that are known only in the run leave it as it is.
  CHECK(QuantisedAfter("input x float32[5,7]\ninput s float32[]\nconst w int8[7,9] whole 1\n"
                       "q = QuantizeLinear(x, sa, za)\ny = QLinearMatMul(q, s, za, w, sw, zw, sb, zb)\noutput y\n") ==
        Ops{"QuantizeLinear", "QLinearMatMul"});
}

TEST_CASE("DropDeadCode, UnreadBranchGoes", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\na = Exp(x)\nb = Relu(x)\noutput b\n") == Ops{"Relu"});
}

TEST_CASE("RecogniseLayerNormalization, NumbersThatAddDimsLeaveItAlone", "[transform]") {
  const Graph simple = Simplified(Parsed(R"(
input x float32[3,8]
const axes int64[1] ints -1
const epsilon float32[1,1,1] value 0.001
mean = ReduceMean(x, axes)
d = Sub(x, mean)
q = Mul(d, d)
v = ReduceMean(q, axes)
e = Add(v, epsilon)
s = Sqrt(e)
y = Div(d, s)
output y
)"));
  CHECK(Operators(simple) == Ops{"ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div"});
}

// The arithmetic of float16 is the pass's to widen; rounding to it stays where the model says Cast.
TEST_CASE("WidenSmallFloats, ArithmeticBetweenCastsIsFloat32", "[transform]") {
  const Graph simple = Simplified(Parsed(R"(
input x float32[1,3,5,5]
const w float32[4,3,3,3] random 1
const b float32[4] random 2
h = Cast(x) to=10
wh = Cast(w) to=10
bh = Cast(b) to=10
c = Conv(h, wh, bh)
r = Relu(c)
y = Cast(r) to=1
output y
)"),
                                  2e-3F);
  CHECK(Operators(simple) == Ops{"Cast", "Cast", "Conv", "Relu", "Cast", "Cast"});
  for (const Node& node : simple.nodes()) {
    if (node.op != "Conv") continue;
    for (ValueId input : node.inputs) CHECK(simple.value(input).type.type == DataType::kFloat32);
    CHECK(simple.value(node.inputs[1]).is_constant());
  }
}

TEST_CASE("WidenSmallFloats, NoOpsInBetweenLeaveNoCasts", "[transform]") {
  const Graph simple = Simplified(Parsed(R"(
input x float32[2,3]
h = Cast(x) to=10
a = Relu(h)
d = Dropout(a)
i = Identity(d)
b = Tanh(i)
y = Cast(b) to=1
output y
)"),
                                  2e-3F);
  CHECK(Operators(simple) == Ops{"Cast", "Cast", "Relu", "Tanh", "Cast", "Cast"});
}

TEST_CASE("WidenSmallFloats, ComparisonsAndOutputsSeeTheSmallType", "[transform]") {
  const Graph simple = Simplified(Parsed(R"(
input x float32[2,3]
h = Cast(x) to=16
s = Add(h, h)
m = Greater(s, h)
output m
output s
)"),
                                  1e-2F);
  REQUIRE(simple.outputs().size() == 2);
  CHECK(simple.value(simple.outputs()[1]).type.type == DataType::kBfloat16);
  for (const Node& node : simple.nodes()) {
    if (node.op == "Add") CHECK(simple.value(node.inputs[0]).type.type == DataType::kFloat32);
    if (node.op == "Greater") CHECK(simple.value(node.inputs[0]).type.type == DataType::kBfloat16);
  }
}

constexpr std::string_view kLayerNormalizationStart = R"(
input x float32[2,3,8]
const axes int64[1] ints -1
const two float32[] value 2
const one float32[] value 1
const epsilon float32[1] value 0.00001
const scale float32[8] random 1
const bias float32[1,8] random 2
mean = ReduceMean(x, axes)
d = Sub(x, mean)
)";

TEST_CASE("RecogniseLayerNormalization, EverySpellingIsOneNode", "[transform]") {
  for (const std::string square : {"q = Pow(d, two)\n", "q = Mul(d, d)\n"}) {
    for (const std::string tail :
         {"n = Div(d, s)\nm = Mul(n, scale)\ny = Add(m, bias)\n",
          "n = Div(d, s)\nm = Mul(scale, n)\ny = Add(bias, m)\n",
          "r = Reciprocal(s)\nn = Mul(d, r)\nm = Mul(n, scale)\ny = Add(m, bias)\n",
          "r = Div(one, s)\nn = Mul(r, d)\nm = Mul(n, scale)\ny = Add(m, bias)\n",
          "r = Reciprocal(s)\ng = Mul(r, scale)\na = Mul(x, g)\nb = Mul(mean, g)\nc = Sub(bias, b)\ny = Add(a, c)\n",
          "y = Div(d, s)\n", "n = Div(d, s)\ny = Mul(n, scale)\n"}) {
      INFO(square << tail);
      CHECK(OperatorsAfter(std::string(kLayerNormalizationStart) + square +
                           "v = ReduceMean(q, axes)\ne = Add(v, epsilon)\ns = Sqrt(e)\n" + tail + "output y\n") ==
            Ops{"LayerNormalization"});
    }
  }
}

TEST_CASE("RecogniseLayerNormalization, SeveralTrailingDimsAndWhatDoesNotFitStaysBehind", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[2,3,4]
const axes int64[2] ints 1 2
const epsilon float32[] value 0.001
const scale float32[1] value 0.5
mean = ReduceMean(x, axes)
d = Sub(x, mean)
q = Mul(d, d)
v = ReduceMean(q, axes)
e = Add(epsilon, v)
s = Sqrt(e)
n = Div(d, s)
y = Mul(n, scale)
output y
)") == Ops{"LayerNormalization", "Mul"});
}

TEST_CASE("RecogniseLayerNormalization, OtherReadersAxesOrOrderLeaveItAlone", "[transform]") {
  const std::string tail = "n = Div(d, s)\nm = Mul(n, scale)\ny = Add(m, bias)\noutput y\n";
  const auto recognised = [](const std::string& text) {
    const Ops ops = OperatorsAfter(text);
    return std::find(ops.begin(), ops.end(), "LayerNormalization") != ops.end();
  };
  const std::string start(kLayerNormalizationStart);
  const std::string middle = "q = Mul(d, d)\nv = ReduceMean(q, axes)\ne = Add(v, epsilon)\ns = Sqrt(e)\n";
  CHECK(recognised(start + middle + tail));
  CHECK_FALSE(recognised(start + middle + "n = Div(s, d)\ny = Mul(n, scale)\noutput y\n"));
  CHECK_FALSE(recognised(start + middle + "z = Relu(v)\n" + tail + "output z\n"));
  CHECK_FALSE(recognised(start + middle + tail + "output mean\n"));
  CHECK_FALSE(recognised(start + "q = Mul(d, x)\nv = ReduceMean(q, axes)\ne = Add(v, epsilon)\ns = Sqrt(e)\n" + tail));
  CHECK_FALSE(recognised(start +
                         "const other int64[1] ints 1\nq = Mul(d, d)\nv = ReduceMean(q, other)\n"
                         "e = Add(v, epsilon)\ns = Sqrt(e)\n" +
                         tail));
}

TEST_CASE("SinkViews, BiasActivationResidualAndNormalisationComeBeforeTheReshape", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[6,4]
input z float32[2,3,8]
const w float32[4,8] random 1
const bias float32[8] random 2
const half float32[1,1,1] value 0.5
const scale float32[8] random 3
const shape int64[3] ints 2 3 8
m = MatMul(x, w)
v = Reshape(m, shape)
a = Add(v, bias)
e = Erf(a)
g = Mul(a, e)
h = Mul(half, g)
r = Add(z, h)
y = LayerNormalization(r, scale)
output y
)") == Ops{"MatMul", "Add", "Erf", "Mul", "Mul", "Reshape", "Add", "LayerNormalization", "Reshape"});
}

TEST_CASE("SinkViews, StaysWhereTheLastDimChangesOrAnOperandBroadcastsOtherwise", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[6,4]
const w float32[4,8] random 1
const bias float32[4] random 2
const shape int64[3] ints 6 2 4
m = MatMul(x, w)
v = Reshape(m, shape)
y = Add(v, bias)
output y
)") == Ops{"MatMul", "Reshape", "Add"});
  CHECK(OperatorsAfter(R"(
input x float32[6,4]
const w float32[4,8] random 1
const rows float32[3,1] random 2
const shape int64[3] ints 2 3 8
m = MatMul(x, w)
v = Reshape(m, shape)
y = Add(v, rows)
output y
)") == Ops{"MatMul", "Reshape", "Add"});
  CHECK(OperatorsAfter(R"(
input x float32[6,4]
const w float32[4,8] random 1
const many float32[5,1,1,8] random 2
const shape int64[3] ints 2 3 8
m = MatMul(x, w)
v = Reshape(m, shape)
y = Add(v, many)
output y
)") == Ops{"MatMul", "Reshape", "Add"});
}

TEST_CASE("Passes, SourcesOfMergedNodesAreKept", "[transform]") {
  const Graph graph =
      Parsed("input x float32[2,3,4]\na = Transpose(x) perm=[2,0,1]\ny = Transpose(a) perm=[2,0,1]\noutput y\n");
  const Graph simple = Simplified(graph);
  REQUIRE(simple.nodes().size() == 1);
  CHECK(simple.nodes()[0].source.size() == graph.nodes()[0].source.size() + graph.nodes()[1].source.size());
}

}  // namespace
}  // namespace pt
