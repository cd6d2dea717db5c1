// Convolutions with several groups of few channels.
#pragma once

#include "lib/backend/host_kernels/convolutions/convolution.h"

namespace pt::host {

bool FitsGrouped(const FilterDims& filters);
std::vector<Arrangement> ArrangementsOfGrouped(const FilterDims& filters);

// kUnsupported where types or dims do not fit, filters are not finite, or kernels are too large.
Result<HostRoutine> MakeGrouped(const HostSite& site, const ConvolutionGroup& group);

}  // namespace pt::host
