// From one type to another.
#include <cmath>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

struct CastType {
  DataType type;
  double low, high;  // of what it is asked to hold
};
constexpr CastType kTypes[] = {
    {DataType::kFloat32, -1e4, 1e4}, {DataType::kInt32, -1e4, 1e4},    {DataType::kInt64, -1e4, 1e4},
    {DataType::kInt8, -127, 127},    {DataType::kUint8, 0, 255},       {DataType::kBool, -1e4, 1e4},
    {DataType::kFloat16, -1e3, 1e3}, {DataType::kBfloat16, -1e3, 1e3}, {DataType::kFloat64, -1e4, 1e4},
};

void DrawCast(Drawing& d, const CastType& to) {
  const DrawnOperand x = d.Find([&](const DrawnValue& v) { return v.within(to.low, to.high); });
  if (x != nullptr) d.Node("Cast", {x}, Attributes().Int("to", static_cast<int64_t>(to.type)));
}

// A stretch in a type of 16 bits, as half-precision models have it.
void DrawNarrowStretch(Drawing& d, DataType type) {
  const DrawnOperand x = d.Float(1, 4);
  if (!x->within(-100, 100)) return;
  DrawnOperand at = d.Node("Cast", {x}, Attributes().Int("to", static_cast<int64_t>(type)));
  for (int64_t i = d.Between(1, 4); i > 0 && at != nullptr; --i) {
    at = d.Chance(0.6) ? d.Node(d.OneOf({"Relu", "Sigmoid", "Tanh", "Neg", "Exp", "Abs"}), {at})
                       : d.Node(d.OneOf({"Add", "Mul", "Sub", "Max"}), {at, d.Like(type, d.Narrowed(at->dims))});
  }
  if (d.Chance(0.7)) d.Node("Cast", {at}, Attributes().Int("to", static_cast<int64_t>(DataType::kFloat32)));
}

}  // namespace

DrawnFamily CastFamily() {
  DrawnFamily family{"cast", {}, 2};
  for (const CastType& to : kTypes) {
    family.rows.push_back({"Cast", [&to](Drawing& d) { DrawCast(d, to); }});
  }
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    family.rows.push_back({"Cast and back", [type](Drawing& d) { DrawNarrowStretch(d, type); }});
  }
  return family;
}

}  // namespace pt::testing
