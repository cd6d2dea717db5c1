// LpNormalization of float32: each line along one axis divided by the sum of its sizes, or by its length. A line of
// zeros stays one.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/fold.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::host {
namespace {

struct LpLines {
  Walk<2> lines;            // dims beside the axis: offsets in the input and the output
  Walk<1> line;             // elements of one
  Walk<2>::Offsets step{};  // between them
  int64_t n = 0;
  Fold fold = Fold::kSumSquare;
};

double InverseNorm(const LpLines& lp, double sum) {
  const double norm = lp.fold == Fold::kSumSquare ? std::sqrt(sum) : sum;
  return norm == 0 ? 1 : 1 / norm;
}

void RunAlong(const LpLines& lp, const float* x, float* y) {
  const double inverse = InverseNorm(lp, FoldLines(lp.fold, x, lp.line, 0));
  for (int64_t k = 0; k < lp.n; ++k) {
    y[k * lp.step[1]] = static_cast<float>(static_cast<double>(x[k * lp.step[0]]) * inverse);
  }
}

// Lines beside each other, `count` of them.
void RunAcross(const LpLines& lp, const float* x, float* y, int64_t count) {
  const Walk<2>::Offsets across = lp.lines.inner_stride();
  std::array<double, kMostColumns> inverse;
  FoldColumns(lp.fold, x, lp.line, count, across[0], nullptr, inverse.data());
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) inverse[i] = InverseNorm(lp, inverse[i]);
  for (int64_t k = 0; k < lp.n; ++k) {
    const float* from = x + k * lp.step[0];
    float* to = y + k * lp.step[1];
    for (int64_t i = 0; i < count; ++i) {
      to[i * across[1]] =
          static_cast<float>(static_cast<double>(from[i * across[0]]) * inverse[static_cast<size_t>(i)]);
    }
  }
}

Result<HostRoutine> LpNormalization(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (x.type() != DataType::kFloat32) return site.Unsupported("its input is not float32");
  PT_CHECK_OK(site.NeedOutput(0, x.type(), x.dims()));
  PT_ASSIGN(const size_t along, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), x.dims().size()), site));
  PT_ASSIGN(const int64_t p, OrUnsupported(ReadLpOrder(site.node()), site));
  LpLines lp;
  lp.fold = p == 1 ? Fold::kSumAbs : Fold::kSumSquare;
  lp.n = x.dims()[along];
  lp.step = {x.strides()[along], y.strides()[along]};
  lp.line.Push(lp.n, {lp.step[0]});
  for (size_t d = x.dims().size(); d-- > 0;) {
    if (d != along) lp.lines.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  }
  return HostRoutine{[lp](const HostCall& run) -> Status {
                       const int64_t size = lp.lines.inner_size();
                       const bool contiguous = lp.step[0] == 1 && lp.step[1] == 1;
                       const double work = static_cast<double>(lp.n) * 0.6 + 5;
                       ParallelShares(run.team, lp.lines.count, work, [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end;) {
                           const int64_t count = contiguous ? 1 : std::min({end - i, size - i % size, kMostColumns});
                           const Walk<2>::Offsets at = lp.lines.At(i);
                           const float* from = run.input<float>(0) + at[0];
                           float* to = run.output<float>(0) + at[1];
                           contiguous ? RunAlong(lp, from, to) : RunAcross(lp, from, to, count);
                           i += count;
                         }
                       });
                       return {};
                     },
                     0,
                     {0}};
}

constexpr std::array kLpNormalizationOperators = {HostRow{"LpNormalization", LpNormalization}};

}  // namespace

std::span<const HostRow> LpNormalizationOperators() { return kLpNormalizationOperators; }

}  // namespace pt::host
