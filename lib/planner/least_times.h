// What running an option takes at least, whatever else a plan does: what bounds are made of.
#pragma once

#include "lib/planner/space.h"

namespace pt {

// What placement may elide costs its overhead at least, whether or not a plan elides it.
inline int64_t LeastNs(const Option& option) { return option.view || option.slices ? option.overhead_ns : option.ns(); }

// From when its unit and inputs are there. A launch occupies its driver's core, not the device, and may be over before
// the work ahead in the queue is.
inline int64_t LeastOnPath(const Space& space, const Option& option) {
  return space.is_launched(option.unit_class) ? LeastNs(option) - option.overhead_ns : LeastNs(option);
}

}  // namespace pt
