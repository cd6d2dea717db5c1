// Graphs whose nodes become one graph of cuDNN's each time, and running them in every layout and place.
#pragma once

#include <string>
#include <vector>

#include "test/cuda/cuda_lab.h"

namespace pt::testing {

// Convolutions of one to three spatial dims with what follows them, transposed ones, pooling, normalisations.
std::vector<std::string> DnnConvolutionCases();
std::vector<std::string> DnnOtherCases();
std::vector<std::string> DnnAttentionCases();

// Where a test lays the tensors of a kernel.
struct DnnPlacement {
  int64_t channels_beside = 0;  // each image is a slice of one with so many more channels
  int64_t elements_before = 0;  // and begins so many elements behind an aligned address
};

// Checks that all nodes of the graph as one kernel of the library "cudnn" give what the reference library makes of
// them, by every candidate in the modes allowed. Returns how many candidates there were.
size_t CheckDnnGroup(const GpuLab& lab, const std::string& text, const Precision& precision = {},
                     const DnnPlacement& placement = {});

}  // namespace pt::testing
