// Plugins whose libraries the suites hold to the reference library, besides those that are built in.
#pragma once

#include <span>

#include "partitiontuner/backend/backends.h"

namespace pt::testing {

// The libraries of the plugins in the files that PT_TEST_PLUGINS names, with ':' between them; none without it. Throws
// std::runtime_error where one cannot be used. The files stay open.
std::span<const LibraryRow> PluginLibraries();

}  // namespace pt::testing
