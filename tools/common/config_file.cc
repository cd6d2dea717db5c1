#include "tools/common/config_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "partitiontuner/support/closest_word.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/support/text.h"

namespace pt::tools {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr std::string_view kTools[] = {"pt-plan", "pt-profile", "pt-run"};
constexpr std::string_view kNotInFiles[] = {"config", "help", "help-all", "version"};

Error In(const std::string& path, std::string id, std::string message) {
  Error error = MakeError(ErrorCode::kUsage, std::move(id), std::move(message));
  error.file = path;
  return error;
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& of_one = option->get_lnames();
    names.push_back(of_one.empty() ? option->get_name() : of_one.front());
  }
  std::erase_if(names,
                [](const std::string& name) { return std::ranges::find(kNotInFiles, name) != std::end(kNotInFiles); });
  return names;
}

// Flags and the environment win: what has a value keeps it.
Status Apply(CLI::App& app, const CLI::ConfigItem& item, const std::string& path) {
  const std::vector<std::string> names = OptionNames(app);
  if (std::ranges::find(names, item.name) == names.end()) {
    const std::string_view closest = ClosestWord(item.name, std::vector<std::string_view>(names.begin(), names.end()));
    return In(path, "config.key",
              app.get_name() + " has no option \"" + item.name + "\"" +
                  (closest.empty() ? "" : "; did you mean \"" + std::string(closest) + "\"?"));
  }
  CLI::Option* option = app.get_option_no_throw("--" + item.name);
  if (option == nullptr) option = app.get_option(item.name);
  if (option->count() > 0) return {};
  if (option->get_items_expected_max() == 0) {
    option->add_result(option->get_flag_value(item.name, item.inputs.empty() ? "true" : item.inputs.front()));
  } else {
    option->add_result(item.inputs);
  }
  option->run_callback();
  return {};
}

}  // namespace

Status ReadConfigFile(CLI::App& app, const std::string& path) {
  PT_ASSIGN(const std::string text, ReadFile(path, kMostBytes));
  try {
    std::istringstream stream(text);
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(stream)) {
      if (item.name == "++" || item.name == "--") continue;  // where a section begins and ends
      const std::string section = item.parents.empty() ? app.get_name() : item.parents.front();
      if (std::ranges::find(kTools, section) == std::end(kTools)) {
        return In(path, "config.key", UnknownWord("section", section, kTools));
      }
      if (section == app.get_name()) PT_CHECK_OK(Apply(app, item, path));
    }
  } catch (const CLI::Error& problem) {
    return In(path, "config.value", problem.what());
  }
  return {};
}

}  // namespace pt::tools
