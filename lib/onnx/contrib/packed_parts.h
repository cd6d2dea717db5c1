// What rewrites of operators have in common whose matrices hold elements of 2, 4 or 8 bits, packed into bytes.
#pragma once

#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {

// The type of elements of that many bits. Errors: other than 2, 4 and 8.
Result<DataType> PackedType(int64_t bits);

// Errors: block_size is not a power of two, or below 16.
Status CheckBlock(int64_t block);

// A constant's bytes as elements of that type, with other dims. Errors: it is computed, no uint8, or of another size.
Result<std::string> Reinterpret(Rewrite& r, int input, const std::string& what, DataType type,
                                std::vector<int64_t> dims);

// Zero points in the middle of what the type holds.
Result<std::string> MiddleZeroPoints(Rewrite& r, DataType type, std::vector<int64_t> dims);

}  // namespace pt::contrib
