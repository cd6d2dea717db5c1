// Reductions of int32 and int64 tensors over any axes.
#pragma once

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

// For the kinds that are defined without rounding: sums, means, products and extremes. kUnsupported for the others.
Result<HostRoutine> ReduceIntegers(const HostSite& site);

}  // namespace pt::host
