// The published cases of ONNX's operators, through the product: pt-run --suite on what ./setup made of them. What is
// known to be refused or answered otherwise stands in a list that can only shrink.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>

#include "partitiontuner/support/file.h"
#include "partitiontuner/support/json.h"
#include "test/cli/tools.h"

namespace pt::testing::node_cases_test {
namespace {

constexpr size_t kCases = 1884;  // of the release of ONNX that ./setup builds

// Case → result and reason, of lines "RESULT NAME: REASON"; empty lines and those that begin with # are passed over.
std::map<std::string, std::pair<std::string, std::string>> ReadExceptions(const std::string& path) {
  const Result<std::string> text = ReadFile(path, 1 << 20);
  REQUIRE(text.ok());
  std::map<std::string, std::pair<std::string, std::string>> exceptions;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    INFO(line);
    const size_t space = line.find(' '), colon = line.find(": ");
    REQUIRE((space != std::string::npos && colon != std::string::npos && space < colon && colon + 2 < line.size()));
    const bool is_new = exceptions
                            .emplace(line.substr(space + 1, colon - space - 1),
                                     std::pair(line.substr(0, space), line.substr(colon + 2)))
                            .second;
    CHECK(is_new);
  }
  return exceptions;
}

std::string Text(const Json& json, const char* key) {
  REQUIRE(json.find(key) != nullptr);
  REQUIRE(json.find(key)->as_string() != nullptr);
  return *json.find(key)->as_string();
}

void RunAll(const std::vector<std::string>& flags) {
  const std::string folder = PT_NODE_CASES;
  if (!std::filesystem::is_directory(folder)) SKIP("no published cases in " + folder + "; call ./setup");
  CommandOptions options;
  options.limit = std::chrono::minutes(10);
  const CommandResult result =
      RunTool("pt-run", Joined({"--suite", folder, "--db", "none", "--format", "json"}, flags), options);
  INFO(result.err);
  REQUIRE((result.exit_code == 0 || result.exit_code == 8));
  const Result<Json> json = ParseJson(result.out, "output");
  REQUIRE(json.ok());
  const Json::Array& cases = *json->find("cases")->as_array();
  CHECK(cases.size() == kCases);

  auto exceptions = ReadExceptions(std::string(PT_SOURCE_DIR) + "/test/node_cases/exceptions.txt");
  for (const Json& row : cases) {
    const std::string path = Text(row, "name"), name = path.substr(path.rfind('/') + 1), is = Text(row, "result");
    const auto listed = exceptions.find(name);
    const std::string expected = listed == exceptions.end() ? "PASS" : listed->second.first;
    if (is != expected) {
      const bool better = is == "PASS";
      UNSCOPED_INFO(name << " is " << is << ", expected " << expected << ": " << Text(row, "reason")
                         << (better ? "It passes now: remove it from test/node_cases/exceptions.txt" : ""));
      CHECK(is == expected);
    }
    if (listed != exceptions.end()) exceptions.erase(listed);
  }
  for (const auto& [name, exception] : exceptions) {
    UNSCOPED_INFO("there is no case " << name << ": remove it from test/node_cases/exceptions.txt");
    CHECK(exceptions.empty());
  }
}

TEST_CASE("NodeCases, EveryPublishedCasePassesUnlessListed", "[cli][slow]") { RunAll({}); }

// What faster libraries take over above is run by the reference library here.
TEST_CASE("NodeCases, EveryPublishedCasePassesOnTheReferenceLibraryUnlessListed", "[cli][slow]") {
  RunAll({"--libraries", "reference"});
}

}  // namespace
}  // namespace pt::testing::node_cases_test
