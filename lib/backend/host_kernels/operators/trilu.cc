// Trilu: the upper or lower triangle of matrices, the rest zero.
#include <algorithm>
#include <array>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt::host {
namespace {

struct Triangle {
  Walk<2> rows;  // all dims but the innermost: offsets in the input and the output
  int64_t height = 0, width = 0;
  int64_t bytes = 1;  // of an element
  bool upper = true;
};

void RunRow(const Triangle& t, const std::byte* x, std::byte* y, int64_t edge) {
  // Kept are the columns from `edge` on, or up to it.
  const int64_t middle = std::clamp<int64_t>(t.upper ? edge : edge + 1, 0, t.width);
  const int64_t begin = t.upper ? middle : 0, end = t.upper ? t.width : middle;
  const auto kept = static_cast<size_t>((end - begin) * t.bytes);
  if (x != y && kept != 0) std::memcpy(y + begin * t.bytes, x + begin * t.bytes, kept);
  std::memset(t.upper ? y : y + middle * t.bytes, 0, static_cast<size_t>(t.width * t.bytes) - kept);
}

Result<HostRoutine> Trilu(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (x.rank() < 2) return site.Unsupported("its input is not a matrix");
  if (site.has(1) && (site.in[1].type() != DataType::kInt64 || site.in[1].count() != 1)) {
    return site.Unsupported("k is not one int64");
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), x.dims()));
  Triangle t;
  t.width = x.dims().back();
  t.height = x.dims()[x.dims().size() - 2];
  t.bytes = BytesOf(x.type());
  t.upper = KeepsUpperTriangle(site.node());
  if (t.width > 1 && (x.strides().back() != 1 || y.strides().back() != 1)) {
    return site.Unsupported("its rows are not contiguous");
  }
  for (size_t d = x.dims().size() - 1; d-- > 0;) t.rows.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  HostRoutine routine;
  routine.in_place = {0};
  routine.run = [t, shifted = site.has(1)](const HostCall& run) -> Status {
    if (t.width == 0) return {};
    const int64_t k = shifted ? std::clamp(*run.input<int64_t>(1), -t.height - t.width, t.height + t.width) : 0;
    ParallelRanges(run.team, t.rows.count, static_cast<double>(t.width * t.bytes) * 0.06 + 5,
                   [&](int64_t begin, int64_t end) {
                     Cursor<2> at(t.rows, begin);
                     for (int64_t r = begin; r < end; ++r, at.Next()) {
                       RunRow(t, run.input<std::byte>(0) + at.offsets()[0] * t.bytes,
                              run.output<std::byte>(0) + at.offsets()[1] * t.bytes, r % t.height + k);
                     }
                   });
    return {};
  };
  return routine;
}

constexpr std::array kTriluOperators = {HostRow{"Trilu", Trilu}};

}  // namespace

std::span<const HostRow> TriluOperators() { return kTriluOperators; }

}  // namespace pt::host
