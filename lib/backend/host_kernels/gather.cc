// Gather: whole slices of the input at indices that only the run may know.
#include <array>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/strided_copy.h"

namespace pt::host {
namespace {

struct Gathering {
  Walk<2> outer;        // dims before the axis: offsets in input and output
  Walk<2> indices;      // offsets in the indices and in the output
  StridedCopy inner;    // dims behind the axis
  int64_t inner_count;  // elements of one slice
  int64_t dim, stride;  // of the axis
  int64_t bytes;        // of an element
  bool wide;            // int64 indices, else int32

  int64_t IndexAt(const void* data, int64_t i) const {
    const int64_t at = indices.At(i)[0];
    return wide ? static_cast<const int64_t*>(data)[at] : static_cast<const int32_t*>(data)[at];
  }
};

Status CheckIndices(const Gathering& g, const void* data) {
  for (int64_t i = 0; i < g.indices.count; ++i) {
    const int64_t index = g.IndexAt(data, i);
    if (index >= -g.dim && index < g.dim) continue;
    return MakeError(ErrorCode::kInvalidInput, "host.index",
                     "Gather: index " + std::to_string(index) + " is outside a dim of " + std::to_string(g.dim));
  }
  return {};
}

Status RunGather(const Gathering& g, const Run& run) {
  const void* data = run.in[1];
  PT_CHECK_OK(CheckIndices(g, data));
  if (g.inner_count == 0) return {};
  const auto run_bytes = static_cast<size_t>(g.inner.run_bytes());
  const double work = static_cast<double>(g.inner_count * g.bytes) * 0.06 + 12;
  ParallelRanges(run.team, g.outer.count * g.indices.count, work, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t i = item % g.indices.count, given = g.IndexAt(data, i);
      const Walk<2>::Offsets at = g.outer.At(item / g.indices.count);
      const int64_t from = at[0] + (given < 0 ? given + g.dim : given) * g.stride;
      const std::byte* source = run.input<std::byte>(0) + from * g.bytes;
      std::byte* target = run.output<std::byte>(0) + (at[1] + g.indices.At(i)[1]) * g.bytes;
      if (run_bytes == 4) {  // the usual single element
        std::memcpy(target, source, 4);
      } else if (run_bytes != 0) {
        std::memcpy(target, source, run_bytes);
      } else {
        g.inner.Run(source, target, nullptr);
      }
    }
  });
  return {};
}

Result<Routine> Gather(const Site& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const Operand &x = site.in[0], &where = site.in[1], &y = site.out[0];
  if (where.type() != DataType::kInt64 && where.type() != DataType::kInt32) {
    return site.Unsupported("its indices are no integers");
  }
  PT_ASSIGN(const int64_t axis, site.Axis(site.node().int_or("axis", 0), x.rank()));
  const auto at = static_cast<size_t>(axis), span = where.dims().size();
  std::vector<int64_t> dims = x.dims();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, where.dims().begin(), where.dims().end());
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  Walk<2> outer, indices;
  for (size_t d = at; d-- > 0;) outer.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  for (size_t d = span; d-- > 0;) indices.Push(where.dims()[d], {where.strides()[d], y.strides()[at + d]});
  std::vector<CopyDim> inner;
  int64_t inner_count = 1;
  for (size_t d = at + 1; d < x.dims().size(); ++d) {
    inner.push_back({x.dims()[d], x.strides()[d], y.strides()[d + span - 1]});
    inner_count *= x.dims()[d];
  }
  const int64_t bytes = BytesOf(x.type());
  Gathering g{outer,           indices, StridedCopy(inner, bytes),       inner_count, x.dims()[at],
              x.strides()[at], bytes,   where.type() == DataType::kInt64};
  return Routine{[g = std::move(g)](const Run& run) { return RunGather(g, run); }};
}

constexpr std::array kRows = {OperatorRow{"Gather", Gather}};

}  // namespace

std::span<const OperatorRow> GatherOperators() { return kRows; }

}  // namespace pt::host
