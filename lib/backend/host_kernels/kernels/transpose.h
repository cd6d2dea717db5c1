// The inner loop of transpositions, vectorised.
#pragma once

#include <cstdint>

namespace pt::host {

// to[j * to_stride + i] = from[i * from_stride + j] for i below `columns` and j below `rows`, strides in elements of
// `bytes` (1, 2, 4 or 8).
void TransposeBlock(int64_t bytes, const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t rows,
                    int64_t columns);

}  // namespace pt::host
