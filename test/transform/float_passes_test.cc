// Passes for networks of 16-bit floats and transformers: floats widened, LayerNormalization recognised, views sunk.
#include "test/transform/passes_lab.h"

namespace pt::testing::float_passes_test {
namespace {

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
          "m = Mul(scale, d)\nn = Div(m, s)\ny = Add(n, bias)\n", "y = Div(d, s)\n",
          "n = Div(d, s)\ny = Mul(n, scale)\n"}) {
      for (const std::string root : {"s = Sqrt(e)\n", "s = Pow(e, half)\n"}) {
        INFO(square << root << tail);
        CHECK(OperatorsAfter(std::string(kLayerNormalizationStart) + "const half float32[] value 0.5\n" + square +
                             "v = ReduceMean(q, axes)\ne = Add(v, epsilon)\n" + root + tail + "output y\n") ==
              Ops{"LayerNormalization"});
      }
    }
  }
}

TEST_CASE("RecogniseRmsNormalization, EverySpellingIsOneNode", "[transform]") {
  constexpr std::string_view kStart =
      "input x float32[2,3,8]\nconst two float32[] value 2\nconst one float32[] value 1\nconst axes int64[1] ints -1\n"
      "const e float32[] value 0.00001\nconst w float32[8] random 3\n";
  for (const char* square : {"q = Pow(x, two)\n", "q = Mul(x, x)\n"}) {
    for (const char* quotient :
         {"n = Div(x, s)\n", "r = Div(one, s)\nn = Mul(x, r)\n", "r = Reciprocal(s)\nn = Mul(r, x)\n"}) {
      const std::string text =
          std::string(kStart) + square + "m = ReduceMean(q, axes)\na = Add(m, e)\ns = Sqrt(a)\n" + quotient;
      CHECK(OperatorsAfter(text + "y = Mul(w, n)\noutput y\n") == Ops{"RMSNormalization"});
      CHECK(OperatorsAfter(text + "y = Tanh(n)\noutput y\n") == Ops{"RMSNormalization", "Tanh"});
      CHECK(OperatorsAfter(text + "y = Mul(w, n)\noutput y\noutput s\n").size() > 2);
    }
  }
  // The mean of a dim that is not the last, of another value, or a cube.
  CHECK(OperatorsAfter(std::string(kStart) +
                       "const first int64[1] ints 1\nq = Mul(x, x)\nm = ReduceMean(q, first)\na = Add(m, e)\n"
                       "s = Sqrt(a)\ny = Div(x, s)\noutput y\n")
            .size() > 1);
  CHECK(OperatorsAfter(std::string(kStart) +
                       "input v float32[2,3,8]\nq = Mul(x, x)\nm = ReduceMean(q, axes)\na = Add(m, e)\ns = Sqrt(a)\n"
                       "y = Div(v, s)\noutput y\n")
            .size() > 1);
}

TEST_CASE("RecogniseGroupNormalization, WhatExportersWriteIsOneNode", "[transform]") {
  constexpr std::string_view kStart =
      "input x float32[2,6,4,5]\nconst to int64[3] ints 0 3 -1\nconst back int64[4] ints 2 6 4 5\n"
      "const one float32[3] value 1\nconst none float32[3] value 0\nconst s float32[3] random 1\n"
      "const t float32[3] random 2\nconst w float32[6,1,1] random 3\nconst v float32[1,6,1,1] random 4\n";
  const std::string middle = "n = InstanceNormalization(g, s, t) epsilon=0.01\nr = Reshape(n, back)\n";
  const std::string begin = std::string(kStart) + "g = Reshape(x, to)\n";
  for (const auto& [rest, ops] : std::vector<std::pair<std::string, Ops>>{
           {"m = Mul(r, w)\ny = Add(m, v)\noutput y\n", {"GroupNormalization"}},
           {"m = Mul(w, r)\ny = Add(v, m)\noutput y\n", {"GroupNormalization"}},
           {"y = Add(r, v)\noutput y\n", {"GroupNormalization"}},
           {"y = Relu(r)\noutput y\n", {"GroupNormalization", "Relu"}},
           {"m = Mul(r, w)\ny = Mul(m, r)\noutput y\n", {"GroupNormalization", "Mul", "Mul"}}}) {
    INFO(rest);
    CHECK(OperatorsAfter(begin + middle + rest) == ops);
  }
  CHECK(OperatorsAfter(begin +
                       "n = InstanceNormalization(g, one, none)\nr = Reshape(n, back)\ny = Relu(r)\noutput y\n") ==
        Ops{"GroupNormalization", "Relu"});
}

TEST_CASE("RecogniseGroupNormalization, WhatIsReadElsewhereOrIsOtherDimsStaysBehind", "[transform]") {
  const std::string start =
      "input x float32[2,6,4,5]\nconst s float32[3] random 1\nconst t float32[3] random 2\n"
      "const to int64[3] ints 0 3 -1\nconst back int64[4] ints 2 6 4 5\nconst other int64[4] ints 2 6 5 4\n"
      "g = Reshape(x, to)\nn = InstanceNormalization(g, s, t)\n";
  for (const char* rest : {"y = Reshape(n, other)\noutput y\n", "y = Reshape(n, back)\noutput y\noutput n\n",
                           "y = Reshape(n, back)\noutput y\noutput g\n", "y = Relu(n)\noutput y\n"}) {
    INFO(rest);
    const Ops ops = OperatorsAfter(start + rest);
    CHECK(std::ranges::find(ops, "InstanceNormalization") != ops.end());
  }
  // One number for each column is none for a channel.
  const Ops ops =
      OperatorsAfter(start + "const w float32[5] random 3\nr = Reshape(n, back)\ny = Mul(r, w)\noutput y\n");
  CHECK(ops == Ops{"GroupNormalization", "Mul"});
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

// Global normalisation, as networks for speech have it.
TEST_CASE("RecogniseLayerNormalization, OfChannelsAndAllThatIsInThemIsOneGroup", "[transform]") {
  const auto ops = [](const std::string& head, const std::string& scale, const std::string& bias,
                      const std::string& tail) {
    return OperatorsAfter(head +
                          "input x float32[2,3,4]\nconst axes int64[2] ints 1 2\nconst epsilon float32[] value 0.1\n"
                          "const scale float32" +
                          scale + " random 1\nconst bias float32" + bias +
                          " random 2\nmean = ReduceMean(x, axes)\nd = Sub(x, mean)\nq = Mul(d, d)\n"
                          "v = ReduceMean(q, axes)\ne = Add(v, epsilon)\ns = Sqrt(e)\n" +
                          tail + "output y\n");
  };
  const std::string behind = "n = Div(d, s)\nm = Mul(n, scale)\ny = Add(m, bias)\n";
  for (const std::string& tail : {behind, std::string("m = Mul(scale, d)\nn = Div(m, s)\ny = Add(n, bias)\n"),
                                  std::string("n = Div(d, s)\ny = Mul(n, scale)\n")}) {
    INFO(tail);
    CHECK(ops("", "[1,3,1]", "[3,1]", tail) == Ops{"GroupNormalization"});
  }
  CHECK(ops("", "[3,4]", "[3,1]", behind) == Ops{"LayerNormalization", "Add"});
  CHECK(ops("", "[3,1]", "[3,4]", behind) == Ops{"GroupNormalization", "Add"});
  CHECK(ops("", "[2,1,1]", "[3,1]", behind) == Ops{"LayerNormalization", "Mul", "Add"});
  CHECK(ops("opset 18\n", "[3,1]", "[3,1]", behind) == Ops{"LayerNormalization", "Mul", "Add"});
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

TEST_CASE("SinkViews, SoftmaxOverTheLastDimComesBeforeTheReshape", "[transform]") {
  const std::string between =
      "input a float32[3,4,5]\ninput b float32[3,5,6]\nconst flat int64[2] ints 12 6\nconst back int64[3] ints 3 4 6\n"
      "m = MatMul(a, b)\nf = Reshape(m, flat)\n";
  for (const char* softmax : {"Softmax(f)", "Softmax(f) axis=-1", "LogSoftmax(f) axis=1"}) {
    INFO(softmax);
    const Ops ops = OperatorsAfter(between + "s = " + softmax + "\ny = Reshape(s, back)\noutput y\n");
    CHECK(ops.size() == 2);
    CHECK(ops[0] == "MatMul");
  }
  CHECK(OperatorsAfter(between + "s = Softmax(f) axis=0\ny = Reshape(s, back)\noutput y\n").size() == 4);
}

TEST_CASE("SinkViews, SoftmaxOverSeveralDimsStaysBehindTheReshape", "[transform]") {
  const std::string text =
      "input a float32[12,5]\ninput b float32[5,6]\nconst apart int64[3] ints 3 4 6\nconst flat int64[2] ints 12 6\n"
      "m = MatMul(a, b)\nf = Reshape(m, apart)\ns = Softmax(f)\ny = Reshape(s, flat)\noutput y\n";
  CHECK(OperatorsAfter("opset 12\n" + text).size() == 4);
  CHECK(OperatorsAfter(text).size() == 2);
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

}  // namespace
}  // namespace pt::testing::float_passes_test
