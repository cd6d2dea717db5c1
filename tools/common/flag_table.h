// The flags of a tool as rows, and what is made of them: help, man page and completions of shells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace pt::tools {

inline constexpr const char* kMoreGroup = "More";  // shown by --help-all only

struct FlagRow {
  std::string short_name, long_name;  // "-o", "--output"; the positional has neither
  std::string value;                  // "FILE"; empty for a switch
  std::string summary, rest;          // of the explanation: its first line, and what --help-all also says
  std::string group;
  std::vector<std::string> choices;  // the words it takes, where there are a few
  bool takes_file = false;
};

// In the order of --help-all; what has no group is not for people and left out.
std::vector<FlagRow> FlagRowsOf(const CLI::App& app);

// Lines of at most 100 columns.
std::string HelpText(const CLI::App& app, bool all);

// "bash", "zsh", "fish" or "man".
std::string DescriptionFor(const CLI::App& app, std::string_view form);

}  // namespace pt::tools
