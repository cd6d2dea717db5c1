// What the executor itself takes for a step: a run of steps whose kernels do nothing.
#pragma once

#include <cstdint>

#include "partitiontuner/exec/machine.h"

namespace pt {

// Nanoseconds of a run of `count` such steps, all on that host unit.
Result<int64_t> RunEmptySteps(Machine& machine, UnitId unit, uint32_t count);

}  // namespace pt
