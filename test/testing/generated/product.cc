// Products of matrices.
#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

DrawnOperand Matrix(Drawing& d, const Dims& dims) {
  return d.Chance(0.6) ? d.Constant(kFloat, dims) : d.Like(kFloat, dims);
}

// Vectors, matrices, and batches of them that broadcast.
DrawnOperand MatMul(Drawing& d, DrawnOperand x) {
  if (x == nullptr || x->rank() == 0) return nullptr;
  const int64_t columns = d.OneOf(Dims{1, 2, 3, 5, 8, 10, 16, 17, 32, 33, 64});
  if (x->rank() >= 2 && d.Chance(0.25)) {  // on the right
    const int64_t rows = d.Between(1, 9);
    Dims dims = d.Chance(0.2) ? Dims{} : Dims{rows};
    dims.push_back(x->dims[x->dims.size() - 2]);
    return d.Node("MatMul", {Matrix(d, dims), x});
  }
  Dims dims = {x->dims.back()};
  if (!d.Chance(0.1)) dims.push_back(columns);
  if (dims.size() == 2 && x->rank() >= 3 && d.Chance(0.5)) {
    Dims batch(x->dims.begin(), x->dims.end() - 2);
    batch = d.Narrowed(batch);
    dims.insert(dims.begin(), batch.begin(), batch.end());
  }
  return d.Node("MatMul", {x, Matrix(d, dims)});
}

void DrawMatMul(Drawing& d) { MatMul(d, d.Float(1, 4)); }

// With bias, activation and what else stands behind a dense layer.
void DrawDense(Drawing& d) {
  DrawnOperand at = MatMul(d, d.Float(2, 4));
  for (int64_t i = d.Between(1, 3); i > 0 && at != nullptr; --i) {
    switch (d.Between(0, 3)) {
      case 0:
        at = d.Node("Add", {at, d.Like(kFloat, {at->rank() == 0 ? 1 : at->dims.back()})});
        break;
      case 1:
        at = d.Node("Mul", {at, d.Number(d.Real(0.1, 2))});
        break;
      case 2:
        at = d.Node("Add", {d.Like(kFloat, at->dims), at});
        break;
      default:
        at = d.Node(d.OneOf({"Relu", "Tanh", "Sigmoid", "Gelu", "Softplus", "Exp", "Abs"}), {at});
    }
  }
}

// What varies along some dims of the value alone, applied to it.
DrawnOperand WithBroadcastOperand(Drawing& d, DrawnOperand at) {
  const std::string op = d.OneOf({"Add", "Add", "Mul", "Sub", "Max", "PRelu"});
  const Dims narrow = d.Narrowed(at->dims);
  const DrawnOperand operand = d.Chance(0.5) ? d.Constant(kFloat, narrow) : d.Like(kFloat, narrow);
  return op == "Add" && d.Chance(0.5) ? d.Node(op, {operand, at}) : d.Node(op, {at, operand});
}

// A dense layer whose result is turned, so that it may lie in another order than its dims, and what follows as well.
void DrawTurnedDense(Drawing& d) {
  DrawnOperand at = MatMul(d, d.Float(2, 4));
  for (int64_t i = d.Between(1, 2); i > 0 && at != nullptr; --i) {
    at = WithBroadcastOperand(d, at);
    if (at != nullptr && d.Chance(0.3)) at = d.Node(d.OneOf({"Relu", "Tanh", "Sigmoid"}), {at});
  }
  if (at == nullptr || at->rank() < 2) return;
  Dims perm;
  for (int64_t i = 0; i < at->rank(); ++i) perm.insert(perm.begin() + d.Between(0, i), i);
  at = d.Node("Transpose", {at}, Attributes().Ints("perm", perm));
  for (int64_t i = d.Between(1, 2); i > 0 && at != nullptr; --i) at = WithBroadcastOperand(d, at);
}

// Several products of one input, as queries, keys and values are made.
void DrawProductsOfOne(Drawing& d) {
  const DrawnOperand x = d.Float(2, 3);
  const int64_t columns = d.OneOf(Dims{4, 8, 16, 20});
  for (int64_t i = d.Between(2, 3); i > 0; --i) {
    const DrawnOperand y = d.Node("MatMul", {x, d.Constant(kFloat, {x->dims.back(), columns})});
    d.Node("Add", {y, d.Constant(kFloat, {columns})});
  }
}

void DrawGemm(Drawing& d) {
  const DrawnOperand x = d.Float(2, 2);
  const bool turned_x = d.Chance(0.3), turned_y = d.Chance(0.5);
  const int64_t rows = x->dims[turned_x ? 1 : 0], inner = x->dims[turned_x ? 0 : 1];
  const int64_t columns = d.OneOf(Dims{1, 2, 3, 5, 8, 10, 16, 17, 32, 33, 64});
  std::vector<DrawnOperand> operands = {x, Matrix(d, turned_y ? Dims{columns, inner} : Dims{inner, columns})};
  if (d.Chance(0.7)) {
    operands.push_back(
        Matrix(d, d.OneOf(std::vector<Dims>{{columns}, {columns}, {1, columns}, {rows, columns}, {rows, 1}, {1}, {}})));
  }
  Attributes attributes;
  if (turned_x || d.Chance(0.2)) attributes.Int("transA", turned_x);
  if (turned_y || d.Chance(0.2)) attributes.Int("transB", turned_y);
  if (d.Chance(0.3)) attributes.Float("alpha", d.Real(-1, 2));
  if (d.Chance(0.3)) attributes.Float("beta", d.OneOf(std::vector<double>{0, 0.5, 1, 2}));
  const DrawnOperand y = d.Node("Gemm", operands, attributes);
  if (d.Chance(0.4)) d.Node(d.OneOf({"Relu", "Tanh", "Sigmoid"}), {y});
}

void DrawEinsum(Drawing& d) {
  const int64_t a = d.Between(1, 5), b = d.Between(1, 6), c = d.Between(1, 6), e = d.Between(1, 4);
  switch (d.Between(0, 4)) {
    case 0:
      d.Node("Einsum", {d.Like(kFloat, {a, b}), d.Like(kFloat, {b, c})}, Attributes().Text("equation", "ij,jk->ik"));
      break;
    case 1:
      d.Node("Einsum", {d.Like(kFloat, {a, b, c}), d.Like(kFloat, {a, e, c})},
             Attributes().Text("equation", "bij,bkj->bik"));
      break;
    case 2:
      d.Node("Einsum", {d.Like(kFloat, {a, b, c, e}), d.Like(kFloat, {a, b + 1, c, e})},
             Attributes().Text("equation", "bqhd,bkhd->bhqk"));
      break;
    case 3:
      d.Node("Einsum", {d.Like(kFloat, {a, b})}, Attributes().Text("equation", "ij->ji"));
      break;
    default:
      d.Node("Einsum", {d.Like(kFloat, {a, b, c}), d.Like(kFloat, {c})}, Attributes().Text("equation", "...i,i->..."));
  }
}

}  // namespace

DrawnFamily ProductFamily() {
  return {"product",
          {{"MatMul", DrawMatMul},
           {"MatMul", DrawMatMul},
           {"dense layer", DrawDense},
           {"dense layer", DrawDense},
           {"turned dense layer", DrawTurnedDense},
           {"turned dense layer", DrawTurnedDense},
           {"products of one input", DrawProductsOfOne},
           {"Gemm", DrawGemm},
           {"Gemm", DrawGemm},
           {"Einsum", DrawEinsum}},
          5};
}

}  // namespace pt::testing
