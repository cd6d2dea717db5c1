// Sliding windows in the text of kernels.
#pragma once

#include "partitiontuner/backend/window_parameters.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// The window of a pooling of 1 to 3 spatial dims over x into y; kUnsupported where they do not fit.
Result<WindowParameters> ReadWindow(const CudaSite& site, const Node& node, const CudaOperand& x, const CudaOperand& y);
// Of all of x at once.
Result<WindowParameters> WholeWindow(const CudaSite& site, const CudaOperand& x, const CudaOperand& y);

// Loops over the positions of a window that lie inside the input, the window of the output position c2, c3, … of an
// ElementKernel: `statements` see p0, p1, …, where the position is along each spatial dim.
std::string ForWindow(const WindowParameters& window, std::span<const int64_t> in, const std::string& statements);

}  // namespace pt::cuda
