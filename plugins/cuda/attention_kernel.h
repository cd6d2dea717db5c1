// Attention by a kernel of our own: a block of threads makes some rows of the result from tiles of keys and values in
// shared memory, and keeps the softmax's sums as it goes. Scores are never in the device's memory. Float32 sums,
// whatever the storage. Where few queries meet many keys, blocks share the keys of a row, and a second kernel joins
// what they have made.
#pragma once

#include "plugins/cuda/operators.h"

namespace pt::cuda {

// How many queries a block takes, and among how many the keys are shared, the most promising first: "64 queries",
// "16 queries in 4 parts". kUnsupported with the reason where the site
// is not an attention that the kernel runs.
Result<std::vector<std::string>> AttentionVariants(const CudaSite& site);
Result<CudaRoutine> MakeAttentionKernel(const CudaSite& site, std::string_view variant);

}  // namespace pt::cuda
