// How exact a plan may compute and does, and what becomes of NaN.
#pragma once

#include <string_view>

#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// What was allowed when it was made: its setting "precision"; fp32 alone where it has none. kInvalidInput when the
// setting is not a precision.
Result<Precision> AllowedPrecision(const Plan& plan);

// Only candidates that keep NaN (backend/nan.h) were allowed: its setting "nan" is "keep". kInvalidInput when the
// setting is another word.
Result<bool> MustKeepNan(const Plan& plan);
inline constexpr std::string_view kNanSetting = "nan", kKeepNan = "keep";

// The mode of its candidates whose results may lie farthest from the reference; it decides the tolerance.
MathMode LoosestMath(const Plan& plan);

}  // namespace pt
