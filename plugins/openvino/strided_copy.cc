#include "plugins/openvino/strided_copy.h"

#include <cstring>

namespace pt::openvino {

StridedCopy::StridedCopy(const TensorLayout& layout) {
  size_t outer = layout.dims.size();
  while (outer > 0 && (layout.dims[outer - 1] == 1 || layout.strides[outer - 1] == run_)) run_ *= layout.dims[--outer];
  for (size_t d = 0; d < outer; ++d) {
    loops_.push_back({layout.dims[d], layout.strides[d]});
    runs_ *= layout.dims[d];
  }
}

template <typename Visit>
void StridedCopy::VisitRuns(const Visit& visit) const {
  for (int64_t i = 0; i < runs_; ++i) {
    int64_t offset = 0, rest = i;
    for (size_t d = loops_.size(); d-- > 0; rest /= loops_[d].count)
      offset += rest % loops_[d].count * loops_[d].stride;
    visit(offset, i * run_);
  }
}

void StridedCopy::ToDense(const void* strided, void* dense) const noexcept {
  VisitRuns([&](int64_t offset, int64_t at) {
    std::memcpy(static_cast<float*>(dense) + at, static_cast<const float*>(strided) + offset,
                static_cast<size_t>(run_) * sizeof(float));
  });
}

void StridedCopy::FromDense(const void* dense, void* strided) const noexcept {
  VisitRuns([&](int64_t offset, int64_t at) {
    std::memcpy(static_cast<float*>(strided) + offset, static_cast<const float*>(dense) + at,
                static_cast<size_t>(run_) * sizeof(float));
  });
}

}  // namespace pt::openvino
