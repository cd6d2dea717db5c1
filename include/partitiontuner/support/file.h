// Whole-file reading under a size limit and atomic writing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "partitiontuner/support/result.h"

namespace pt {

// Reads a regular file of at most max_bytes (0 = no limit). kInvalidInput otherwise, with path and reason.
Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes);

// Writes to a temporary file beside `path`, syncs, renames: old or new content, never torn. "-" is not
// treated specially. Errors carry the path and the system's reason (disk full: kInvalidInput too).
Status WriteFileAtomically(const std::string& path, std::string_view content);

}  // namespace pt
