#include "plugins/shared/dense_copy.h"

#include <cstring>

namespace pt::plugins {

DenseCopy::DenseCopy(const TensorLayout& layout) {
  const int64_t element_bytes = BytesOf(layout.type);
  int64_t run = 1;
  size_t outer = layout.dims.size();
  while (outer > 0 && (layout.dims[outer - 1] == 1 || layout.strides[outer - 1] == run)) run *= layout.dims[--outer];
  for (size_t d = 0; d < outer; ++d) {
    loops_.push_back({layout.dims[d], layout.strides[d] * element_bytes});
    runs_ *= layout.dims[d];
  }
  run_bytes_ = run * element_bytes;
}

template <typename Visit>
void DenseCopy::VisitRuns(const Visit& visit) const {
  for (int64_t i = 0; i < runs_; ++i) {
    int64_t offset = 0, rest = i;
    for (size_t d = loops_.size(); d-- > 0; rest /= loops_[d].count)
      offset += rest % loops_[d].count * loops_[d].stride;
    visit(offset, i * run_bytes_);
  }
}

void DenseCopy::ToDense(const void* strided, void* dense) const noexcept {
  VisitRuns([&](int64_t offset, int64_t at) {
    std::memcpy(static_cast<std::byte*>(dense) + at, static_cast<const std::byte*>(strided) + offset,
                static_cast<size_t>(run_bytes_));
  });
}

void DenseCopy::FromDense(const void* dense, void* strided) const noexcept {
  VisitRuns([&](int64_t offset, int64_t at) {
    std::memcpy(static_cast<std::byte*>(strided) + offset, static_cast<const std::byte*>(dense) + at,
                static_cast<size_t>(run_bytes_));
  });
}

}  // namespace pt::plugins
