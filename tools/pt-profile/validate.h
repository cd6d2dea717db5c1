// pt-profile --validate: how well the database predicts its own measurements.
#pragma once

#include <string>

#include "partitiontuner/support/result.h"

namespace pt::tools {

// Prints a table, or JSON. `db` is not "none". Errors: those of the database.
Status PrintPredictionErrors(const std::string& db, bool json);

}  // namespace pt::tools
