// Data in slots. A view whose type lacks elements of fixed size (strings; undefined for what is not a tensor of its own
// type) is of a Datum: `data` points to it, and the layout of strings tells their dims. Such a slot lies on the host
// and its size is not known until run time.
#pragma once

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/graph/datum.h"

namespace pt {

inline bool IsDatum(const TensorView& view) { return BitsOf(view.layout.type) == 0; }

// For a view that IsDatum says yes to, and that was given one.
inline const Datum& DatumIn(const TensorView& view) { return *static_cast<const Datum*>(view.data); }

// A view of a datum, which must outlive it. Views are of memory that somebody writes; this one is only read.
TensorView ViewOf(const Datum& datum);

// For the kernel that makes output `index`: hands it over. Errors as OutputAllocator::Allocate.
Status PutDatum(OutputAllocator& outputs, uint32_t index, Datum datum);

}  // namespace pt
