// Tensors that are slices of bigger ones, which other programs' runtimes are not handed.
#pragma once

#include <vector>

#include "partitiontuner/candidate/layout.h"

namespace pt::plugins {

// Copies tensors of one layout from or to dense row-major memory. The layout is row-major without blocks, its elements
// take whole bytes.
class DenseCopy {
 public:
  explicit DenseCopy(const TensorLayout& layout);

  void ToDense(const void* strided, void* dense) const noexcept;
  void FromDense(const void* dense, void* strided) const noexcept;

 private:
  struct Loop {
    int64_t count, stride;  // stride in bytes
  };
  // visit(offset, at) of each run of bytes that lie one behind the other: its place in both, in bytes.
  template <typename Visit>
  void VisitRuns(const Visit& visit) const;

  std::vector<Loop> loops_;  // outermost first
  int64_t run_bytes_ = 1, runs_ = 1;
};

}  // namespace pt::plugins
