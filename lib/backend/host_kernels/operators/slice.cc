// Slice with starts, ends, axes and steps known before the run.
#include <algorithm>
#include <array>
#include <limits>

#include "lib/backend/host_kernels/operators/boxes.h"

namespace pt::host {
namespace {

using Dims = std::vector<int64_t>;

// Where a slice of one dim starts, and how many elements it takes.
struct Range {
  int64_t start = 0, count = 0;
};

Range Clamped(int64_t dim, int64_t start, int64_t end, int64_t step) {
  // Far below zero, a bound stays there.
  const auto from_end = [&](int64_t i) { return i < 0 ? std::max(i, -dim - 1) + dim : i; };
  start = std::clamp<int64_t>(from_end(start), 0, step > 0 ? dim : std::max<int64_t>(0, dim - 1));
  end = std::clamp<int64_t>(from_end(end), step > 0 ? 0 : -1, dim);
  const int64_t distance = step > 0 ? end - start : start - end;
  return {start, distance <= 0 || dim == 0 ? 0 : (distance - 1) / std::abs(step) + 1};
}

Result<HostRoutine> Slice(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 5));
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_ASSIGN(const std::optional<Dims> starts, site.Ints(1, "starts"));
  PT_ASSIGN(const std::optional<Dims> ends, site.Ints(2, "ends"));
  PT_ASSIGN(std::optional<Dims> axes, site.Ints(3, "axes"));
  PT_ASSIGN(std::optional<Dims> steps, site.Ints(4, "steps"));
  if (!starts || !ends) return site.Unsupported("it has no starts or ends");
  if (!steps) steps = Dims(starts->size(), 1);
  if (!axes) {
    axes = Dims(starts->size());
    for (size_t i = 0; i < axes->size(); ++i) (*axes)[i] = static_cast<int64_t>(i);
  }
  const size_t n = starts->size();
  if (ends->size() != n || axes->size() != n || steps->size() != n) return site.Unsupported("its lists do not fit");
  Dims dims = x.dims(), from = x.strides();
  Box box;
  for (size_t i = 0; i < n; ++i) {
    PT_ASSIGN(const int64_t axis, site.Axis((*axes)[i], x.rank()));
    const auto d = static_cast<size_t>(axis);
    const int64_t step = (*steps)[i];
    if (step == 0 || step == std::numeric_limits<int64_t>::min()) return site.Unsupported("a step makes no sense");
    const Range range = Clamped(x.dims()[d], (*starts)[i], (*ends)[i], step);
    dims[d] = range.count;
    box.from += range.count == 0 ? 0 : range.start * x.strides()[d];
    // One element has no direction, and its step may be too large to multiply.
    from[d] = range.count <= 1 ? 0 : step * x.strides()[d];
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  for (size_t d = 0; d < dims.size(); ++d) box.dims.push_back({dims[d], from[d], y.strides()[d]});
  return RoutineOf(site, {box});
}

constexpr std::array kSliceOperators = {HostRow{"Slice", Slice, true}};

}  // namespace

std::span<const HostRow> SliceOperators() { return kSliceOperators; }

}  // namespace pt::host
