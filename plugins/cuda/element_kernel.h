// Kernels in which each thread works on elements of its own: the loop around what is done for one.
#pragma once

#include "plugins/cuda/index_space.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// body: statements for the element at c0, c1, … of the space, whose number is i. `Index` is the type of all of these,
// wide where any of the site's tensors asks for it.
KernelText ElementKernel(const CudaSite& site, IndexSpace space, const std::string& body);

// Statements in which $L2$ stands for the element of input 2, $S0$ for that of output 0, both at the same place of the
// space, whose tensors are the site's inputs and outputs in that order. Four elements are moved at once where they lie
// side by side and addresses allow it.
KernelText TogetherKernel(const CudaSite& site, const IndexSpace& space, const std::string& body);

// The body with its marks replaced by elements at the coordinates of the space, whose tensors are the site's.
std::string AtCoordinates(const CudaSite& site, const IndexSpace& space, const std::string& body);

// One tensor of the site, element by element in row-major order of the space's dims.
struct Side {
  std::string tensor;  // "in0"
  IndexSpace space;    // of one tensor
  int64_t first = 0;   // where its first element lies
};
// The elements of one as the other's, both in their own order. Types may differ in the two 16-bit floats and float.
KernelText CopyKernel(const CudaSite& site, const Side& from, const Side& to);

// An out-of-range index met in the run: the run fails with what the site's fault says, and the statement goes on.
std::string FaultText();

}  // namespace pt::cuda
