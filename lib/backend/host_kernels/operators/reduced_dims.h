// Which dims a reduction keeps and which it folds.
#pragma once

#include "lib/backend/host_kernels/kernels/walk.h"

namespace pt::host {

struct ReducedDims {
  Walk<2> kept;    // offsets in the input and the output
  Walk<1> folded;  // offsets in the input
};

// kUnsupported when the axes are known only at run time, or the output does not fit.
Result<ReducedDims> ReadReducedDims(const HostSite& site);

}  // namespace pt::host
