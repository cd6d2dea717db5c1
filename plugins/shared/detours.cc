#include "plugins/shared/detours.h"

namespace pt::plugins {

// Of a tensor that is in memory already: its size was checked when that was planned.
uint64_t DenseBytes(const TensorLayout& layout) {
  auto bytes = static_cast<uint64_t>(BytesOf(layout.type));
  for (const int64_t dim : layout.dims) bytes *= static_cast<uint64_t>(dim);
  return bytes;
}

Result<void*> Detours::DenseAddress(const TensorView& slot) {
  if (IsDense(slot.layout)) return slot.data;
  PT_ASSIGN(AlignedBytes dense, AllocateAligned(DenseBytes(slot.layout)));
  detours_.push_back({DenseCopy(slot.layout), slot.data, std::move(dense)});
  return static_cast<void*>(detours_.back().dense.bytes.data());
}

void Detours::Gather() const noexcept {
  for (const Detour& detour : detours_) detour.copy.ToDense(detour.slot, detour.dense.bytes.data());
}

void Detours::Scatter() const noexcept {
  for (const Detour& detour : detours_) detour.copy.FromDense(detour.dense.bytes.data(), detour.slot);
}

}  // namespace pt::plugins
