// The inner loops of reductions, vectorised: what the elements of some dims of a float32 tensor come to. Sums and
// products are carried in double, so that they are as exact as the definition, whatever the order.
#pragma once

#include "lib/backend/host_kernels/kernels/walk.h"

namespace pt::host {

enum class Fold : uint8_t { kSum, kSumAbs, kSumSquare, kSumExp, kProduct, kMost, kLeast };

// What nothing at all comes to.
double EmptyFold(Fold fold);
// What two parts together come to.
double JoinFolds(Fold fold, double a, double b);

// All positions of `reduced` (innermost stride 1), starting at x. kSumExp: exp(x - shift).
double FoldLines(Fold fold, const float* x, const Walk<1>& reduced, float shift);

// The same for `columns` neighbours at a time, `stride` apart: totals[c] for x + c * stride. kSumExp: shifts[c].
inline constexpr int64_t kMostColumns = 512;
void FoldColumns(Fold fold, const float* x, const Walk<1>& reduced, int64_t columns, int64_t stride,
                 const float* shifts, double* totals);

}  // namespace pt::host
