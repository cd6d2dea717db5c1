// Reductions of float32 tensors over any axes. Dims become runs that are kept and runs that are reduced; the innermost
// run of either kind is what the vectors lie along, and the cores share the kept positions or, where there are too few,
// the reduced ones.
#include <algorithm>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/fold.h"
#include "lib/backend/host_kernels/operators/integer_reduction.h"
#include "lib/backend/host_kernels/operators/reduced_dims.h"

namespace pt::host {
namespace {

// What becomes of a fold in the end.
enum class Finish : uint8_t { kNone, kMean, kRoot, kLog, kLogSumExp };

// Of the reduced positions: all of them, or one of several equal shares.
struct Share {
  int64_t offset = 0;
  Walk<1> reduced;
};

struct Reduction {
  Fold fold = Fold::kSum;
  Finish finish = Finish::kNone;
  int64_t each = 1;     // elements that become one
  Walk<2> kept;         // offsets in the input and the output; without the columns
  int64_t columns = 1;  // kept neighbours that one fold takes at a time
  int64_t tile = 1;     // of columns
  int64_t column_in = 0, column_out = 0;
  bool by_columns = false;
  std::vector<Share> shares;

  int64_t results() const { return kept.count * columns; }
  int64_t tiles() const { return (columns + tile - 1) / tile; }
};

std::vector<Share> SharesOf(const Walk<1>& reduced, int64_t wanted) {
  size_t longest = 0;
  for (size_t d = 1; d < reduced.rank; ++d) {
    if (reduced.sizes[d] > reduced.sizes[longest]) longest = d;
  }
  if (wanted < 2 || reduced.rank == 0 || reduced.count == 0) return {{0, reduced}};
  const int64_t size = reduced.sizes[longest], parts = std::min(wanted, size);
  std::vector<Share> shares;
  for (int64_t p = 0; p < parts; ++p) {
    const int64_t begin = size * p / parts, end = size * (p + 1) / parts;
    Share share{begin * reduced.strides[longest][0], reduced};
    share.reduced.sizes[longest] = end - begin;
    share.reduced.count = reduced.count / size * (end - begin);
    shares.push_back(std::move(share));
  }
  return shares;
}

Reduction Arrange(const Walk<2>& kept, const Walk<1>& folded, uint32_t width) {
  constexpr int64_t kShortLine = 16, kWorthSharing = 1 << 15;
  Reduction r;
  r.each = folded.count;
  r.kept = kept;
  const bool lines = folded.rank == 0 || folded.strides[0][0] == 1;
  r.by_columns = !lines || (folded.inner_size() < kShortLine && kept.inner_size() >= kShortLine);
  int64_t cores = width;
  if (r.by_columns) {
    r.columns = kept.inner_size();
    r.column_in = kept.inner_stride()[0];
    r.column_out = kept.inner_stride()[1];
    r.kept = kept.Without(0);
    const int64_t pieces = std::max<int64_t>(1, cores / std::max<int64_t>(1, r.kept.count));
    const int64_t piece = (r.columns + pieces - 1) / pieces;
    r.tile = std::clamp<int64_t>((piece + 15) / 16 * 16, 16, kMostColumns);
  }
  const int64_t units = r.kept.count * r.tiles();
  const bool too_few = units > 0 && units < cores && folded.count >= kWorthSharing / std::max<int64_t>(1, r.results());
  r.shares = SharesOf(folded, too_few ? cores : 1);
  return r;
}

// done(k, at, total) for each result: its number, its offset in the output and what its elements come to.
template <typename Done>
void FoldAll(const Reduction& r, Fold fold, const float* shifts, double* partial, const HostCall& run, Done&& done) {
  const auto* x = run.input<float>(0);
  const int64_t tiles = r.tiles(), units = r.kept.count * tiles;
  const auto shares = static_cast<int64_t>(r.shares.size());
  const auto one = [&](int64_t item) {
    const Share& share = r.shares[static_cast<size_t>(item / units)];
    const int64_t unit = item % units, outer = unit / tiles, first = unit % tiles * r.tile;
    const int64_t n = std::min(r.tile, r.columns - first), k = outer * r.columns + first;
    const Walk<2>::Offsets at = r.kept.At(outer);
    const float* from = x + at[0] + share.offset + first * r.column_in;
    const float* own_shifts = shifts == nullptr ? nullptr : shifts + k;
    std::array<double, kMostColumns> totals;
    if (r.by_columns) {
      FoldColumns(fold, from, share.reduced, n, r.column_in, own_shifts, totals.data());
    } else {
      totals[0] = FoldLines(fold, from, share.reduced, own_shifts == nullptr ? 0 : *own_shifts);
    }
    for (int64_t c = 0; c < n; ++c) {
      const double total = totals[static_cast<size_t>(c)];
      if (partial != nullptr) {
        partial[item / units * r.results() + k + c] = total;
      } else {
        done(k + c, at[1] + (first + c) * r.column_out, total);
      }
    }
  };
  const bool by_vectors = !r.by_columns || r.column_in == 1;
  const double element = fold == Fold::kSumExp ? 0.6 : by_vectors ? 0.12 : 0.35;
  const double each = static_cast<double>(r.shares[0].reduced.count) * element + (by_vectors ? 0 : 1);
  ParallelRanges(run.team, units * shares, each * static_cast<double>(r.by_columns ? r.tile : 1) + 20,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t item = begin; item < end; ++item) one(item);
                 });
  if (partial == nullptr) return;
  for (int64_t k = 0; k < r.results(); ++k) {
    double total = partial[k];
    for (int64_t s = 1; s < shares; ++s) total = JoinFolds(fold, total, partial[s * r.results() + k]);
    done(k, r.kept.At(k / r.columns)[1] + k % r.columns * r.column_out, total);
  }
}

double Finished(Finish finish, double total, int64_t each) {
  switch (finish) {
    case Finish::kMean:
      return total / static_cast<double>(each);
    case Finish::kRoot:
      return std::sqrt(total);
    case Finish::kLog:
      return std::log(total);
    case Finish::kNone:
    case Finish::kLogSumExp:
      break;
  }
  return total;
}

void RunReduction(const Reduction& r, const HostCall& run) {
  auto* y = run.output<float>(0);
  auto* numbers = reinterpret_cast<double*>(run.scratch);
  double* partial = r.shares.size() > 1 ? numbers : nullptr;
  if (r.results() == 0) return;
  if (r.finish != Finish::kLogSumExp) {
    FoldAll(r, r.fold, nullptr, partial, run,
            [&](int64_t, int64_t at, double total) { y[at] = static_cast<float>(Finished(r.finish, total, r.each)); });
    return;
  }
  // Shifted by the greatest, so that nothing overflows. Where that is infinite or NaN, it is the result.
  const size_t taken = partial == nullptr ? 0 : r.shares.size() * static_cast<size_t>(r.results());
  auto* shifts = reinterpret_cast<float*>(numbers + taken);
  FoldAll(r, Fold::kMost, nullptr, partial, run,
          [&](int64_t k, int64_t, double most) { shifts[k] = static_cast<float>(most); });
  FoldAll(r, Fold::kSumExp, shifts, partial, run, [&](int64_t k, int64_t at, double sum) {
    const double shift = shifts[k];
    y[at] = static_cast<float>(std::isfinite(shift) ? shift + std::log(sum) : shift);
  });
}

template <Fold fold, Finish finish>
Result<HostRoutine> Reduce(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  if (site.in[0].type() != DataType::kFloat32) return ReduceIntegers(site);
  PT_ASSIGN(const ReducedDims dims, ReadReducedDims(site));
  Reduction r = Arrange(dims.kept, dims.folded, site.width);
  r.fold = fold;
  r.finish = finish;
  HostRoutine routine;
  const auto results = static_cast<uint64_t>(r.results());
  if (r.shares.size() > 1) routine.scratch_bytes += r.shares.size() * results * sizeof(double);
  if (finish == Finish::kLogSumExp) routine.scratch_bytes += results * sizeof(float);
  routine.run = [r = std::move(r)](const HostCall& run) -> Status {
    RunReduction(r, run);
    return {};
  };
  return routine;
}

constexpr std::array kReductionOperators = {
    HostRow{"ReduceL1", Reduce<Fold::kSumAbs, Finish::kNone>},
    HostRow{"ReduceL2", Reduce<Fold::kSumSquare, Finish::kRoot>},
    HostRow{"ReduceLogSum", Reduce<Fold::kSum, Finish::kLog>},
    HostRow{"ReduceLogSumExp", Reduce<Fold::kSumExp, Finish::kLogSumExp>},
    HostRow{"ReduceMax", Reduce<Fold::kMost, Finish::kNone>},
    HostRow{"ReduceMean", Reduce<Fold::kSum, Finish::kMean>},
    HostRow{"ReduceMin", Reduce<Fold::kLeast, Finish::kNone>},
    HostRow{"ReduceProd", Reduce<Fold::kProduct, Finish::kNone>},
    HostRow{"ReduceSum", Reduce<Fold::kSum, Finish::kNone>},
    HostRow{"ReduceSumSquare", Reduce<Fold::kSumSquare, Finish::kNone>},
};

}  // namespace

std::span<const HostRow> ReductionOperators() { return kReductionOperators; }

}  // namespace pt::host
