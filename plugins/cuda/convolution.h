// Convolutions by kernels of our own, with a bias and the elementwise nodes around them. Float32 sums, whatever the
// storage, or exact ones of 8-bit integers; one to three spatial dims, groups, dilations, strides and pads.
#pragma once

#include "plugins/cuda/operators.h"
#include "plugins/cuda/window.h"

namespace pt::cuda {

// Conv or ConvTranspose.
bool IsConvolution(const Node& node);
// Of integers: one of these behind DequantizeLinear nodes, ConvInteger or QLinearConv.
bool IsIntegerConvolution(const Node& product);

// The ways to run the nodes, a convolution first and elementwise ones behind it, or a product of integers that is a
// convolution with what is around it: names of variants, the most promising first. kUnsupported with the reason where
// there is none.
Result<std::vector<std::string>> ConvolutionVariants(const CudaSite& site);
Result<CudaRoutine> MakeConvolution(const CudaSite& site, std::string_view variant);

}  // namespace pt::cuda
