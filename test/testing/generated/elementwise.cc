// Functions of single elements.
#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

struct Parameter {
  const char* name;
  double low, high;
};

struct UnaryRow {
  const char* op;
  double low = -1e3, high = 1e3;  // of what it is asked for
  std::vector<Parameter> parameters = {};
};

const std::vector<UnaryRow>& UnaryRows() {
  static const std::vector<UnaryRow> rows = {
      {"Abs"},
      {"Acos", -0.95, 0.95},
      {"Acosh", 1.1, 100},
      {"Asin", -0.95, 0.95},
      {"Asinh"},
      {"Atan"},
      {"Atanh", -0.95, 0.95},
      {"Ceil"},
      {"Celu", -20, 1e3, {{"alpha", 0.3, 3}}},
      {"Cos", -50, 50},
      {"Cosh", -5, 5},
      {"Elu", -20, 1e3, {{"alpha", 0.2, 3}}},
      {"Erf"},
      {"Exp", -20, 5},
      {"Floor"},
      {"HardSigmoid", -1e3, 1e3, {{"alpha", 0.05, 1}, {"beta", 0, 1}}},
      {"HardSwish"},
      {"Identity"},
      {"IsInf"},
      {"IsNaN"},
      {"LeakyRelu", -1e3, 1e3, {{"alpha", -0.5, 1.5}}},
      {"Log", 0.05, 1e3},
      {"Mish"},
      {"Neg"},
      {"Reciprocal", 0.1, 1e3},
      {"Relu"},
      {"Round"},
      {"Selu", -20, 1e3, {{"alpha", 0.5, 2}, {"gamma", 0.5, 2}}},
      {"Shrink", -1e3, 1e3, {{"lambd", 0, 1}, {"bias", -0.5, 0.5}}},
      {"Sigmoid"},
      {"Sign"},
      {"Sin", -50, 50},
      {"Sinh", -5, 5},
      {"Softplus"},
      {"Softsign"},
      {"Sqrt", 0.01, 1e3},
      {"Swish", -1e3, 1e3, {{"alpha", 0.3, 2}}},
      {"Tan", -1.3, 1.3},
      {"Tanh"},
      {"ThresholdedRelu", -1e3, 1e3, {{"alpha", 0, 2}}},
  };
  return rows;
}

void DrawUnary(Drawing& d, const UnaryRow& row) {
  Attributes attributes;
  for (const Parameter& parameter : row.parameters) {
    if (d.Chance(0.6)) attributes.Float(parameter.name, d.Real(parameter.low, parameter.high));
  }
  const bool anywhere = row.low <= -1e3 && row.high >= 1e3;
  d.Node(row.op, {anywhere ? d.Float(0, 5) : d.FloatWithin(row.low, row.high)}, attributes);
}

void DrawGelu(Drawing& d) {
  Attributes attributes;
  if (d.Chance(0.5)) attributes.Text("approximate", d.OneOf({"none", "tanh"}));
  d.Node("Gelu", {d.Float(0, 5)}, attributes);
}

// Bounds in either order of presence, from constants and from what is computed.
void DrawClip(Drawing& d) {
  const DrawnOperand x = d.Float(0, 5);
  const auto bound = [&](double low, double high) -> DrawnOperand {
    if (d.Chance(0.2)) return d.Find([](const DrawnValue& v) { return v.is_float() && v.dims.empty(); });
    return d.Number(d.Real(low, high));
  };
  const DrawnOperand least = d.Chance(0.7) ? bound(-2, 0.3) : Drawing::LeftOut();
  if (d.Chance(0.3)) {
    d.Node("Clip", {x, least == Drawing::LeftOut() ? d.Number(0) : least});
  } else {
    d.Node("Clip", {x, least, bound(0.2, 6)});
  }
}

void DrawIntegerUnary(Drawing& d, const char* op) {
  const DataType type = d.OneOf(std::vector<DataType>{DataType::kInt32, DataType::kInt64});
  DrawnOperand x = d.Find([&](const DrawnValue& v) { return v.type == type; });
  if (x == nullptr) x = d.Input(type, d.AnyDims(0, 4));
  d.Node(op, {x});
}

void DrawNot(Drawing& d) {
  DrawnOperand x = d.Find([](const DrawnValue& v) { return v.type == DataType::kBool; });
  if (x == nullptr) x = d.Input(DataType::kBool, d.AnyDims(0, 4));
  d.Node("Not", {x});
}

}  // namespace

DrawnFamily ElementwiseFamily() {
  DrawnFamily family{"elementwise", {{"Gelu", DrawGelu}, {"Clip", DrawClip}, {"Clip", DrawClip}, {"Not", DrawNot}}, 5};
  for (const UnaryRow& row : UnaryRows()) {
    family.rows.push_back({row.op, [&row](Drawing& d) { DrawUnary(d, row); }});
  }
  for (const char* op : {"Abs", "Neg", "Sign", "BitwiseNot"}) {
    family.rows.push_back({op, [op](Drawing& d) { DrawIntegerUnary(d, op); }});
  }
  return family;
}

}  // namespace pt::testing
