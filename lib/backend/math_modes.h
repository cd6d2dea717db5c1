// Which math modes a processor has instructions for.
#pragma once

#include <span>

#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

// Whether the device of the unit class computes in the mode: elsewhere a library would convert back and forth in
// software.
bool HasInstructions(const Platform& platform, UnitClassId unit_class, MathMode mode);

// The modes that one of these has instructions for.
Precision ModesWithInstructions(const Platform& platform, std::span<const UnitClassId> unit_classes);

}  // namespace pt
