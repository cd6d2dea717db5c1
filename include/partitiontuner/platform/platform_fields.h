// How a machine is written as JSON (support/fields.h), for formats that hold one.
#pragma once

#include "partitiontuner/platform/platform.h"
#include "partitiontuner/support/fields.h"

namespace pt {

void Fields(FieldVisitor& v, CallRules& rules);
// Ends with CheckPlatform when it reads.
void Fields(FieldVisitor& v, Platform& platform);

}  // namespace pt
