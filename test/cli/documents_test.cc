// What documents say of the command lines is so.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::documents_test {
namespace {

// Between backticks on one line.
std::vector<std::string> CodeSpans(const std::string& text) {
  static const std::regex span("`([^`\n]+)`");
  std::vector<std::string> spans;
  for (std::sregex_iterator at(text.begin(), text.end(), span), end; at != end; ++at) spans.push_back((*at)[1]);
  return spans;
}

// A span that begins with a program has flags of that program; one that begins with a flag, of any.
std::vector<std::string> UnknownFlags(const std::string& text, const std::map<std::string, std::string>& help) {
  static const std::regex flag("(^| )(--[a-z-]+)");
  std::vector<std::string> unknown;
  for (const std::string& span : CodeSpans(text)) {
    const std::string program = span.substr(0, span.find(' '));
    if (!help.contains(program) && !span.starts_with("--")) continue;
    for (std::sregex_iterator at(span.begin(), span.end(), flag), end; at != end; ++at) {
      const std::string name = (*at)[2];
      bool known = false;
      for (const auto& [tool, words] : help) {
        known = known || ((tool == program || span.starts_with("--")) && words.find(name + " ") != std::string::npos);
      }
      if (!known) unknown.push_back(span + ": " + name);
    }
  }
  return unknown;
}

TEST_CASE("Documents, NameFlagsThatThereAre", "[cli]") {
  std::map<std::string, std::string> help;
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    help[tool] = RunTool(tool, {"--help-all"}).out;
    std::replace(help[tool].begin(), help[tool].end(), '\n', ' ');
  }
  std::string text = ReadFile(std::string(PT_SOURCE_DIR) + "/docs/coming-from.md", 0).value();
  // The first cell of a row is another program's.
  text = std::regex_replace(text, std::regex("\n\\| [^|]*\\|"), "\n|");
  CHECK(UnknownFlags(text, help) == std::vector<std::string>());
  CHECK(UnknownFlags("`pt-run --explain 1`, `--explain 1`, `pt-plan --explian`, `trtexec --fp16`", help) ==
        std::vector<std::string>{"pt-run --explain 1: --explain", "pt-plan --explian: --explian"});
}

}  // namespace
}  // namespace pt::testing::documents_test
