// CumSum of float32, int32 and int64 along one axis. Sums are carried in double, or wrap around. Several lines at a
// time hide what one addition takes; neighbouring lines are walked together.
#include <algorithm>
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/walk.h"

namespace pt::host {
namespace {

// Lines that one call takes.
constexpr int64_t kMostLines = 256;

struct Sums {
  Walk<2> lines;  // dims beside the axis: offsets in the input and the output
  int64_t n = 0;  // elements of a line
  Walk<2>::Offsets step{};
  bool exclusive = false, reverse = false;
};

template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// `count` neighbouring lines, `across` apart.
template <typename T>
void SumLines(const Sums& s, const T* x, T* y, int64_t count, const Walk<2>::Offsets& across) {
  std::array<Wide<T>, kMostLines> sums;
  std::fill_n(sums.begin(), count, Wide<T>{});
  const int64_t sign = s.reverse ? -1 : 1, first = s.reverse ? s.n - 1 : 0;
  for (int64_t k = 0; k < s.n; ++k) {
    const T* from = x + (first + sign * k) * s.step[0];
    T* to = y + (first + sign * k) * s.step[1];
    for (int64_t i = 0; i < count; ++i) {
      Wide<T>& sum = sums[static_cast<size_t>(i)];
      const auto next = sum + static_cast<Wide<T>>(from[i * across[0]]);
      to[i * across[1]] = static_cast<T>(s.exclusive ? sum : next);
      sum = next;
    }
  }
}

template <typename T>
void RunSums(const Sums& s, const Run& run) {
  if (s.n == 0) return;
  const Walk<2>::Offsets across = s.lines.inner_stride();
  // Lines that lie beside each other are taken together as many as there are; others so few that all stay in the cache.
  const int64_t most = across[0] == 1 ? kMostLines : 8;
  const int64_t size = s.lines.inner_size();
  ParallelRanges(run.team, s.lines.count, static_cast<double>(s.n) * 0.6 + 3, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end;) {
      const int64_t count = std::min({end - line, size - line % size, most});
      const Walk<2>::Offsets at = s.lines.At(line);
      SumLines(s, run.input<T>(0) + at[0], run.output<T>(0) + at[1], count, across);
      line += count;
    }
  });
}

Result<Routine> CumSum(const Site& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const Operand &x = site.in[0], &y = site.out[0];
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
  s.exclusive = site.node().int_or("exclusive", 0) != 0;
  s.reverse = site.node().int_or("reverse", 0) != 0;
  const auto routine = [&](auto run_sums) {
    return Routine{[s = std::move(s), run_sums](const Run& run) -> Status {
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

constexpr std::array kRows = {OperatorRow{"CumSum", CumSum}};

}  // namespace

std::span<const OperatorRow> CumulativeSumOperators() { return kRows; }

}  // namespace pt::host
