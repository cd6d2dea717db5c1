// Which steps of a device are launched as one.
#pragma once

#include <vector>

#include "lib/exec/program.h"

namespace pt {

// Fills `segments` (steps and units, no scripts) and `segment_of` of a program whose `before` is known. A segment grows
// with every step of its device that has the same driver core and waits for nothing but the segment's own steps and
// what is over before its first step. So all of a segment can stand where its first step stands: waits still point
// backwards, and nothing starts later than it would alone. Segments of one step are none.
void FindSegments(const Platform& platform, const Plan& plan, const ProgramOptions& options, Program& program);

}  // namespace pt
