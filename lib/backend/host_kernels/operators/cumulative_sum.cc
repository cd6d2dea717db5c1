// CumSum of float32, int32 and int64 along one axis. Sums are carried in double, or wrap around. Several lines at a
// time hide what one addition takes; neighbouring lines are walked together.
#include <algorithm>
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt::host {
namespace {

// Lines beside each other that one call takes, and others: few enough for the registers.
constexpr int64_t kMostLines = 256, kFewLines = 4;

struct Sums {
  Walk<2> lines;  // dims beside the axis: offsets in the input and the output
  int64_t n = 0;  // elements of a line
  Walk<2>::Offsets step{};
  bool exclusive = false, reverse = false;
};

template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// `count` lines, `across` apart: kMost where that is known to the compiler, or fewer.
template <typename T, int64_t kMost>
void SumLines(const Sums& s, const T* x, T* y, int64_t count, const Walk<2>::Offsets& across) {
  std::array<Wide<T>, static_cast<size_t>(kMost)> sums{};
  const int64_t sign = s.reverse ? -1 : 1, first = s.reverse ? s.n - 1 : 0;
  for (int64_t k = 0; k < s.n; ++k) {
    const T* from = x + (first + sign * k) * s.step[0];
    T* to = y + (first + sign * k) * s.step[1];
    for (int64_t i = 0; i < (kMost <= kFewLines ? kMost : count); ++i) {
      Wide<T>& sum = sums[static_cast<size_t>(i)];
      const auto next = sum + static_cast<Wide<T>>(from[i * across[0]]);
      to[i * across[1]] = static_cast<T>(s.exclusive ? sum : next);
      sum = next;
    }
  }
}

template <typename T>
void RunSums(const Sums& s, const HostCall& run) {
  if (s.n == 0) return;
  const Walk<2>::Offsets across = s.lines.inner_stride();
  const bool beside = across[0] == 1;
  const int64_t size = s.lines.inner_size(), most = beside ? kMostLines : kFewLines;
  ParallelShares(run.team, s.lines.count, static_cast<double>(s.n) * 0.6 + 3, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end;) {
      int64_t count = std::min({end - line, size - line % size, most});
      const Walk<2>::Offsets at = s.lines.At(line);
      const T* x = run.input<T>(0) + at[0];
      T* y = run.output<T>(0) + at[1];
      if (beside) {
        SumLines<T, kMostLines>(s, x, y, count, across);
      } else if (count == kFewLines) {
        SumLines<T, kFewLines>(s, x, y, count, across);
      } else {
        SumLines<T, 1>(s, x, y, count = 1, across);
      }
      line += count;
    }
  });
}

Result<HostRoutine> CumSum(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_CHECK_OK(site.NeedOutput(0, x.type(), x.dims()));
  PT_ASSIGN(const std::optional<std::vector<int64_t>> given, site.Ints(1, "axis"));
  if (!given || given->size() != 1) return site.Unsupported("its axis is not one integer");
  PT_ASSIGN(const int64_t axis, site.Axis(given->front(), x.rank()));
  const auto along = static_cast<size_t>(axis);
  Sums s;
  for (size_t d = x.dims().size(); d-- > 0;) {
    if (d != along) s.lines.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  }
  s.n = x.dims()[along];
  s.step = {x.strides()[along], y.strides()[along]};
  const CumulativeNode sum = ReadCumulative(site.node());
  s.exclusive = sum.exclusive;
  s.reverse = sum.reverse;
  const auto routine = [&](auto run_sums) {
    return HostRoutine{[s, run_sums](const HostCall& run) -> Status {
                         run_sums(s, run);
                         return {};
                       },
                       0,
                       {0}};
  };
  if (x.type() == DataType::kFloat32) return routine(RunSums<float>);
  if (x.type() == DataType::kInt32) return routine(RunSums<int32_t>);
  if (x.type() == DataType::kInt64) return routine(RunSums<int64_t>);
  return site.Unsupported("its input is neither float32 nor int32 or int64");
}

constexpr std::array kCumulativeSumOperators = {HostRow{"CumSum", CumSum}};

}  // namespace

std::span<const HostRow> CumulativeSumOperators() { return kCumulativeSumOperators; }

}  // namespace pt::host
