// Dims as people read them in messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace pt {

// "[1,3,224,224]"; "[]" for a scalar.
std::string DimsText(std::span<const int64_t> dims);

}  // namespace pt
