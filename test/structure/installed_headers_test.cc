// The public headers that are installed (cmake/PublicHeaders.cmake): enough for applications, plugins and examples, and
// complete in themselves.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "test/structure/source_tree.h"

namespace pt::testing::installed_headers_test {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

const std::string kFolder = "partitiontuner/";

std::string TextOf(const char* path) {
  std::ifstream in(fs::path(PT_SOURCE_DIR) / path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The headers that a list names, "graph/graph.h".
Names Listed(const std::string& list) {
  static const std::string text = TextOf("cmake/PublicHeaders.cmake");
  std::smatch match;
  REQUIRE(std::regex_search(text, match, std::regex("set\\(" + list + "([^)]*)\\)")));
  Names names;
  std::istringstream words(match[1]);
  for (std::string word; words >> word;) CHECK(names.insert(word).second);
  return names;
}

Names Installed() {
  Names names = Listed("pt_application_tier");
  names.merge(Listed("pt_plugin_tier"));
  return names;
}

Names PublicIncludesOf(const std::string& text) {
  Names names;
  for (const Include& include : ParseIncludes(text)) {
    if (StartsWith(include.name, kFolder)) names.insert(include.name.substr(kFolder.size()));
  }
  return names;
}

// What each public header includes.
std::map<std::string, Names> PublicHeaders() {
  std::map<std::string, Names> headers = {{"version.h", {}}};  // which CMake writes
  for (const SourceFile& file : ReadTree()) {
    const std::string folder = "include/" + kFolder;
    if (StartsWith(file.path, folder)) headers[file.path.substr(folder.size())] = PublicIncludesOf(file.text);
  }
  return headers;
}

void CollectIncludes(const std::map<std::string, Names>& headers, const std::string& name, Names& into) {
  if (!into.insert(name).second) return;
  for (const std::string& next : headers.at(name)) CollectIncludes(headers, next, into);
}

}  // namespace

TEST_CASE("InstalledHeaders, ForApplicationsAreWhatTheUmbrellaIncludes", "[structure]") {
  Names needed;
  CollectIncludes(PublicHeaders(), "partitiontuner.h", needed);
  CHECK(Listed("pt_application_tier") == needed);
}

TEST_CASE("InstalledHeaders, IncludeInstalledOnesAlone", "[structure]") {
  const std::map<std::string, Names> headers = PublicHeaders();
  const Names installed = Installed();
  CHECK(installed.size() == Listed("pt_application_tier").size() + Listed("pt_plugin_tier").size());
  CHECK(installed.size() < headers.size());
  for (const std::string& name : installed) {
    INFO(name);
    REQUIRE(headers.contains(name));
    for (const std::string& included : headers.at(name)) {
      INFO(included);
      CHECK(installed.contains(included));
    }
  }
}

TEST_CASE("InstalledHeaders, AreEnoughForPluginsExamplesAndReadme", "[structure]") {
  const Names installed = Installed();
  const auto check = [&](const std::string& path, const std::string& text) {
    INFO(path);
    for (const std::string& included : PublicIncludesOf(text)) {
      INFO(included);
      CHECK(installed.contains(included));
    }
  };
  check("README.md", TextOf("README.md"));
  for (const SourceFile& file : ReadTree()) {
    for (const char* folder : {"plugins/", "examples/", "test/consumer/"}) {
      if (StartsWith(file.path, folder)) check(file.path, file.text);
    }
  }
}

}  // namespace pt::testing::installed_headers_test
