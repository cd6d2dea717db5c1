// Einsum equations. libonnx's shape inference trusts them: some that are not well-formed send it
// into an endless loop, and ellipses of different length make it write past the end of a list.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pt {

// "" when the equation is well-formed for that many operands, else what is wrong with it.
std::string EinsumFault(std::string_view equation, size_t operands);

// Whether libonnx may see this (well-formed) equation: at most one operand has an ellipsis.
bool IsSafeForInference(std::string_view equation);

}  // namespace pt
