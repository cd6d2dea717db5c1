// Files that are compiled as one (PT_UNITE_FILES) share their anonymous namespaces. Types and constants of one name are
// errors there; functions are overloads, of which the compiler might take another file's. Files of tests have
// namespaces of their own instead.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing::united_files_test {
namespace {

namespace fs = std::filesystem;

// What the generated files of this build include.
std::vector<std::vector<std::string>> UnitedFiles() {
  std::vector<std::vector<std::string>> units;
  for (const char* below : {"CMakeFiles", "tools/CMakeFiles"}) {
    const fs::path folder = fs::path(PT_BINARY_DIR) / below;
    if (!fs::exists(folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().parent_path().filename() != "Unity" || entry.path().extension() != ".cxx") continue;
      std::ifstream in(entry.path());
      std::vector<std::string> files;
      for (std::string line; std::getline(in, line);) {
        if (line.starts_with("#include \"")) files.push_back(line.substr(10, line.size() - 11));
      }
      units.push_back(std::move(files));
    }
  }
  return units;
}

// Functions that a file defines in anonymous namespaces.
std::set<std::string> OwnFunctions(const std::string& text) {
  static const std::regex declared("^[A-Za-z][\\w:<>,&* ]*[ &*>](\\w+)\\(");
  std::set<std::string> names;
  std::istringstream in(WithoutCommentsAndTexts(text));
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "namespace {") inside = true;
    if (line.starts_with("}  ")) inside = false;  // of the namespace, whose comment was dropped
    std::smatch match;
    if (inside && std::regex_search(line, match, declared)) names.insert(match[1]);
  }
  return names;
}

TEST_CASE("UnitedFiles, FunctionsOfTheirOwnHaveDifferentNames", "[structure]") {
  const auto units = UnitedFiles();
  if (units.empty()) SKIP("this build compiles every file by itself (PT_UNITE_FILES is OFF)");
  for (const std::vector<std::string>& files : units) {
    std::map<std::string, std::string> owners;
    for (const std::string& file : files) {
      std::ifstream in(file);
      for (const std::string& name : OwnFunctions(std::string(std::istreambuf_iterator<char>(in), {}))) {
        const auto [other, is_new] = owners.emplace(name, file);
        if (!is_new) FAIL_CHECK(name << " is a function of " << other->second << " and of " << file);
      }
    }
  }
}

// graph_text_test.cc has pt::graph_text_test, or that within another namespace of pt.
TEST_CASE("UnitedFiles, TestsHaveANamespaceForEachFile", "[structure]") {
  for (const SourceFile& source : ReadTree()) {
    if (!source.path.ends_with("_test.cc") || source.text.find("foreach_target.h") != std::string::npos) continue;
    const std::string name = fs::path(source.path).stem().string();
    INFO(source.path);
    CHECK(source.text.find("::" + name + " {\n") != std::string::npos);
    static const std::regex other("\nnamespace pt[\\w:]* \\{\n");
    for (std::sregex_iterator at(source.text.begin(), source.text.end(), other), end; at != end; ++at) {
      CHECK(at->str().ends_with("::" + name + " {\n"));
    }
  }
}

TEST_CASE("UnitedFiles, FunctionsOfAnonymousNamespacesAreFound", "[structure]") {
  CHECK(OwnFunctions("namespace {\n\nint A(int b) {\n  return C(b);\n}\n\ntemplate <typename T>\nResult<T> B(\n"
                     "}  // namespace\n\nint D() {\n}\n") == std::set<std::string>{"A", "B"});
}

}  // namespace
}  // namespace pt::testing::united_files_test
