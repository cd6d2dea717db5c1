// Types of elements in the text of kernels: how they are stored, what is computed with, and numbers written down.
#pragma once

#include <string>
#include <string_view>

#include "partitiontuner/graph/tensor.h"

namespace pt::cuda {

// How an element lies in memory: "float", "pt_half"; empty for types that kernels do not know. The two 16-bit floats
// become a float where they are read, and are rounded where a float is written to them.
std::string_view CTypeOf(DataType type);
// What is computed with: the same except for the two 16-bit floats, "float".
std::string_view ComputeTypeOf(DataType type);
// A type of that many bytes, for elements that are only moved; empty where there is none.
std::string_view CTypeOfBytes(int64_t bytes);
// Computed with as a float.
bool IsReal(DataType type);

// A number of that type as C++ has it; empty where it cannot be spelled (infinities, NaN).
std::string LiteralOf(DataType type, const Tensor& scalar);
std::string FloatLiteral(float number);

// The definitions of pt_half and pt_bfloat16, of what rounds to integers, and of Four<T>, four elements that are moved
// at once.
std::string_view ElementTypesText();

}  // namespace pt::cuda
