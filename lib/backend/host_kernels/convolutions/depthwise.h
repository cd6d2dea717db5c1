// Depthwise convolutions: a filter for each channel.
#pragma once

#include "lib/backend/host_kernels/convolutions/convolution.h"

namespace pt::host {

bool FitsDepthwise(const FilterDims& filters);
std::vector<Arrangement> ArrangementsOfDepthwise(const FilterDims& filters);

// kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeDepthwise(const HostSite& site, const ConvolutionGroup& group);

}  // namespace pt::host
