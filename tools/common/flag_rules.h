// Which flags go together: rows of a table, held against a command line that was read.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "partitiontuner/support/result.h"

namespace CLI {
class App;
}

namespace pt::tools {

// A flag is named as it is typed ("--aa"), with a value where that value alone is meant ("--precision auto"), and
// "model" is the positional. In why and hint, {--flag} stands for what was given with that flag.
struct FlagRule {
  std::string_view flag;
  std::vector<std::string_view> excludes = {};
  std::vector<std::string_view> needs = {};  // one of them
  std::string_view why = {};                 // ends the message, if there is something to say
  std::string_view hint = {};
};

// On the command line, in the environment or in a file; what is 0, empty, off or the default is not given.
bool IsGiven(const CLI::App& app, std::string_view flag);

// The first rule that the command line breaks. Errors: kUsage (usage.combination).
Status CheckFlagRules(const CLI::App& app, std::span<const FlagRule> rules);

}  // namespace pt::tools
