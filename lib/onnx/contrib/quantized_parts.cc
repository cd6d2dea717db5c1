#include "lib/onnx/contrib/quantized_parts.h"

namespace pt::contrib {
namespace {

// A vector along the columns of a matrix, or one number. Errors: its length is known and neither.
Status NeedColumns(const Rewrite& r, int input, int matrix, const std::string& what) {
  const auto rank = r.rank(r.in(input));
  const auto length = r.dim(r.in(input), -1), columns = r.dim(r.in(matrix), -1);
  if (!rank || *rank != 1 || !length || !columns || *length == 1 || *length == *columns) return {};
  return Rewrite::Invalid("its " + what + " has " + std::to_string(*length) + " elements for " +
                          std::to_string(*columns) + " columns");
}

}  // namespace

Status NeedBytes(const Rewrite& r, int input, const std::string& what) {
  const auto type = r.element_type(r.in(input));
  if (!type || *type == proto::TensorProto::INT8 || *type == proto::TensorProto::UINT8) return {};
  return Rewrite::Unsupported(what + " \"" + r.in(input) + "\" is of element type " +
                              proto::TensorProto::DataType_Name(*type) + "; int8 and uint8 are supported");
}

Result<std::string> OneNumber(Rewrite& r, int input, const std::string& what) {
  const std::string& name = r.in(input);
  const auto rank = r.rank(name);
  if (rank && *rank == 0) return name;
  for (int64_t axis = 0; rank && axis < *rank; ++axis) {
    const auto dim = r.dim(name, axis);
    if (*rank > 1 || (dim && *dim != 1))
      return Rewrite::Unsupported(what + " \"" + name + "\" is not one number, as ONNX Runtime needs it");
  }
  return r.Add("Reshape", {name, r.AddInts({})});
}

std::string ScalarIfOne(Rewrite& r, int input) {
  const bool one = r.rank(r.in(input)) == 1 && r.dim(r.in(input), 0) == 1;
  return one ? r.Add("Reshape", {r.in(input), r.AddInts({})}) : r.in(input);
}

Result<std::string> Dequantize(Rewrite& r, Quantized input) {
  PT_CHECK_OK(NeedBytes(r, input.tensor, "input"));
  PT_ASSIGN(const std::string scale, OneNumber(r, input.scale, "scale"));
  std::vector<std::string> inputs = {r.in(input.tensor), scale};
  if (r.has(input.zero_point)) {
    PT_ASSIGN(const std::string zero_point, OneNumber(r, input.zero_point, "zero point"));
    inputs.push_back(zero_point);
  }
  return r.Add("DequantizeLinear", inputs);
}

Result<std::string> MultiplyIntegers(Rewrite& r, const DequantizedProduct& product, bool finishes) {
  PT_CHECK_OK(NeedBytes(r, product.b, "B"));
  PT_CHECK_OK(NeedColumns(r, product.b_scale, product.b, "b_scale"));
  std::vector<std::string> inputs = {product.a, r.in(product.b), product.a_zero_point, ""};
  if (r.has(product.b_zero_point)) {
    PT_CHECK_OK(NeedColumns(r, product.b_zero_point, product.b, "b_zero_point"));
    inputs.back() = ScalarIfOne(r, product.b_zero_point);
  }
  const std::string sums =
      r.Add("Cast", {r.Add("MatMulInteger", inputs)}, {IntAttribute("to", proto::TensorProto::FLOAT)});
  const std::string scale = r.Add("Mul", {product.a_scale, r.in(product.b_scale)});
  const auto last = [&](const std::string& op, const std::vector<std::string>& operands) {
    return finishes ? r.Finish(0, op, operands) : r.Add(op, operands);
  };
  if (!r.has(product.bias)) return last("Mul", {sums, scale});
  PT_CHECK_OK(NeedColumns(r, product.bias, product.b, "bias"));
  return last("Add", {r.Add("Mul", {sums, scale}), r.in(product.bias)});
}

Status FinishQuantized(Rewrite& r, const std::string& value, int scale, int zero_point, int like) {
  PT_ASSIGN(const std::string step, OneNumber(r, scale, "scale"));
  std::string zero;
  if (r.has(zero_point)) {
    PT_CHECK_OK(NeedBytes(r, zero_point, "zero point"));
    PT_ASSIGN(zero, OneNumber(r, zero_point, "zero point"));
  } else {
    PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(like), "its input"));
    zero = r.AddZero(type);
  }
  r.Finish(0, "QuantizeLinear", {value, step, zero});
  return {};
}

}  // namespace pt::contrib
