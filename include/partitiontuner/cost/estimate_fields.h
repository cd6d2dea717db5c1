// How a time is written as JSON (support/fields.h), for formats that hold one.
#pragma once

#include "partitiontuner/cost/estimate.h"
#include "partitiontuner/support/fields.h"

namespace pt {

// What plans say of it: neither the reference work nor the interval.
void Fields(FieldVisitor& v, Estimate& estimate);
void ProvenanceField(FieldVisitor& v, Provenance& provenance);  // "provenance"

}  // namespace pt
