#include "lib/backend/host_kernels/operators/indices.h"

namespace pt::host {

Error NoSuchIndex(std::string_view op, int64_t index, int64_t dim) {
  return MakeError(
      ErrorCode::kInvalidInput, "host.index",
      std::string(op) + ": index " + std::to_string(index) + " is outside a dim of " + std::to_string(dim));
}

Walk<1> InOrder(const HostOperand& operand) {
  Walk<1> walk;
  for (size_t d = operand.dims().size(); d-- > 0;) walk.Push(operand.dims()[d], {operand.strides()[d]});
  return walk;
}

Status CheckIndices(std::string_view op, const void* indices, DataType type, const Walk<1>& walk,
                    std::span<const int64_t> dims) {
  if (walk.count == 0) return {};
  return VisitIndexType(type, [&]<typename Index>() -> Status {
    Cursor<1> cursor(walk, 0);
    for (int64_t i = 0; i < walk.count; ++i, cursor.Next()) {
      const int64_t index = static_cast<const Index*>(indices)[cursor.offsets()[0]];
      const int64_t dim = dims[static_cast<size_t>(i) % dims.size()];
      if (!IsPlace(PlaceOf(index, dim), dim)) return NoSuchIndex(op, index, dim);
    }
    return {};
  });
}

}  // namespace pt::host
