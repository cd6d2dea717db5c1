// TopK by kernels of our own: the greatest or least elements of each line with their places, sorted; of equals the
// lower place comes first, and NaN counts as the greatest.
#pragma once

#include "plugins/cuda/operators.h"

namespace pt::cuda {

bool IsTopK(const Node& node);

// "sort": a block of threads sorts a line piece by piece; "ranks": a thread for each element counts what comes before
// it. kUnsupported with the reason where there is none.
Result<std::vector<std::string>> TopKVariants(const CudaSite& site);
Result<CudaRoutine> MakeTopK(const CudaSite& site, std::string_view variant);

}  // namespace pt::cuda
