// Operators of ai.onnx.ml that prepare features: Scaler, Normalizer, Imputer, FeatureVectorizer; and what inference may
// know of OneHotEncoder, which has a kernel.
#include <algorithm>
#include <cmath>

#include "lib/onnx/contrib/ml_parts.h"

namespace pt::contrib {
namespace {

constexpr int32_t kDouble = proto::TensorProto::DOUBLE;

// Whether a list is of one number or one for each feature, as far as that is known.
Status CheckLength(const Rewrite& r, const std::string& what, size_t length) {
  const auto features = r.dim(r.in(0), -1);
  if (length == 1 || !features || *features == static_cast<int64_t>(length)) return {};
  return Rewrite::Invalid(what + " has " + std::to_string(length) + " values for " + std::to_string(*features) +
                          " features; one is expected, or one for each");
}

// (x - offset) · scale; in float64 where x is, and rounded behind it.
Status Scaler(Rewrite& r) {
  const std::vector<float> offset = r.Floats("offset"), scale = r.Floats("scale");
  if (!offset.empty() && !scale.empty() && offset.size() != scale.size()) {
    return Rewrite::Invalid("its offset has " + std::to_string(offset.size()) + " values and its scale " +
                            std::to_string(scale.size()));
  }
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "its input"));
  const auto rank = r.rank(r.in(0));
  if (rank && *rank > 2 && std::max(offset.size(), scale.size()) > 1)
    return Rewrite::Invalid("its input has " + std::to_string(*rank) + " dims; one or two are expected");
  std::string x = r.in(0);
  if (type != kFloat && type != kDouble) x = r.Add("Cast", {x}, {IntAttribute("to", kFloat)});
  for (const auto& [op, name, values] : {std::tuple("Sub", "offset", offset), std::tuple("Mul", "scale", scale)}) {
    if (values.empty()) continue;
    PT_CHECK_OK(CheckLength(r, std::string("its ") + name, values.size()));
    std::string operand = AddFloats(r, {std::ssize(values)}, values);
    if (type == kDouble) operand = r.Add("Cast", {operand}, {IntAttribute("to", kDouble)});
    x = r.Add(op, {x, operand});
  }
  r.Finish(0, "Cast", {x}, {IntAttribute("to", kFloat)});
  return {};
}

// Each row divided by its norm, or as it is where that is zero.
Status Normalizer(Rewrite& r) {
  const std::string norm = r.Text("norm", "MAX");
  const char* const reduction = norm == "MAX"  ? "ReduceMax"
                                : norm == "L1" ? "ReduceL1"
                                : norm == "L2" ? "ReduceL2"
                                               : nullptr;
  if (reduction == nullptr) return Rewrite::Invalid("unknown norm \"" + norm + "\"; expected MAX, L1 or L2");
  if (const auto rank = r.rank(r.in(0)); rank && *rank != 1 && *rank != 2)
    return Rewrite::Invalid("its input has " + std::to_string(*rank) + " dims; one or two are expected");
  PT_ASSIGN(const std::string x, AsFloat(r, r.in(0)));
  const std::string divisor = r.Add(reduction, {x, r.AddInts({-1})}, {IntAttribute("keepdims", 1)});
  const std::string zero = r.Add("Equal", {divisor, r.AddZero(kFloat)});
  r.Finish(0, "Div", {x, r.Add("Where", {zero, r.AddScalar(kFloat, 1), divisor})});
  return {};
}

Status Imputer(Rewrite& r) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "its input"));
  const std::vector<float> floats = r.Floats("imputed_value_floats");
  const std::vector<int64_t> ints = r.Ints("imputed_value_int64s");
  const bool real = type == kFloat || type == kDouble;
  if ((real ? floats.empty() : ints.empty()) || (real ? !ints.empty() : !floats.empty())) {
    return Rewrite::Invalid(std::string("exactly one of imputed_value_floats and imputed_value_int64s is expected, ") +
                            (real ? "the first" : "the second") + " for the type of its input");
  }
  PT_CHECK_OK(CheckLength(r, real ? "imputed_value_floats" : "imputed_value_int64s", floats.size() + ints.size()));
  const auto typed = [&](const std::string& value) {
    if (type == kFloat || type == proto::TensorProto::INT64) return value;
    return r.Add("Cast", {value}, {IntAttribute("to", type)});
  };
  const std::string imputed = typed(real ? AddFloats(r, {std::ssize(floats)}, floats) : r.AddInts(ints));
  const float replaced = r.Float("replaced_value_float", 0);
  std::string found;
  if (real && std::isnan(replaced)) {
    found = r.Add("IsNaN", {r.in(0)});
  } else {
    const std::string value =
        typed(real ? AddFloats(r, {}, {replaced}) : r.AddInts({r.Int("replaced_value_int64", 0)}));
    found = r.Add("Equal", {r.in(0), value});
  }
  r.Finish(0, "Where", {found, imputed, r.in(0)});
  return {};
}

// Each input as as many columns as its entry says: cut off, or filled with zeros.
Status FeatureVectorizer(Rewrite& r) {
  const std::vector<int64_t> sizes = r.Ints("inputdimensions");
  if (!sizes.empty() && static_cast<int>(sizes.size()) != r.inputs()) {
    return Rewrite::Invalid("inputdimensions has " + std::to_string(sizes.size()) + " values for " +
                            std::to_string(r.inputs()) + " inputs");
  }
  std::vector<std::string> parts;
  for (int i = 0; i < r.inputs(); ++i) {
    PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(i), "input " + std::to_string(i)));
    PT_ASSIGN(std::string x, AsFloat(r, r.in(i)));
    if (rank == 0) return Rewrite::Invalid("input " + std::to_string(i) + " has no dims; one or two are expected");
    if (rank == 1) x = r.Add("Unsqueeze", {x, r.AddInts({0})});
    if (rank > 2) x = r.Add("Flatten", {x}, {IntAttribute("axis", 1)});
    const int64_t size = sizes.empty() ? -1 : sizes[static_cast<size_t>(i)];
    if (!sizes.empty() && size < 1) return Rewrite::Invalid("inputdimensions has a " + std::to_string(size));
    if (!sizes.empty() && (rank > 2 || r.dim(r.in(i), -1) != size)) {
      x = r.Add("Pad", {x, r.AddInts({0, 0, 0, size})});
      x = r.Add("Slice", {x, r.AddInts({0}), r.AddInts({size}), r.AddInts({1})});
    }
    parts.push_back(x);
  }
  r.Finish(0, "Concat", parts, {IntAttribute("axis", 1)});
  return {};
}

void InferInFloat(proto::InferenceContext& context) {
  SetElementType(context, 0, kFloat);
  CopyShape(context, 0, 0);
}

void InferVector(proto::InferenceContext& context) {
  std::optional<int64_t> columns;
  if (const proto::AttributeProto* sizes = context.getAttribute("inputdimensions")) {
    columns = 0;
    for (const int64_t size : sizes->ints()) *columns += size > 0 && size < (1 << 30) ? size : 0;
  }
  InferRows(context, 0, columns);
}

void InferOneHot(proto::InferenceContext& context) {
  InferInFloat(context);
  const int64_t categories = CountOf(context, "cats_int64s") + CountOf(context, "cats_strings");
  if (ShapeOf(context, 0) == nullptr) return;
  context.getOutputType(0)->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(categories);
}

}  // namespace

std::vector<Row> MlFeatureRows() {
  return {
      {"FeatureVectorizer", {"X*"}, {"Y"}, {}, InferVector, FeatureVectorizer, kMlDomain},
      {"Imputer", {"X"}, {"Y"}, {}, LikeFirst, Imputer, kMlDomain},
      {"Normalizer", {"X"}, {"Y"}, {}, InferInFloat, Normalizer, kMlDomain},
      {"OneHotEncoder", {"X"}, {"Y"}, {}, InferOneHot, Keep, kMlDomain},
      {"Scaler", {"X"}, {"Y"}, {}, InferInFloat, Scaler, kMlDomain},
  };
}

}  // namespace pt::contrib
