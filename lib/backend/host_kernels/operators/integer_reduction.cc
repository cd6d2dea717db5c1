#include "lib/backend/host_kernels/operators/integer_reduction.h"

#include <algorithm>
#include <array>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/operators/reduced_dims.h"

namespace pt::host {
namespace {

// Results that one call makes.
constexpr int64_t kMostTogether = 256;

// Sums and products are carried in 64 bits and wrap around.
uint64_t Unsigned(int64_t x) { return static_cast<uint64_t>(x); }

struct Sum {
  template <typename T>
  static constexpr int64_t kStart = 0;
  static int64_t Add(int64_t held, int64_t x) { return static_cast<int64_t>(Unsigned(held) + Unsigned(x)); }
  static int64_t Finish(int64_t total, int64_t) { return total; }
};
struct Mean : Sum {
  static int64_t Finish(int64_t total, int64_t each) { return each == 0 ? 0 : total / each; }
};
struct SumAbs : Sum {
  static int64_t Add(int64_t held, int64_t x) {
    return static_cast<int64_t>(x < 0 ? Unsigned(held) - Unsigned(x) : Unsigned(held) + Unsigned(x));
  }
};
struct SumSquare : Sum {
  static int64_t Add(int64_t held, int64_t x) {
    return static_cast<int64_t>(Unsigned(held) + Unsigned(x) * Unsigned(x));
  }
};
struct Product : Sum {
  template <typename T>
  static constexpr int64_t kStart = 1;
  static int64_t Add(int64_t held, int64_t x) { return static_cast<int64_t>(Unsigned(held) * Unsigned(x)); }
};
struct Most : Sum {
  template <typename T>
  static constexpr int64_t kStart = std::numeric_limits<T>::lowest();
  static int64_t Add(int64_t held, int64_t x) { return std::max(held, x); }
};
struct Least : Sum {
  template <typename T>
  static constexpr int64_t kStart = std::numeric_limits<T>::max();
  static int64_t Add(int64_t held, int64_t x) { return std::min(held, x); }
};

// `count` neighbouring results.
template <class Op, typename T>
void FoldSome(const ReducedDims& dims, const T* x, T* y, int64_t count) {
  const Walk<2>::Offsets across = dims.kept.inner_stride();
  std::array<int64_t, kMostTogether> totals;
  std::fill_n(totals.begin(), count, Op::template kStart<T>);
  if (dims.folded.inner_stride()[0] == 1) {
    const int64_t n = dims.folded.inner_size();
    for (int64_t i = 0; i < count; ++i) {
      int64_t total = Op::template kStart<T>;
      dims.folded.ForEach(1, [&](const Walk<1>::Offsets& at) {
        const T* line = x + i * across[0] + at[0];
        for (int64_t k = 0; k < n; ++k) total = Op::Add(total, line[k]);
      });
      totals[static_cast<size_t>(i)] = total;
    }
  } else {
    dims.folded.ForEach(0, [&](const Walk<1>::Offsets& at) {
      const T* row = x + at[0];
      for (int64_t i = 0; i < count; ++i) {
        int64_t& total = totals[static_cast<size_t>(i)];
        total = Op::Add(total, row[i * across[0]]);
      }
    });
  }
  for (int64_t i = 0; i < count; ++i) {
    y[i * across[1]] = static_cast<T>(Op::Finish(totals[static_cast<size_t>(i)], dims.folded.count));
  }
}

template <class Op, typename T>
Result<HostRoutine> RoutineOf(const HostSite& site) {
  PT_ASSIGN(const ReducedDims reduced, ReadReducedDims(site));
  return HostRoutine{[dims = reduced](const HostCall& run) -> Status {
    const double work = static_cast<double>(dims.folded.count) * 0.3 + 2;
    const int64_t size = dims.kept.inner_size();
    ParallelShares(run.team, dims.kept.count, work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t count = std::min({end - i, size - i % size, kMostTogether});
        const Walk<2>::Offsets at = dims.kept.At(i);
        FoldSome<Op>(dims, run.input<T>(0) + at[0], run.output<T>(0) + at[1], count);
        i += count;
      }
    });
    return {};
  }};
}

struct Row {
  std::string_view op;
  Result<HostRoutine> (*narrow)(const HostSite&);
  Result<HostRoutine> (*wide)(const HostSite&);
};
template <class Op>
constexpr Row RowOf(std::string_view op) {
  return {op, RoutineOf<Op, int32_t>, RoutineOf<Op, int64_t>};
}
constexpr std::array kIntegerReductions = {RowOf<SumAbs>("ReduceL1"),          RowOf<Most>("ReduceMax"),
                                           RowOf<Mean>("ReduceMean"),          RowOf<Least>("ReduceMin"),
                                           RowOf<Product>("ReduceProd"),       RowOf<Sum>("ReduceSum"),
                                           RowOf<SumSquare>("ReduceSumSquare")};

}  // namespace

Result<HostRoutine> ReduceIntegers(const HostSite& site) {
  const auto row = std::find_if(kIntegerReductions.begin(), kIntegerReductions.end(),
                                [&](const Row& r) { return r.op == site.node().op; });
  if (row != kIntegerReductions.end() && site.in[0].type() == DataType::kInt32) return row->narrow(site);
  if (row != kIntegerReductions.end() && site.in[0].type() == DataType::kInt64) return row->wide(site);
  return site.Unsupported("it does not run for " + std::string(DataTypeName(site.in[0].type())));
}

}  // namespace pt::host
