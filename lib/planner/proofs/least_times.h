// What running an option takes at least, whatever else a plan does: what bounds are made of.
#pragma once

#include "lib/planner/schedule/space.h"

namespace pt {

// What placement may elide takes no time at least, whether or not a plan elides it.
inline bool MayTakeNoTime(const Option& option) { return option.view || option.slices; }
inline int64_t LeastNs(const Option& option) { return MayTakeNoTime(option) ? 0 : option.ns(); }
inline int64_t LeastOverhead(const Option& option) { return MayTakeNoTime(option) ? 0 : option.overhead_ns; }

// From when its unit and inputs are there. A launch occupies its driver's core, not the device, and may be over before
// the work ahead in the queue is.
inline int64_t LeastOnPath(const Space& space, const Option& option) {
  return space.is_launched(option.unit_class) ? LeastNs(option) - LeastOverhead(option) : LeastNs(option);
}

}  // namespace pt
