// Operators of several operands that broadcast: arithmetic, comparisons, logic and choices.
#include <algorithm>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

const std::vector<DataType> kIntegers = {DataType::kInt32, DataType::kInt64};

bool Broadcast(const Dims& a, const Dims& b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

// A value of the type, there or given.
DrawnOperand Any(Drawing& d, DataType type) {
  const DrawnOperand there = d.Find([&](const DrawnValue& v) { return v.type == type; });
  return there != nullptr && d.Chance(0.9) ? there : d.Input(type, d.AnyDims(0, 5));
}

// What may stand beside `x`: a value there is, or one of fewer dims, of more, or of just as many.
DrawnOperand Beside(Drawing& d, DrawnOperand x, DataType type) {
  if (x == nullptr) return nullptr;
  if (d.Chance(0.6)) {
    const DrawnOperand there =
        d.Find([&](const DrawnValue& v) { return v.type == type && Broadcast(v.dims, x->dims); });
    if (there != nullptr) return there;
  }
  if (d.Chance(0.2) && x->rank() < 4) {
    Dims wider = x->dims;
    for (int64_t& dim : wider) {
      if (dim == 1) dim = d.Between(1, 4);
    }
    wider.insert(wider.begin(), d.Between(1, 3));
    return d.Like(type, wider);
  }
  return d.Like(type, d.Narrowed(x->dims));
}

DataType FloatOrInteger(Drawing& d) { return d.Chance(0.8) ? DataType::kFloat32 : d.OneOf(kIntegers); }

// On either side.
void DrawPair(Drawing& d, const char* op, DataType type, DataType other_type, const Attributes& attributes = {}) {
  const DrawnOperand x = Any(d, type), y = Beside(d, x, other_type);
  if (type == other_type && d.Chance(0.5)) {
    d.Node(op, {y, x}, attributes);
  } else {
    d.Node(op, {x, y}, attributes);
  }
}

// Divisors away from zero.
DrawnOperand Divisor(Drawing& d, DrawnOperand x) {
  if (x == nullptr) return nullptr;
  const DrawnOperand there = d.Find(
      [&](const DrawnValue& v) { return v.type == x->type && v.nearest_to_zero >= 0.1 && Broadcast(v.dims, x->dims); });
  if (there != nullptr && d.Chance(0.7)) return there;
  const Dims dims = d.Narrowed(x->dims);
  const double number = x->is_float() ? d.Real(0.2, 4) : static_cast<double>(d.Between(1, 7));
  return d.Constant(x->type, dims, "value " + std::to_string(d.Chance(0.3) ? -number : number));
}

void DrawDiv(Drawing& d) {
  const DrawnOperand x = Any(d, FloatOrInteger(d));
  d.Node("Div", {x, Divisor(d, x)});
}

void DrawMod(Drawing& d) {
  const DrawnOperand x = Any(d, FloatOrInteger(d));
  Attributes attributes;
  if (x->is_float() || d.Chance(0.4)) attributes.Int("fmod", 1);
  d.Node("Mod", {x, Divisor(d, x)}, attributes);
}

void DrawPow(Drawing& d) {
  if (d.Chance(0.5)) {
    d.Node("Pow", {d.Float(0, 5), d.Number(d.OneOf(std::vector<double>{2, 2, 3, 1, 0}))});
    return;
  }
  const DrawnOperand base = d.FloatWithin(0.1, 6);
  if (base == nullptr) return;
  const DrawnOperand exponent = d.Chance(0.5) ? d.Number(d.OneOf(std::vector<double>{0.5, -0.5, -1, 1.7, -2}))
                                              : Beside(d, base, DataType::kFloat32);
  d.Node("Pow", {base, exponent});
}

void DrawVariadic(Drawing& d, const char* op) {
  const DataType type = (op == std::string("Max") || op == std::string("Min")) ? FloatOrInteger(d) : DataType::kFloat32;
  std::vector<DrawnOperand> operands = {Any(d, type)};
  for (int64_t i = d.Between(0, 3); i > 0; --i) {
    const DrawnOperand next = Beside(d, operands[0], type);
    const bool fits = next != nullptr &&
                      std::ranges::all_of(operands, [&](DrawnOperand o) { return Broadcast(o->dims, next->dims); });
    if (fits) operands.push_back(next);
  }
  d.Node(op, operands);
}

void DrawPRelu(Drawing& d) {
  const DrawnOperand x = d.Float(1, 5);
  Dims slopes = d.Narrowed(x->dims);
  if (d.Chance(0.5) && x->rank() >= 2) {  // one a channel
    slopes.assign(x->dims.size() - 1, 1);
    slopes[0] = x->dims[1];
  }
  d.Node("PRelu", {x, d.Like(DataType::kFloat32, slopes)});
}

DrawnOperand Condition(Drawing& d, DrawnOperand beside) {
  if (beside == nullptr) return nullptr;
  const DrawnOperand there =
      d.Find([&](const DrawnValue& v) { return v.type == DataType::kBool && Broadcast(v.dims, beside->dims); });
  if (there != nullptr && d.Chance(0.8)) return there;
  return d.Like(DataType::kBool, d.Narrowed(beside->dims));
}

void DrawWhere(Drawing& d) {
  const DataType type = d.Chance(0.8)
                            ? DataType::kFloat32
                            : d.OneOf(std::vector<DataType>{DataType::kInt64, DataType::kInt32, DataType::kBool});
  const DrawnOperand x = Any(d, type), y = Beside(d, x, type), condition = Condition(d, x);
  if (y == nullptr || condition == nullptr || !Broadcast(condition->dims, y->dims)) return;
  if (d.Chance(0.5)) {
    d.Node("Where", {condition, x, y});
  } else {
    d.Node("Where", {condition, y, x});
  }
}

}  // namespace

DrawnFamily BroadcastFamily() {
  DrawnFamily family{"broadcast",
                     {{"Div", DrawDiv},
                      {"Mod", DrawMod},
                      {"Pow", DrawPow},
                      {"PRelu", DrawPRelu},
                      {"Where", DrawWhere},
                      {"Where", DrawWhere}},
                     5};
  for (const char* op : {"Add", "Mul", "Sub", "Add", "Mul"}) {
    family.rows.push_back({op, [op](Drawing& d) {
                             const DataType type = FloatOrInteger(d);
                             DrawPair(d, op, type, type);
                           }});
  }
  for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    family.rows.push_back({op, [op](Drawing& d) {
                             const DataType type = d.Chance(0.5) ? DataType::kFloat32 : d.OneOf(kIntegers);
                             DrawPair(d, op, type, type);
                           }});
  }
  for (const char* op : {"And", "Or", "Xor"}) {
    family.rows.push_back({op, [op](Drawing& d) { DrawPair(d, op, DataType::kBool, DataType::kBool); }});
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    family.rows.push_back({op, [op](Drawing& d) {
                             const DataType type = d.OneOf(kIntegers);
                             DrawPair(d, op, type, type);
                           }});
  }
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    family.rows.push_back({op, [op](Drawing& d) { DrawVariadic(d, op); }});
  }
  return family;
}

}  // namespace pt::testing
