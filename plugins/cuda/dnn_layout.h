// How tensors of a graph of cuDNN's lie.
#pragma once

#include <vector>

#include "plugins/cuda/dnn.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// Only one element lies along a dim of 1, so its stride says nothing; cuDNN wants the one of a dense tensor.
void DropIdleStrides(DnnTensor& tensor, bool channels_last);
// As it lies; images of one spatial dim get a second one of 1, since cuDNN knows none of one.
DnnTensor DnnImage(const TensorLayout& layout);
bool IsChannelsLast(const TensorLayout& layout);
std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& dims);

}  // namespace pt::cuda
