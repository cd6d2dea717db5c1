// A copy of elements between two places with any strides: what Transpose, Concat, Slice, Expand and their like are made
// of. Dims are sorted and merged once; what is left is copied in contiguous runs, as a transposition, or one by one.
#pragma once

#include <vector>

#include "lib/backend/host_kernels/kernels/walk.h"

namespace pt::host {

// Strides in elements; a source's may be 0 (repeats) or negative.
struct CopyDim {
  int64_t size = 0, from = 0, to = 0;
};

class StridedCopy {
 public:
  // element_bytes: 1, 2, 4, 8 or 16.
  StridedCopy(std::vector<CopyDim> dims, int64_t element_bytes);

  // The first elements of both; they share no byte. Runs on the team's cores where that is worth it.
  void Run(const void* from, void* to, Team* team) const;

  // All of it is one contiguous run of that many bytes; 0 where it is not.
  int64_t run_bytes() const;

 private:
  // Innermost dim along `to` first, (from, to) strides.
  Walk<2> walk_;
  int64_t bytes_ = 1;      // of an element
  size_t transposed_ = 0;  // the dim that is contiguous in `from`, where that is not the innermost
  Walk<2> outer_;          // without the innermost dim and the transposed one
};

}  // namespace pt::host
