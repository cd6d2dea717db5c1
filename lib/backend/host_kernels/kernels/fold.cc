#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/fold.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "lib/backend/host/vector_math-inl.h"
#include "lib/backend/host_kernels/kernels/fold.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Sums carried in double: what is added for each element, and how.
template <Fold kFold>
struct Sums {
  using Sum = double;
  static constexpr double kStart = kFold == Fold::kProduct ? 1.0 : 0.0;

  template <class D, class HalfD, class V = hn::Vec<D>>
  static HWY_INLINE V Add(D d, HalfD half, V sum, hn::Vec<HalfD> x, hn::Vec<HalfD> shift) {
    if constexpr (kFold == Fold::kSumExp) {
      return hn::Add(sum, hn::PromoteTo(d, vector_math::HWY_NAMESPACE::Exp(half, hn::Sub(x, shift))));
    } else {
      const V wide = hn::PromoteTo(d, x);
      if constexpr (kFold == Fold::kSumAbs) return hn::Add(sum, hn::Abs(wide));
      if constexpr (kFold == Fold::kSumSquare) return hn::MulAdd(wide, wide, sum);
      if constexpr (kFold == Fold::kProduct) return hn::Mul(sum, wide);
      return hn::Add(sum, wide);
    }
  }
  static double Add(double sum, float x, float shift) {
    const double wide = x;
    if constexpr (kFold == Fold::kSumExp) return sum + std::exp(static_cast<double>(x - shift));
    if constexpr (kFold == Fold::kSumAbs) return sum + std::fabs(wide);
    if constexpr (kFold == Fold::kSumSquare) return sum + wide * wide;
    if constexpr (kFold == Fold::kProduct) return sum * wide;
    return sum + wide;
  }
  template <class V>
  static HWY_INLINE V Join(V a, V b) {
    if constexpr (kFold == Fold::kProduct) return hn::Mul(a, b);
    return hn::Add(a, b);
  }
  static double Join(double a, double b) { return kFold == Fold::kProduct ? a * b : a + b; }
};

// The greatest or least; NaN where there is one, as the definition has it.
template <bool most>
struct Extremes {
  using Sum = float;
  static constexpr float kStart = most ? -kInfinity : kInfinity;

  template <class V>
  static HWY_INLINE V Join(V held, V x) {
    const auto better = most ? hn::Gt(x, held) : hn::Lt(x, held);
    return hn::IfThenElse(hn::Or(better, hn::IsNaN(x)), x, held);
  }
  template <class D, class HalfD, class V = hn::Vec<D>>
  static HWY_INLINE V Add(D, HalfD, V held, hn::Vec<HalfD> x, hn::Vec<HalfD>) {
    return Join(held, x);
  }
  static float Join(float held, float x) { return (most ? x > held : x < held) || x != x ? x : held; }
  static float Add(float held, float x, float) { return Join(held, x); }
};

// f(n) with the usual short lengths known to the compiler.
template <typename F>
void VisitLength(int64_t n, F&& f) {
  switch (n) {
    case 2:
      return f(std::integral_constant<int64_t, 2>());
    case 3:
      return f(std::integral_constant<int64_t, 3>());
    case 4:
      return f(std::integral_constant<int64_t, 4>());
    case 6:
      return f(std::integral_constant<int64_t, 6>());
    case 8:
      return f(std::integral_constant<int64_t, 8>());
    default:
      return f(n);
  }
}

template <class Op>
class Folder {
  using Sum = typename Op::Sum;
  using D = hn::ScalableTag<Sum>;
  using HalfD = hn::Rebind<float, D>;
  using V = hn::Vec<D>;
  // This many sums at a time hide what one addition takes.
  static constexpr size_t kAtOnce = 4;

 public:
  static double Lines(const float* x, const Walk<1>& reduced, float shift) {
    const D d;
    const size_t lanes = hn::Lanes(d);
    HWY_ALIGN Sum sums[kAtOnce * hn::MaxLanes(D())];
    for (size_t k = 0; k < kAtOnce; ++k) hn::Store(hn::Set(d, Op::kStart), d, sums + k * lanes);
    Sum total = Op::kStart;
    const int64_t n = reduced.inner_size();
    reduced.ForEach(1, [&](const Walk<1>::Offsets& at) HWY_ATTR { Line(x + at[0], n, shift, sums, total); });
    const V low = Op::Join(hn::Load(d, sums), hn::Load(d, sums + lanes));
    hn::Store(Op::Join(low, Op::Join(hn::Load(d, sums + 2 * lanes), hn::Load(d, sums + 3 * lanes))), d, sums);
    for (size_t i = 0; i < lanes; ++i) total = Op::Join(total, sums[i]);
    return total;
  }

  static void Columns(const float* x, const Walk<1>& reduced, int64_t columns, int64_t stride, const float* shifts,
                      double* totals) {
    if (stride != 1 && reduced.rank <= 1) {
      VisitLength(reduced.inner_size(),
                  [&](auto n) { ShortLines(x, n, reduced.inner_stride()[0], columns, stride, shifts, totals); });
      return;
    }
    HWY_ALIGN Sum sums[kMostColumns];
    for (int64_t c = 0; c < columns; ++c) sums[c] = Op::kStart;
    if (stride == 1) {
      reduced.ForEach(0, [&](const Walk<1>::Offsets& at) HWY_ATTR { Row(x + at[0], columns, shifts, sums); });
    } else {
      const int64_t n = reduced.inner_size(), step = reduced.inner_stride()[0];
      reduced.ForEach(1, [&](const Walk<1>::Offsets& at) {
        for (int64_t c = 0; c < columns; ++c) {
          const float* from = x + at[0] + c * stride;
          const float shift = shifts == nullptr ? 0 : shifts[c];
          Sum sum = sums[c];
          for (int64_t i = 0; i < n; ++i) sum = Op::Add(sum, from[i * step], shift);
          sums[c] = sum;
        }
      });
    }
    for (int64_t c = 0; c < columns; ++c) totals[c] = static_cast<double>(sums[c]);
  }

 private:
  static HWY_INLINE void Line(const float* HWY_RESTRICT x, int64_t n, float shift, Sum* HWY_RESTRICT sums, Sum& total) {
    const D d;
    const HalfD half;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto shift_vector = hn::Set(half, shift);
    V s0 = hn::Load(d, sums), s1 = hn::Load(d, sums + lanes), s2 = hn::Load(d, sums + 2 * lanes),
      s3 = hn::Load(d, sums + 3 * lanes);
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      s0 = Op::Add(d, half, s0, hn::LoadU(half, x + i), shift_vector);
      s1 = Op::Add(d, half, s1, hn::LoadU(half, x + i + lanes), shift_vector);
      s2 = Op::Add(d, half, s2, hn::LoadU(half, x + i + 2 * lanes), shift_vector);
      s3 = Op::Add(d, half, s3, hn::LoadU(half, x + i + 3 * lanes), shift_vector);
    }
    for (; i + lanes <= n; i += lanes) s0 = Op::Add(d, half, s0, hn::LoadU(half, x + i), shift_vector);
    for (; i < n; ++i) total = Op::Add(total, x[i], shift);
    hn::Store(s0, d, sums);
    hn::Store(s1, d, sums + lanes);
    hn::Store(s2, d, sums + 2 * lanes);
    hn::Store(s3, d, sums + 3 * lanes);
  }

  // One line of n elements after the other, so short that vectors along them do not pay.
  template <typename Size>
  static void ShortLines(const float* HWY_RESTRICT x, Size n, int64_t step, int64_t columns, int64_t stride,
                         const float* HWY_RESTRICT shifts, double* HWY_RESTRICT totals) {
    for (int64_t c = 0; c < columns; ++c) {
      const float* from = x + c * stride;
      const float shift = shifts == nullptr ? 0 : shifts[c];
      Sum sum = Op::kStart;
      for (int64_t i = 0; i < n; ++i) sum = Op::Add(sum, from[i * step], shift);
      totals[c] = static_cast<double>(sum);
    }
  }

  static HWY_INLINE void Row(const float* HWY_RESTRICT x, int64_t columns, const float* HWY_RESTRICT shifts,
                             Sum* HWY_RESTRICT sums) {
    const D d;
    const HalfD half;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto zeros = hn::Zero(half);
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      const auto shift = shifts == nullptr ? zeros : hn::LoadU(half, shifts + c);
      hn::Store(Op::Add(d, half, hn::Load(d, sums + c), hn::LoadU(half, x + c), shift), d, sums + c);
    }
    for (; c < columns; ++c) sums[c] = Op::Add(sums[c], x[c], shifts == nullptr ? 0 : shifts[c]);
  }
};

// f.operator()<Op>() for the operation of that fold.
template <typename F>
auto VisitFold(Fold fold, F&& f) {
  switch (fold) {
    case Fold::kSum:
      return f.template operator()<Sums<Fold::kSum>>();
    case Fold::kSumAbs:
      return f.template operator()<Sums<Fold::kSumAbs>>();
    case Fold::kSumSquare:
      return f.template operator()<Sums<Fold::kSumSquare>>();
    case Fold::kSumExp:
      return f.template operator()<Sums<Fold::kSumExp>>();
    case Fold::kProduct:
      return f.template operator()<Sums<Fold::kProduct>>();
    case Fold::kMost:
      return f.template operator()<Extremes<true>>();
    case Fold::kLeast:
      break;
  }
  return f.template operator()<Extremes<false>>();
}

}  // namespace

double FoldLines(Fold fold, const float* x, const Walk<1>& reduced, float shift) {
  return VisitFold(fold, [&]<class Op>() { return Folder<Op>::Lines(x, reduced, shift); });
}

void FoldColumns(Fold fold, const float* x, const Walk<1>& reduced, int64_t columns, int64_t stride,
                 const float* shifts, double* totals) {
  VisitFold(fold, [&]<class Op>() { Folder<Op>::Columns(x, reduced, columns, stride, shifts, totals); });
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FoldLines);
HWY_EXPORT(FoldColumns);

}  // namespace

double EmptyFold(Fold fold) {
  switch (fold) {
    case Fold::kProduct:
      return 1;
    case Fold::kMost:
      return -std::numeric_limits<double>::infinity();
    case Fold::kLeast:
      return std::numeric_limits<double>::infinity();
    case Fold::kSum:
    case Fold::kSumAbs:
    case Fold::kSumSquare:
    case Fold::kSumExp:
      break;
  }
  return 0;
}

double JoinFolds(Fold fold, double a, double b) {
  switch (fold) {
    case Fold::kProduct:
      return a * b;
    case Fold::kMost:
      return b > a || b != b ? b : a;
    case Fold::kLeast:
      return b < a || b != b ? b : a;
    case Fold::kSum:
    case Fold::kSumAbs:
    case Fold::kSumSquare:
    case Fold::kSumExp:
      break;
  }
  return a + b;
}

double FoldLines(Fold fold, const float* x, const Walk<1>& reduced, float shift) {
  return HWY_DYNAMIC_DISPATCH(FoldLines)(fold, x, reduced, shift);
}

void FoldColumns(Fold fold, const float* x, const Walk<1>& reduced, int64_t columns, int64_t stride,
                 const float* shifts, double* totals) {
  HWY_DYNAMIC_DISPATCH(FoldColumns)(fold, x, reduced, columns, stride, shifts, totals);
}

}  // namespace pt::host
#endif
