// --import: the measurements of other databases and of profile files, into a database.
#pragma once

#include <span>
#include <string>

#include "partitiontuner/support/result.h"
#include "tools/common/console.h"

namespace pt::tools {

// Databases, profiles, or folders of *.db and *.json. Each file whole or not at all, one after the other; of a key that
// both have, the row with more samples is kept, of equal ones the file's. Says for each file how many rows are new, and
// how many differ from what the database had by more than their noise.
Status ImportProfiles(std::span<const std::string> paths, const std::string& db_path, const Console& console);

}  // namespace pt::tools
