// --config FILE: options in a file, for what neither the command line nor the environment says.
#pragma once

#include <string>

#include "partitiontuner/support/result.h"

namespace CLI {
class App;
}

namespace pt::tools {

// Reads TOML as OPTION = VALUE: at the top for every tool, below [pt-run] and the like for that tool alone. Call it
// after the command line was read. Errors: kInvalidInput (the file cannot be read), kUsage (config.key: the tool has no
// such option; config.value).
Status ReadConfigFile(CLI::App& app, const std::string& path);

}  // namespace pt::tools
