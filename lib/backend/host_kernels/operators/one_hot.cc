// OneHot: lines of `off` with one `on` each, at an index that only the run may know; none where it does not exist.
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/operators/indices.h"
#include "lib/backend/visit_bytes.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::host {
namespace {

struct OneHots {
  Walk<2> lines;                  // offsets in the indices and the output
  int64_t depth = 0, stride = 0;  // of a line
  int64_t value_step = 1;         // between `off` and `on`
  std::optional<DataType> depth_in_run;
};

// Rows of neighbouring lines: by line where each lies in one piece, else by place.
template <typename T, typename Index>
void RunLines(const OneHots& h, const Index* indices, T* y, int64_t count, T off, T on) {
  const Walk<2>::Offsets across = h.lines.inner_stride();
  if (h.stride == 1) {
    for (int64_t i = 0; i < count; ++i) {
      T* line = y + i * across[1];
      std::fill_n(line, h.depth, off);
      const auto place = PlaceOf(static_cast<int64_t>(indices[i * across[0]]), h.depth);
      if (IsPlace(place, h.depth)) line[place] = on;
    }
    return;
  }
  for (int64_t k = 0; k < h.depth; ++k) {
    for (int64_t i = 0; i < count; ++i) {
      const auto place = PlaceOf(static_cast<int64_t>(indices[i * across[0]]), h.depth);
      y[k * h.stride + i * across[1]] = place == k ? on : off;
    }
  }
}

template <typename T, typename Index>
Status RunOneHot(const OneHots& h, const HostCall& run) {
  if (h.depth_in_run) {
    const int64_t depth = *h.depth_in_run == DataType::kInt64 ? *run.input<int64_t>(1) : *run.input<int32_t>(1);
    if (depth != h.depth) {
      return MakeError(ErrorCode::kInvalidInput, "host.shape", "OneHot: the depth is not the one planned for");
    }
  }
  const T off = run.input<T>(2)[0], on = run.input<T>(2)[h.value_step];
  const int64_t size = h.lines.inner_size();
  ParallelRanges(run.team, h.lines.count, static_cast<double>(h.depth) * 0.3 + 3, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end;) {
      const int64_t count = std::min(end - line, size - line % size);
      const Walk<2>::Offsets at = h.lines.At(line);
      RunLines<T, Index>(h, run.input<Index>(0) + at[0], run.output<T>(0) + at[1], count, off, on);
      line += count;
    }
  });
  return {};
}

Result<HostRoutine> OneHot(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const HostOperand &where = site.in[0], &depth = site.in[1], &values = site.in[2], &y = site.out[0];
  if (!IsIndexType(where.type()) || !IsIndexType(depth.type())) return site.Unsupported("its indices are not integers");
  if (depth.count() != 1 || values.rank() != 1 || values.count() != 2) return site.Unsupported("its inputs do not fit");
  PT_ASSIGN(const size_t along,
            OrUnsupported(ReadAxis(site.node(), site.graph.opset(), where.dims().size() + 1), site));
  OneHots h;
  if (depth.constant) {
    h.depth = depth.constant->ToInts()[0];
  } else {
    h.depth = y.dims().size() > along ? y.dims()[along] : 0;
    h.depth_in_run = depth.type();
  }
  if (h.depth < 1) return site.Unsupported("its depth is not positive");
  std::vector<int64_t> dims = where.dims();
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(along), h.depth);
  PT_CHECK_OK(site.NeedOutput(0, values.type(), dims));
  for (size_t d = where.dims().size(); d-- > 0;) {
    h.lines.Push(where.dims()[d], {where.strides()[d], y.strides()[d < along ? d : d + 1]});
  }
  h.stride = y.strides()[along];
  h.value_step = values.strides()[0];
  return VisitBytes(BytesOf(values.type()), [&]<typename T>() {
    return VisitIndexType(where.type(), [&]<typename Index>() -> Result<HostRoutine> {
      return HostRoutine{[h](const HostCall& run) { return RunOneHot<T, Index>(h, run); }};
    });
  });
}

constexpr std::array kOneHotOperators = {HostRow{"OneHot", OneHot}};

}  // namespace

std::span<const HostRow> OneHotOperators() { return kOneHotOperators; }

}  // namespace pt::host
