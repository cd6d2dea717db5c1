// What this build holds: tests of a backend that was switched off say so instead of passing.
#pragma once

#include <algorithm>
#include <string_view>

#include "partitiontuner/backend/libraries.h"

namespace pt::testing {

inline bool HasLibrary(std::string_view name) {
  return std::ranges::any_of(BuiltInLibraries(), [&](const LibraryRow& row) { return row.name == name; });
}

}  // namespace pt::testing
