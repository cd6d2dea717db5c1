// How fast this host is at the moment, by the time of reference work: the same computing and reading everywhere.
// Virtual machines, other programs and a changing clock make the same kernel take up to half as long again from one
// minute to the next; what was measured beside a reference time can be compared with what runs beside another.
#pragma once

#include "partitiontuner/exec/machine.h"

namespace pt {

// Nanoseconds until all cores of the widest host unit have done the reference work side by side: the shortest of some
// repetitions, about a millisecond in all. Side by side, since two cores of a virtual machine may be one of the
// host's for a while. Waits for runs in progress, like UnitRunner. 0 where the machine has no host unit.
Result<int64_t> TimeHostPace(Machine& machine);

// Nanoseconds for handing over between steps on the first and the last core of the host: the shortest of some
// repetitions, some milliseconds in all at most. Apart from the reference work, since cores of a virtual machine that
// share a last cache at one moment lie on different chips at another: a hand-over then takes ten times as long, while
// each core is as fast as before. Waits for runs in progress. 0 where the host has one core.
Result<int64_t> TimeHostHandOver(Machine& machine);

}  // namespace pt
