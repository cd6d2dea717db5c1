#include <algorithm>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/attribute_lists.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {

int64_t TensorFacts::count() const { return CheckedProduct(dims).value_or(0); }

Status ReferenceSite::Out(size_t i, DataType type, std::vector<int64_t> dims) {
  if (i >= out.size() || (out[i].settled && !out[i].present())) return {};  // not asked for
  TensorFacts& operand = out[i];
  if (dims.size() > kMaxRank) return Unsupported("has an output of rank " + std::to_string(dims.size()));
  const std::optional<int64_t> count = CheckedProduct(dims);
  const std::optional<int64_t> bits = count ? CheckedMul(*count, std::max(1, BitsOf(type))) : std::nullopt;
  const auto refuse = [&](const std::string& why) {
    return MakeError(ErrorCode::kOutOfMemory, "reference.size",
                     node.op + ": output " + std::to_string(i) + " of dims " + DimsText(dims) + why);
  };
  if (!bits) return refuse(" does not fit 63 bits");
  const uint64_t bytes = static_cast<uint64_t>(*bits) / 8;
  if (limits.tensor_bytes != 0 && bytes > limits.tensor_bytes) {
    return refuse(" has " + std::to_string(bytes) + " bytes, the limit on a tensor is " +
                  std::to_string(limits.tensor_bytes));
  }
  if (!operand.settled) {
    operand.type = type;
    operand.dims = std::move(dims);
    operand.settled = true;
    return {};
  }
  if (operand.type == type && operand.dims == dims) return {};
  return Invalid("output " + std::to_string(i) + " is " + ToString(StaticType(type, dims)) + ", the graph says " +
                 ToString(StaticType(operand.type, operand.dims)));
}

Status ReferenceSite::OutFromGraph(size_t i, DataType type, int64_t rank) const {
  if (i >= out.size() || (out[i].settled && !out[i].present())) return {};
  if (!out[i].settled) return Unsupported("has an output whose size is known only at run time");
  if (out[i].type == type && out[i].rank() == rank) return {};
  return Invalid("output " + std::to_string(i) + " is not what the graph says");
}

Error ReferenceSite::Unsupported(std::string why) const {
  return MakeError(ErrorCode::kUnsupported, "reference.unsupported", node.op + " " + why);
}

Error ReferenceSite::Invalid(std::string why) const {
  return MakeError(ErrorCode::kInvalidInput, "reference.invalid", node.op + ": " + why);
}

Status ReferenceSite::NeedInputs(size_t at_least, size_t at_most) const {
  if (in.size() > at_most)
    return Invalid("has " + std::to_string(in.size()) + " inputs, at most " + std::to_string(at_most) + " are known");
  for (size_t i = 0; i < at_least; ++i) {
    if (!has(i)) return Invalid("input " + std::to_string(i) + " is missing");
  }
  return {};
}

Status ReferenceSite::NeedDims(size_t i, std::string_view what, const std::vector<int64_t>& dims) const {
  if (!has(i) || in[i].dims == dims) return {};
  return Invalid("dims " + DimsText(in[i].dims) + " of " + std::string(what) + " are wrong; expected " +
                 DimsText(dims));
}

Result<int64_t> ReferenceSite::Axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    return Invalid("axis " + std::to_string(axis) + " does not exist in a tensor of rank " + std::to_string(rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Result<std::optional<std::vector<int64_t>>> ReferenceSite::Ints(size_t input, std::string_view attribute) const {
  if (has(input)) {
    if (!in[input].constant) {
      return Unsupported("takes \"" + std::string(attribute) + "\" from a value known only at run time");
    }
    if (in[input].rank() > 1) return Invalid("\"" + std::string(attribute) + "\" is not a list");
    return std::optional(in[input].constant->ToInts());
  }
  return OrInvalid(ReadInts(node, attribute), *this);
}

Result<std::optional<double>> ReferenceSite::Scalar(size_t input) const {
  if (!has(input)) return std::optional<double>();
  if (!in[input].constant) return Unsupported("takes a parameter known only at run time");
  const Tensor& tensor = *in[input].constant;
  if (tensor.element_count() < 1) return Invalid("a parameter is empty");
  if (!IsLoadable(tensor.type()))
    return Unsupported("has a parameter of type " + std::string(DataTypeName(tensor.type())));
  return std::optional<double>(LoadAs<double>(tensor.type(), tensor.bytes().data(), 0));
}

Status ReferenceSite::NeedContent(size_t i) const {
  if (is_constant(i)) return {};
  return Unsupported("has an output whose size is known only at run time");
}

}  // namespace pt::reference
