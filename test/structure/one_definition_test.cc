// No two types of one name in one namespace: each file compiles by itself, and inline functions of the one are linked
// for the other, which ends in foreign memory.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "test/structure/source_tree.h"

namespace pt::testing::one_definition_test {
namespace {

// Types defined at the margin outside of unnamed namespaces, with their namespaces: "pt::onednn::Request".
std::set<std::string> TypesDefinedIn(const std::string& text) {
  static const std::regex opening("^(?:inline )?namespace ([\\w:]*) ?\\{.*"), closing("^\\}  // namespace.*"),
      type("^(?:struct|class|enum|enum class)\\s+(?:alignas\\(\\w+\\)\\s+)?(\\w+)\\s*(?:final)?\\s*(?::[^:].*)?\\{.*");
  std::set<std::string> types;
  std::vector<std::string> open;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, opening)) {
      open.push_back(match[1]);
    } else if (!open.empty() && std::regex_match(line, closing)) {
      open.pop_back();
    } else if (std::regex_match(line, match, type)) {
      if (std::find(open.begin(), open.end(), "") != open.end()) continue;
      std::string name;
      for (const std::string& outer : open) name += outer + "::";
      types.insert(name + match[1].str());
    }
  }
  return types;
}

}  // namespace

TEST_CASE("OneDefinition, NoTwoFilesDefineATypeOfOneName", "[structure]") {
  std::map<std::string, std::vector<std::string>> files_of;
  for (const SourceFile& file : ReadTree()) {
    // Programs of their own: tests, benchmarks and examples name their types as they like.
    if (!file.path.starts_with("lib/") && !file.path.starts_with("include/")) continue;
    for (const std::string& type : TypesDefinedIn(file.text)) files_of[type].push_back(file.path);
  }
  CHECK(files_of.size() > 200);
  for (const auto& [type, files] : files_of) {
    INFO(type << " in " << files.front() << " and " << files.back());
    CHECK(files.size() == 1);
  }
}

// One name, one thing: who searches for it finds it, whatever its namespace.
TEST_CASE("OneDefinition, NoTwoHeadersDefineATypeOfOneName", "[structure]") {
  std::map<std::string, std::vector<std::string>> files_of;
  for (const SourceFile& file : ReadTree()) {
    const bool is_product = file.path.starts_with("lib/") || file.path.starts_with("include/") ||
                            file.path.starts_with("plugins/") || file.path.starts_with("tools/");
    if (!is_product || !file.path.ends_with(".h")) continue;
    for (const std::string& type : TypesDefinedIn(file.text)) {
      const size_t colons = type.rfind("::");
      files_of[colons == std::string::npos ? type : type.substr(colons + 2)].push_back(file.path);
    }
  }
  CHECK(files_of.size() > 500);
  for (const auto& [type, files] : files_of) {
    INFO(type << " in " << files.front() << " and " << files.back());
    CHECK(files.size() == 1);
  }
}

TEST_CASE("OneDefinition, FindsTypesOutsideOfUnnamedNamespacesAlone", "[structure]") {
  const std::string text =
      "namespace pt {\nnamespace {\nstruct Hidden {\n};\n}  // namespace\nstruct Seen {\nclass Ahead;\n};\n"
      "class alignas(64) Line final : public Seen {\n};\n}  // namespace pt\nnamespace pt::tools {\nenum class Kind : "
      "int { kA };\n}  // namespace pt::tools\n";
  CHECK(TypesDefinedIn(text) == std::set<std::string>{"pt::Line", "pt::Seen", "pt::tools::Kind"});
}

}  // namespace pt::testing::one_definition_test
