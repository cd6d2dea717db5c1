// Convolutions of row-major images with few filters. Libraries that compute many filters at once, one in each lane of a
// vector, leave most lanes empty there: here lanes are neighbours along a row.
#pragma once

#include "lib/backend/host_kernels/convolutions/convolution.h"

namespace pt::host {

bool FitsFewFilters(const FilterDims& filters);
std::vector<Arrangement> ArrangementsOfFewFilters(const FilterDims& filters);

// kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeFewFilters(const HostSite& site, const ConvolutionGroup& group);

}  // namespace pt::host
