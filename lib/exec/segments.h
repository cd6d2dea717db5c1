// Which steps of a device are launched as one.
#pragma once

#include <vector>

#include "lib/exec/program.h"

namespace pt {

// Fills `segments` (steps and units, no scripts) and `segment_of` by the rule of FindLaunchSegments; a sequential
// program has none.
void FindSegments(const Platform& platform, const Plan& plan, const ProgramOptions& options, Program& program);

}  // namespace pt
