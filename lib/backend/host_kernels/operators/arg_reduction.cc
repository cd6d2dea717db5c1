// ArgMax and ArgMin of float32 along one axis.
#include <algorithm>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/arg_lines.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt::host {
namespace {

// Lines that one call takes.
constexpr int64_t kMostLines = 256;

struct ArgReduction {
  Walk<2> outer;              // without the neighbours: offsets in the input and the output
  int64_t lines = 1;          // neighbours
  int64_t n = 1, stride = 1;  // of a line
  int64_t y_step = 1;         // of the neighbours
  bool most = true, last = false;
};

Status RunArgReduction(const ArgReduction& r, const HostCall& run) {
  const auto* x = run.input<float>(0);
  auto* y = run.output<int64_t>(0);
  const int64_t pieces = (r.lines + kMostLines - 1) / kMostLines;
  const double work = static_cast<double>(r.n * std::min(r.lines, kMostLines)) * 0.15 + 10;
  ParallelRanges(run.team, r.outer.count * pieces, work, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const Walk<2>::Offsets at = r.outer.At(item / pieces);
      const int64_t first = item % pieces * kMostLines;
      FindArgs({.x = x + at[0] + first,
                .n = r.n,
                .stride = r.stride,
                .lines = std::min(kMostLines, r.lines - first),
                .y = y + at[1] + first * r.y_step,
                .y_step = r.y_step,
                .most = r.most,
                .last = r.last});
    }
  });
  return {};
}

template <bool most>
Result<HostRoutine> ArgReduce(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (x.type() != DataType::kFloat32) return site.Unsupported("its input is not float32");
  PT_ASSIGN(const ArgReductionNode arg,
            OrUnsupported(ReadArgReduction(site.node(), site.graph.opset(), x.dims().size()), site));
  const size_t along = arg.axis;
  const bool keep = arg.keeps_dim;
  std::vector<int64_t> dims = x.dims();
  dims[along] = 1;
  if (!keep) dims.erase(dims.begin() + static_cast<ptrdiff_t>(along));
  PT_CHECK_OK(site.NeedOutput(0, DataType::kInt64, dims));
  ArgReduction r;
  r.most = most;
  r.last = arg.takes_last;
  r.n = x.dims()[along];
  r.stride = x.strides()[along];
  if (r.n < 1 || r.n > std::numeric_limits<int32_t>::max()) return site.Unsupported("its axis is empty or too long");
  for (size_t d = dims.size() + (keep ? 0 : 1); d-- > 0;) {
    if (d == along) continue;
    r.outer.Push(x.dims()[d], {x.strides()[d], y.strides()[keep || d < along ? d : d - 1]});
  }
  if (r.outer.rank > 0 && r.outer.strides[0][0] == 1) {
    r.lines = r.outer.inner_size();
    r.y_step = r.outer.inner_stride()[1];
    r.outer = r.outer.Without(0);
  }
  return HostRoutine{[r = std::move(r)](const HostCall& run) { return RunArgReduction(r, run); }};
}

constexpr std::array kArgReductionOperators = {HostRow{"ArgMax", ArgReduce<true>}, HostRow{"ArgMin", ArgReduce<false>}};

}  // namespace

std::span<const HostRow> ArgReductionOperators() { return kArgReductionOperators; }

}  // namespace pt::host
