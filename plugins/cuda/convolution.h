// Convolutions by kernels of our own, with a bias and the elementwise nodes behind them. Float32 sums, whatever the
// storage; one to three spatial dims, groups, dilations, strides and pads.
#pragma once

#include "plugins/cuda/operators.h"
#include "plugins/cuda/window.h"

namespace pt::cuda {

// Conv or ConvTranspose.
bool IsConvolution(const Node& node);

// The ways to run the nodes, a convolution first and elementwise ones behind it: names of variants, the most promising
// first. kUnsupported with the reason where there is none.
Result<std::vector<std::string>> ConvolutionVariants(const Site& site);
Result<Routine> MakeConvolution(const Site& site, std::string_view variant);

}  // namespace pt::cuda
