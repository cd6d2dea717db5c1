// Operators that move elements as they are are lists of boxes: each a strided copy from one input to one output.
#pragma once

#include <vector>

#include "lib/backend/host_kernels/kernels/strided_copy.h"

namespace pt::host {

// Stands for an input: zeros of the tensor's type.
inline constexpr uint32_t kZeros = ~uint32_t{0};

struct Box {
  uint32_t in = 0, out = 0;  // indices into HostSite::in and HostSite::out
  int64_t from = 0, to = 0;  // of the first elements, in elements
  std::vector<CopyDim> dims;
};

// What copies the boxes one after the other; elements of one box do not overlap. A source that lies where its box goes
// is left alone.
HostRoutine RoutineOf(const HostSite& site, const std::vector<Box>& boxes);

}  // namespace pt::host
