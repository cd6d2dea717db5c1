#include "lib/backend/host_kernels/operators/reduced_dims.h"

namespace pt::host {
namespace {

Result<std::vector<bool>> ReadMask(const Site& site) {
  const int64_t rank = site.in[0].rank();
  std::vector<int64_t> axes;
  PT_ASSIGN(const std::optional<std::vector<int64_t>> given, site.Ints(1, "axes"));
  if (given) axes = *given;
  const bool all = axes.empty() && site.node().int_or("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<size_t>(rank), all);
  for (int64_t raw : axes) {
    PT_ASSIGN(const int64_t axis, site.Axis(raw, rank));
    reduced[static_cast<size_t>(axis)] = true;
  }
  return reduced;
}

}  // namespace

Result<ReducedDims> ReadReducedDims(const Site& site) {
  PT_ASSIGN(const std::vector<bool> reduced, ReadMask(site));
  const bool keep = site.node().int_or("keepdims", 1) != 0;
  const Operand &x = site.in[0], &y = site.out[0];
  std::vector<int64_t> expected;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d] || keep) expected.push_back(reduced[d] ? 1 : x.dims()[d]);
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), expected));
  ReducedDims dims;
  size_t to = expected.size();
  for (size_t d = reduced.size(); d-- > 0;) {
    if (!reduced[d] || keep) --to;
    if (reduced[d]) {
      dims.folded.Push(x.dims()[d], {x.strides()[d]});
    } else {
      dims.kept.Push(x.dims()[d], {x.strides()[d], y.strides()[to]});
    }
  }
  return dims;
}

}  // namespace pt::host
