#include <algorithm>

#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/operators/attribute_lists.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::host {

int64_t HostOperand::count() const { return CheckedProduct(layout.dims).value_or(0); }

Error HostSite::Unsupported(std::string why) const {
  return MakeError(ErrorCode::kUnsupported, "host.unsupported", node().op + ": " + std::move(why));
}

Status HostSite::NeedInputs(size_t at_least, size_t at_most) const {
  if (in.size() > at_most) return Unsupported("it has " + std::to_string(in.size()) + " inputs");
  for (size_t i = 0; i < at_least; ++i) {
    if (!has(i)) return Unsupported("input " + std::to_string(i) + " is missing");
  }
  return {};
}

Result<int64_t> HostSite::Axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) return Unsupported("axis " + std::to_string(axis) + " does not exist");
  return axis < 0 ? axis + rank : axis;
}

Result<std::optional<std::vector<int64_t>>> HostSite::Ints(size_t input, std::string_view attribute) const {
  if (has(input)) {
    if (!in[input].constant) return Unsupported("\"" + std::string(attribute) + "\" is known only at run time");
    return std::optional(in[input].constant->ToInts());
  }
  return OrUnsupported(ReadInts(node(), attribute), *this);
}

Status HostSite::NeedOutput(size_t i, DataType type, const std::vector<int64_t>& dims) const {
  if (i >= out.size() || !out[i].present()) return {};
  if (out[i].type() == type && out[i].dims() == dims) return {};
  return Unsupported("output " + std::to_string(i) + " is not " + ToString(StaticType(type, dims)));
}

}  // namespace pt::host
