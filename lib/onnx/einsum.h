// Einsum equations: what is well-formed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pt {

// "" when the equation is well-formed for that many operands, else what is wrong with it.
std::string EinsumFault(std::string_view equation, size_t operands);

struct EinsumTerm {
  std::string labels;              // without spaces
  std::optional<size_t> ellipsis;  // how many labels come before it
};

// Reads a term up to a ',' or the end and takes it from `rest`; nothing when there is anything else in it.
std::optional<EinsumTerm> ReadEinsumTerm(std::string_view& rest);

}  // namespace pt
