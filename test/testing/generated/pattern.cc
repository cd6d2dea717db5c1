// Operators that exporters spell out in smaller ones, which passes and libraries put together again, and what they
// leave behind.
#include <cmath>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

// On whichever side.
DrawnOperand Pair(Drawing& d, const char* op, DrawnOperand a, DrawnOperand b) {
  return d.Chance(0.5) ? d.Node(op, {a, b}) : d.Node(op, {b, a});
}

// Heads between transposes, with scale and mask, as it is exported.
void DrawAttention(Drawing& d) {
  const int64_t batch = d.Between(1, 2), heads = d.Between(1, 3), queries = d.Between(1, 9), keys = d.Between(1, 17);
  const int64_t size = d.OneOf(Dims{1, 3, 4, 8, 16}), value_size = d.Chance(0.7) ? size : d.Between(1, 9);
  const bool turned = d.Chance(0.6);
  const auto operand = [&](int64_t length, int64_t width, const Dims& perm, const Dims& plain) -> DrawnOperand {
    if (!turned) return d.Like(kFloat, plain);
    return d.Node("Transpose", {d.Like(kFloat, {batch, length, heads, width})}, Attributes().Ints("perm", perm));
  };
  DrawnOperand q = operand(queries, size, {0, 2, 1, 3}, {batch, heads, queries, size});
  const DrawnOperand k = operand(keys, size, {0, 2, 3, 1}, {batch, heads, size, keys});
  const DrawnOperand v = operand(keys, value_size, {0, 2, 1, 3}, {batch, heads, keys, value_size});
  if (d.Chance(0.3)) q = d.Node("Mul", {q, d.Number(d.Real(0.1, 1))});
  DrawnOperand scores = d.Node("MatMul", {q, k});
  if (d.Chance(0.4))
    scores = d.Chance(0.5) ? Pair(d, "Mul", scores, d.Number(d.Real(0.1, 1)))
                           : d.Node("Div", {scores, d.Number(d.Real(1, 4))});
  if (d.Chance(0.4)) {
    const Dims mask = d.Narrowed({batch, heads, queries, keys});
    scores = d.Chance(0.6) ? Pair(d, "Add", scores, d.Like(kFloat, mask))
                           : d.Node("Where", {d.Like(DataType::kBool, mask), scores, d.Number(-30)});
  }
  const DrawnOperand shares = d.Node("Softmax", {scores}, Attributes().Int("axis", d.Chance(0.5) ? -1 : 3));
  DrawnOperand y = d.Node("MatMul", {shares, v});
  if (d.Chance(0.5)) y = d.Node("Transpose", {y}, Attributes().Ints("perm", {0, 2, 1, 3}));
  if (y != nullptr && d.Chance(0.3)) d.Node("Reshape", {y, d.List({batch, -1, y->dims[2] * y->dims[3]})});
}

void DrawAttentionOperator(Drawing& d) {
  const int64_t batch = d.Between(1, 2), heads = d.Between(1, 3), queries = d.Between(1, 6), keys = d.Between(1, 9);
  const int64_t size = d.OneOf(Dims{1, 4, 8}), value_size = d.Between(1, 8);
  const int64_t key_heads = d.Chance(0.8) ? heads : 1;
  std::vector<DrawnOperand> operands = {d.Like(kFloat, {batch, heads, queries, size}),
                                        d.Like(kFloat, {batch, key_heads, keys, size}),
                                        d.Like(kFloat, {batch, key_heads, keys, value_size})};
  if (d.Chance(0.4))
    operands.push_back(d.Like(
        kFloat, d.OneOf(std::vector<Dims>{{queries, keys}, {1, 1, queries, keys}, {batch, heads, queries, keys}})));
  Attributes attributes;
  if (d.Chance(0.3)) attributes.Int("is_causal", 1);
  if (d.Chance(0.3)) attributes.Float("scale", d.Real(0.1, 1));
  if (d.Chance(0.15)) attributes.Float("softcap", d.Real(1, 5));
  d.Node("Attention", operands, attributes);
}

// Mean, difference, square, mean, root, quotient, scale and bias.
void DrawLayerNormalization(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  if (IsEmpty(x)) return;
  const DrawnOperand axes = d.List({d.Chance(0.8) ? -1 : d.Axis(x->rank())});
  const DrawnOperand centred = d.Node("Sub", {x, d.Node("ReduceMean", {x, axes})});
  const DrawnOperand squares =
      d.Chance(0.6) ? d.Node("Pow", {centred, d.Number(2)}) : d.Node("Mul", {centred, centred});
  const DrawnOperand variance = Pair(d, "Add", d.Node("ReduceMean", {squares, axes}), d.Number(0.01));
  DrawnOperand y = d.Node("Div", {centred, d.Node("Sqrt", {variance})});
  if (d.Chance(0.7)) y = Pair(d, "Mul", y, d.Constant(kFloat, {x->dims.back()}));
  if (d.Chance(0.7)) Pair(d, "Add", y, d.Constant(kFloat, {x->dims.back()}));
}

void DrawSpelledGelu(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  if (d.Chance(0.6)) {
    const DrawnOperand inner =
        d.Chance(0.5) ? d.Node("Div", {x, d.Number(std::sqrt(2.0))}) : Pair(d, "Mul", x, d.Number(std::sqrt(0.5)));
    const DrawnOperand share = Pair(d, "Add", d.Node("Erf", {inner}), d.Number(1));
    if (d.Chance(0.5)) {
      Pair(d, "Mul", Pair(d, "Mul", x, share), d.Number(0.5));
    } else {
      Pair(d, "Mul", x, Pair(d, "Mul", share, d.Number(0.5)));
    }
    return;
  }
  const DrawnOperand cubed = Pair(d, "Mul", d.Node("Pow", {x, d.Number(3)}), d.Number(0.044715));
  const DrawnOperand inner = Pair(d, "Mul", Pair(d, "Add", x, cubed), d.Number(0.7978846));
  const DrawnOperand share = Pair(d, "Add", d.Node("Tanh", {inner}), d.Number(1));
  Pair(d, "Mul", Pair(d, "Mul", x, d.Number(0.5)), share);
}

void DrawGated(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  switch (d.Between(0, 2)) {
    case 0:
      Pair(d, "Mul", x, d.Node("Sigmoid", {x}));
      break;
    case 1:
      d.Node("Div", {Pair(d, "Mul", x, d.Node("Clip", {Pair(d, "Add", x, d.Number(3)), d.Number(0), d.Number(6)})),
                     d.Number(6)});
      break;
    default:
      Pair(d, "Mul", x, d.Node("Tanh", {d.Node("Softplus", {x})}));
  }
}

// Nodes that give back what they read, or undo each other.
void DrawNoOps(Drawing& d) {
  DrawnOperand at = d.Float(2, 4);
  const Dims dims = at->dims;
  if (IsEmpty(at)) return;
  for (int64_t i = d.Between(1, 3); i > 0 && at != nullptr; --i) {
    switch (d.Between(0, 6)) {
      case 0:
        at = d.Node("Identity", {at});
        break;
      case 1:
        at = d.Node("Cast", {at}, Attributes().Int("to", 1));
        break;
      case 2:
        at = d.Node("Dropout", {at});
        break;
      case 3:
        at = d.Node("Transpose", {d.Node("Transpose", {at})});
        break;
      case 4:
        at = d.Node("Reshape", {d.Node("Reshape", {at, d.List({-1})}), d.List(dims)});
        break;
      case 5:
        at = d.Node("Add", {at, d.Number(0)});
        break;
      default:
        at = d.Node("Mul", {at, d.Number(1)});
    }
  }
  d.Node("Neg", {at});
}

// The same twice, from the same.
void DrawTwins(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  const std::string op = d.OneOf({"Sigmoid", "Tanh", "Relu", "Softplus"});
  const DrawnOperand a = d.Node(op, {x}), b = d.Node(op, {x});
  Pair(d, "Add", a, d.Node("Neg", {b}));
  d.Node("Mul", {a, b});
}

// A product, a change of shape, and what is element-wise behind it.
void DrawSunkView(Drawing& d) {
  const DrawnOperand x = d.Float(2, 3);
  if (IsEmpty(x)) return;
  const int64_t columns = d.OneOf(Dims{2, 4, 6, 8, 16});
  DrawnOperand y = d.Node("MatMul", {x, d.Constant(kFloat, {x->dims.back(), columns})});
  if (y == nullptr) return;
  Dims dims(y->dims.begin(), y->dims.end() - 1);
  dims.push_back(2);
  dims.push_back(columns / 2);
  y = d.Node("Reshape", {y, d.List(dims)});
  if (y == nullptr) return;
  y = Pair(d, "Add", y, d.Constant(kFloat, d.OneOf(std::vector<Dims>{{2, columns / 2}, {columns / 2}, {}})));
  if (d.Chance(0.5)) d.Node("Relu", {y});
}

// What depends on constants alone.
void DrawFolded(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  const DrawnOperand c = d.Constant(kFloat, d.Narrowed(x->dims));
  const DrawnOperand made = d.Node("Add", {d.Node("Exp", {c}), d.Number(0.5)});
  Pair(d, "Mul", x, made);
}

// Cells step by step with common weights, as unrolled recurrent networks have them.
void DrawLstmCells(Drawing& d) {
  const int64_t batch = d.Between(1, 3), in = d.Between(1, 5), hidden = d.OneOf(Dims{1, 2, 4, 8}),
                steps = d.Between(2, 3);
  const DrawnOperand weights = d.Constant(kFloat, {in + hidden, 4 * hidden}), bias = d.Constant(kFloat, {4 * hidden});
  const DrawnOperand split = d.List({hidden, hidden, hidden, hidden});
  DrawnOperand h = d.Input(kFloat, {batch, hidden}), c = d.Input(kFloat, {batch, hidden});
  for (int64_t t = 0; t < steps; ++t) {
    const DrawnOperand joined = d.Node("Concat", {d.Input(kFloat, {batch, in}), h}, Attributes().Int("axis", 1));
    const DrawnOperand gates = d.Node("Gemm", {joined, weights, bias});
    const std::vector<DrawnOperand> parts =
        d.Node("Split", {gates, split}, Attributes().Int("axis", 1), {true, true, true, true});
    if (parts.empty()) return;
    const DrawnOperand kept = d.Node("Mul", {c, d.Node("Sigmoid", {parts[2]})});
    const DrawnOperand added = d.Node("Mul", {d.Node("Sigmoid", {parts[0]}), d.Node("Tanh", {parts[1]})});
    c = d.Node("Add", {kept, added});
    h = d.Node("Mul", {d.Node("Tanh", {c}), d.Node("Sigmoid", {parts[3]})});
  }
}

}  // namespace

DrawnFamily PatternFamily() {
  return {"pattern",
          {{"attention", DrawAttention},
           {"attention", DrawAttention},
           {"Attention", DrawAttentionOperator},
           {"layer normalisation", DrawLayerNormalization},
           {"gelu", DrawSpelledGelu},
           {"gated", DrawGated},
           {"no-ops", DrawNoOps},
           {"twins", DrawTwins},
           {"sunk view", DrawSunkView},
           {"folded", DrawFolded},
           {"LSTM cells", DrawLstmCells}},
          4};
}

}  // namespace pt::testing
