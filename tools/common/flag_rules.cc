#include "tools/common/flag_rules.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <string>

#include "partitiontuner/support/text.h"

namespace pt::tools {
namespace {

const CLI::Option& OptionOf(const CLI::App& app, std::string_view flag) {
  const CLI::Option* const option = app.get_option_no_throw(std::string(flag.substr(0, flag.find(' '))));
  assert(option != nullptr && "a rule names a flag that the tool does not have");
  return *option;
}

// "--precision auto" names a value of a flag.
std::string_view ValueNamed(std::string_view flag) {
  const size_t space = flag.find(' ');
  return space == std::string_view::npos ? std::string_view() : flag.substr(space + 1);
}

bool IsNumber(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.starts_with("UINT") || type.starts_with("INT");
}

std::string NameOf(std::string_view flag) { return flag == "model" ? "a model" : std::string(flag); }

std::string WithValues(const CLI::App& app, std::string_view text) {
  std::string filled;
  while (!text.empty()) {
    const size_t open = std::min(text.find('{'), text.size());
    const size_t close = text.find('}', open);
    filled += text.substr(0, open);
    if (close == std::string_view::npos) break;
    const CLI::Option& option = OptionOf(app, text.substr(open + 1, close - open - 1));
    if (option.count() > 0) filled += option.results().back();
    text.remove_prefix(close + 1);
  }
  return filled;
}

Error Broken(const CLI::App& app, const FlagRule& rule, std::string message) {
  if (!rule.why.empty()) message += ": " + WithValues(app, rule.why);
  return MakeError(ErrorCode::kUsage, "usage.combination", std::move(message), WithValues(app, rule.hint));
}

}  // namespace

bool IsGiven(const CLI::App& app, std::string_view flag) {
  const CLI::Option& option = OptionOf(app, flag);
  if (option.count() == 0) return false;
  if (option.get_items_expected_max() == 0) return option.as<bool>();
  const std::string_view value = ValueNamed(flag);
  if (!value.empty()) return option.results().back() == value;
  if (option.results().back() == option.get_default_str()) return false;
  if (IsNumber(option) && option.as<int64_t>() == 0) return false;
  return std::ranges::any_of(option.results(), [](const std::string& result) { return !result.empty(); });
}

Status CheckFlagRules(const CLI::App& app, std::span<const FlagRule> rules) {
  const auto given = [&](std::string_view flag) { return IsGiven(app, flag); };
  for (const FlagRule& rule : rules) {
    if (!given(rule.flag)) continue;
    const auto other = std::ranges::find_if(rule.excludes, given);
    if (other != rule.excludes.end()) {
      return Broken(app, rule, NameOf(rule.flag) + " cannot be combined with " + NameOf(*other));
    }
    if (!rule.needs.empty() && std::ranges::none_of(rule.needs, given)) {
      return Broken(app, rule, NameOf(rule.flag) + " needs " + Alternatives(rule.needs));
    }
  }
  return {};
}

}  // namespace pt::tools
