// Reference work: the same computing and reading everywhere, so that its time tells how fast this host is at the
// moment. Virtual machines, other programs and a changing clock make the same kernel take up to half as long again from
// one minute to the next; what was measured beside a reference time can be compared with what runs beside another.
#pragma once

#include "partitiontuner/exec/machine.h"

namespace pt {

// Nanoseconds until all cores of the widest host unit have done the reference work side by side: the shortest of some
// repetitions, about a millisecond in all. Side by side, since two cores of a virtual machine may be one of the
// host's for a while. Waits for runs in progress, like UnitRunner. 0 where the machine has no host unit.
Result<int64_t> TimeReferenceWork(Machine& machine);

}  // namespace pt
