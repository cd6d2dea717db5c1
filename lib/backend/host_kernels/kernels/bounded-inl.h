// Keeping vectors within bounds. Included once for every instruction set.
#if defined(PT_HOST_BOUNDED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT_HOST_BOUNDED_INL_H
#undef PT_HOST_BOUNDED_INL_H
#else
#define PT_HOST_BOUNDED_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {

// What is NaN stays so.
template <class V>
HWY_INLINE V Bounded(V low, V high, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET <= HWY_SSSE3  // x86's vectors: where one operand is NaN, the second is the result
  return hn::Min(high, hn::Max(low, x));
#else
  const V raised = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(raised, high), high, raised);
#endif
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
