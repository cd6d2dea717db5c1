// A library whose results are what other roundings might have made of them.
#pragma once

#include <cstdint>
#include <memory>

#include "partitiontuner/backend/backend.h"

namespace pt {

// Passes everything on to `library`, under its name, and then changes the real numbers that its kernels have made by as
// much as right libraries differ in them, or `times` as much; and of integers that a QLinear operator has quantised a
// few by one. The same seed gives the same changes; 0 changes nothing. For libraries on the host; layouts with inner
// blocks stay as they are.
std::unique_ptr<Library> MakeShakenLibrary(std::unique_ptr<Library> library, uint64_t seed, double times = 1);

}  // namespace pt
