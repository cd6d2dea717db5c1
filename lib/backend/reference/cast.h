// Conversion of elements between any two number types, as Cast defines it.
#pragma once

#include "partitiontuner/graph/data_type.h"

namespace pt::reference {

bool CanCast(DataType from, DataType to);
// Elements begin..end-1 of arrays as routines see them (four-bit types one element a byte).
void Convert(DataType from_type, DataType to_type, bool saturate, const void* from, void* to, int64_t begin,
             int64_t end);

}  // namespace pt::reference
