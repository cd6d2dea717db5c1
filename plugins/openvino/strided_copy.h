// Tensors that are slices of bigger ones, which OpenVINO is not handed.
#pragma once

#include <vector>

#include "partitiontuner/candidate/layout.h"

namespace pt::openvino {

// Copies float32 tensors of one layout from or to dense row-major memory. The layout is row-major without blocks.
class StridedCopy {
 public:
  explicit StridedCopy(const TensorLayout& layout);

  void ToDense(const void* strided, void* dense) const noexcept;
  void FromDense(const void* dense, void* strided) const noexcept;

 private:
  struct Loop {
    int64_t count, stride;  // in elements
  };
  // visit(offset, at) of each run of elements that lie one behind the other: its place in both.
  template <typename Visit>
  void VisitRuns(const Visit& visit) const;

  std::vector<Loop> loops_;  // outermost first
  int64_t run_ = 1, runs_ = 1;
};

}  // namespace pt::openvino
