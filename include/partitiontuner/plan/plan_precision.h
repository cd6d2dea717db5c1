// How exact a plan may compute and does.
#pragma once

#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// What was allowed when it was made: its setting "precision"; fp32 alone where it has none. kInvalidInput when the
// setting is no precision.
Result<Precision> AllowedPrecision(const Plan& plan);

// The mode of its candidates whose results may lie farthest from the reference; it decides the tolerance.
MathMode LoosestMath(const Plan& plan);

}  // namespace pt
