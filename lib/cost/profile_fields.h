// How profiles are written as JSON. docs/profile-format.md and docs/schema/profile.schema.json are made of this.
#pragma once

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/support/fields.h"

namespace pt {

// Ends with MeasurementFault when it reads.
void Fields(FieldVisitor& v, Measurement& measurement);
// Without the digest, of which more than this must be known.
void Fields(FieldVisitor& v, Profile& profile);

}  // namespace pt
