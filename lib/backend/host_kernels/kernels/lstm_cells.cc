#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/lstm_cells.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include "lib/backend/host/vector_math-inl.h"
#include "lib/backend/host_kernels/kernels/lstm_cells.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace vm = vector_math::HWY_NAMESPACE;

void AdvanceHere(const float* parts, const float* sums, int64_t units, float* c, float* h) {
  const hn::CappedTag<float, 16> d;
  const auto gate = [&](int64_t number, int64_t unit) {
    const int64_t at = number * units + unit;
    return hn::Add(hn::LoadU(d, parts + at), hn::LoadU(d, sums + at));
  };
  for (int64_t i = 0; i < units; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto kept = hn::Mul(vm::Sigmoid(d, gate(2, i)), hn::LoadU(d, c + i));
    const auto cell = hn::MulAdd(vm::Sigmoid(d, gate(0, i)), vm::Tanh(d, gate(3, i)), kept);
    hn::StoreU(cell, d, c + i);
    hn::StoreU(hn::Mul(vm::Sigmoid(d, gate(1, i)), vm::Tanh(d, cell)), d, h + i);
  }
}

}  // namespace
}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {

HWY_EXPORT(AdvanceHere);

void AdvanceLstmCells(const float* parts, const float* sums, int64_t units, float* c, float* h) {
  HWY_DYNAMIC_DISPATCH(AdvanceHere)(parts, sums, units, c, h);
}

}  // namespace pt::host
#endif
