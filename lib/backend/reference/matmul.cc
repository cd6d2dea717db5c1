// MatMul with broadcast batches and Gemm.
#include <algorithm>
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/broadcast.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/gemm.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

// batch products C = scale · A · B: a[i], b[i] are offsets of the i-th operands.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_col = 0, b_row = 0, b_col = 0;
  std::vector<int64_t> a, b;
  double scale = 1;
};

// What is added to the element at (i, j): scale times that of a broadcast matrix.
struct Start {
  size_t input = 2;
  int64_t row_stride = 0, col_stride = 0;
  double scale = 1;
};

// A block of B's columns stays in a core's caches while all rows of A go by.
constexpr int64_t kBlockColumns = 256;

// Summed in double and rounded once: what judges others is to be more exact than they are.
template <typename T>
ReferenceRoutine FloatProduct(const Product& p, std::optional<Start> start) {
  return {[=](const TensorCall& run) -> Status {
    const auto batch = static_cast<int64_t>(p.a.size());
    ParallelRanges(run.team, batch * p.m, static_cast<double>(p.n * p.k), [&](int64_t begin, int64_t end) {
      std::array<double, kBlockColumns> sums;
      for (int64_t j0 = 0; j0 < p.n; j0 += kBlockColumns) {
        const int64_t width = std::min(kBlockColumns, p.n - j0);
        for (int64_t row = begin; row < end; ++row) {
          const int64_t i = row % p.m;
          const auto item = static_cast<size_t>(row / p.m);
          const T* a = run.in<T>(0) + p.a[item] + i * p.a_row;
          const T* b = run.in<T>(1) + p.b[item] + j0 * p.b_col;
          std::fill_n(sums.begin(), width, 0.0);
          for (int64_t q = 0; q < p.k; ++q) {
            const double factor = a[q * p.a_col];
            const T* from = b + q * p.b_row;
            for (int64_t j = 0; j < width; ++j) sums[static_cast<size_t>(j)] += factor * from[j * p.b_col];
          }
          const T* add = start ? run.in<T>(start->input) + i * start->row_stride + j0 * start->col_stride : nullptr;
          T* c = run.out<T>() + row * p.n + j0;
          for (int64_t j = 0; j < width; ++j) {
            const double more = add != nullptr ? start->scale * add[j * start->col_stride] : 0;
            c[j] = static_cast<T>(p.scale * sums[static_cast<size_t>(j)] + more);
          }
        }
      }
    });
    return {};
  }};
}

// Integers: plain loops, wrapping around.
template <typename T>
ReferenceRoutine IntegerProduct(const Product& p, std::optional<Start> start) {
  return {[=](const TensorCall& run) -> Status {
    const auto batch = static_cast<int64_t>(p.a.size());
    ParallelRanges(run.team, batch * p.m, static_cast<double>(p.n * p.k), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t i = row % p.m;
        const auto item = static_cast<size_t>(row / p.m);
        const T* a = run.in<T>(0) + p.a[item] + i * p.a_row;
        const T* b = run.in<T>(1) + p.b[item];
        T* c = run.out<T>() + row * p.n;
        for (int64_t j = 0; j < p.n; ++j) {
          uint64_t sum = 0;
          for (int64_t q = 0; q < p.k; ++q)
            sum += static_cast<uint64_t>(a[q * p.a_col]) * static_cast<uint64_t>(b[q * p.b_row + j * p.b_col]);
          const T product = static_cast<T>(sum);
          c[j] = p.scale == 1 ? product : static_cast<T>(p.scale * static_cast<double>(product));
          if (start) {
            const T add = run.in<T>(start->input)[i * start->row_stride + j * start->col_stride];
            c[j] = static_cast<T>(static_cast<uint64_t>(c[j]) +
                                  static_cast<uint64_t>(static_cast<T>(start->scale * static_cast<double>(add))));
          }
        }
      }
    });
    return {};
  }};
}

Result<ReferenceRoutine> MakeProduct(const ReferenceSite& site, const Product& p, std::optional<Start> start) {
  if (IsInteger(site.in[0].type)) {
    return VisitIntegers(site, site.in[0].type,
                         [&]<typename T>() -> Result<ReferenceRoutine> { return IntegerProduct<T>(p, start); });
  }
  return VisitFloats(site, site.in[0].type,
                     [&]<typename T>() -> Result<ReferenceRoutine> { return FloatProduct<T>(p, start); });
}

// Element offsets of the matrices of every batch item, broadcast to `batch`.
std::vector<int64_t> BatchOffsets(const std::vector<int64_t>& dims, int64_t matrix, const std::vector<int64_t>& batch) {
  const Broadcast<1> walk = MakeBroadcast<1>({dims}, batch);
  std::vector<int64_t> offsets;
  walk.ForEachRow(nullptr, 0, [&](int64_t, const auto& from, const auto& steps, int64_t n) {
    for (int64_t i = 0; i < n; ++i) offsets.push_back((from[0] + i * steps[0]) * matrix);
  });
  return offsets;
}

Result<ReferenceRoutine> MatMul(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  std::vector<int64_t> a = site.in[0].dims, b = site.in[1].dims;
  if (site.in[0].type != site.in[1].type) return site.Invalid("its inputs are of different types");
  if (a.empty() || b.empty()) return site.Invalid("an input is a scalar");
  const bool a_is_vector = a.size() == 1, b_is_vector = b.size() == 1;
  if (a_is_vector) a.insert(a.begin(), 1);
  if (b_is_vector) b.push_back(1);
  Product p;
  p.m = a[a.size() - 2];
  p.k = a.back();
  p.n = b.back();
  if (b[b.size() - 2] != p.k) {
    return site.Invalid("the inner dims of " + DimsText(site.in[0].dims) + " and " + DimsText(site.in[1].dims) +
                        " differ");
  }
  p.a_row = p.k;
  p.a_col = 1;
  p.b_row = p.n;
  p.b_col = 1;
  const std::vector<int64_t> a_batch(a.begin(), a.end() - 2), b_batch(b.begin(), b.end() - 2);
  const std::array<TensorFacts, 2> leading = {TensorFacts{site.in[0].type, a_batch, {}, true},
                                              TensorFacts{site.in[1].type, b_batch, {}, true}};
  PT_ASSIGN(std::vector<int64_t> out, BroadcastDims(site, leading));
  if (b_batch.empty()) {  // one B for all: the rows of all A's are one matrix
    for (int64_t dim : a_batch) p.m *= dim;
    p.a = p.b = {0};
  } else {
    p.a = BatchOffsets(a_batch, p.m * p.k, out);
    p.b = BatchOffsets(b_batch, p.k * p.n, out);
  }
  if (!a_is_vector) out.push_back(a[a.size() - 2]);
  if (!b_is_vector) out.push_back(p.n);
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  return MakeProduct(site, p, std::nullopt);
}

Result<ReferenceRoutine> Gemm(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 3));
  if (site.in[0].rank() != 2 || site.in[1].rank() != 2) return site.Invalid("its inputs are not matrices");
  for (const TensorFacts& input : site.in) {
    if (input.present() && input.type != site.in[0].type) return site.Invalid("its inputs are of different types");
  }
  const GemmNode gemm = ReadGemm(site.node);
  const std::vector<int64_t>& a = site.in[0].dims;
  const std::vector<int64_t>& b = site.in[1].dims;
  Product p;
  p.m = gemm.transpose_a ? a[1] : a[0];
  p.k = gemm.transpose_a ? a[0] : a[1];
  p.n = gemm.transpose_b ? b[0] : b[1];
  if ((gemm.transpose_b ? b[1] : b[0]) != p.k)
    return site.Invalid("the inner dims of " + DimsText(a) + " and " + DimsText(b) + " differ");
  p.a_row = gemm.transpose_a ? 1 : a[1];
  p.a_col = gemm.transpose_a ? a[1] : 1;
  p.b_row = gemm.transpose_b ? 1 : b[1];
  p.b_col = gemm.transpose_b ? b[1] : 1;
  p.a = p.b = {0};
  p.scale = gemm.alpha;
  PT_CHECK_OK(site.Out(0, site.in[0].type, {p.m, p.n}));
  std::optional<Start> start;
  if (site.has(2)) {
    const std::vector<int64_t>& c = site.in[2].dims;
    const int64_t rows = c.size() > 1 ? c[c.size() - 2] : 1, cols = c.empty() ? 1 : c.back();
    if (c.size() > 2 || (rows != 1 && rows != p.m) || (cols != 1 && cols != p.n))
      return site.Invalid("C of dims " + DimsText(c) + " does not broadcast to " + DimsText(site.out[0].dims));
    if (gemm.beta != 0) start = Start{2, rows == 1 ? 0 : cols, cols == 1 ? 0 : 1, gemm.beta};
  }
  return MakeProduct(site, p, start);
}

constexpr std::array kMatMulOperators = {
    ReferenceRow{.op = "MatMul", .make = MatMul, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "Gemm", .make = Gemm, .feeding = Feeding::kWidened, .since = 7},
};

}  // namespace

std::span<const ReferenceRow> MatMulOperators() { return kMatMulOperators; }

Result<ReferenceRoutine> MakeMatMul(ReferenceSite& site) { return MatMul(site); }

}  // namespace pt::reference
