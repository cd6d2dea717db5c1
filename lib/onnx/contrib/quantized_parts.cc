#include "lib/onnx/contrib/quantized_parts.h"

namespace pt::contrib {

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
