// What CONTRIBUTING.md says of files and pages, held to all of them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing {
namespace {

namespace fs = std::filesystem;

std::vector<SourceFile> ReadPages() {
  const fs::path root = PT_SOURCE_DIR;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) paths.push_back(entry.path());
  for (const char* folder : {"docs", "profiles", "examples"}) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder))
      paths.push_back(entry.path());
  }
  std::vector<SourceFile> pages;
  for (const fs::path& path : paths) {
    if (path.extension() != ".md") continue;
    std::ifstream in(path);
    pages.push_back(
        {path.lexically_relative(root).generic_string(), std::string(std::istreambuf_iterator<char>(in), {})});
  }
  return pages;
}

TEST_CASE("SourceFile, HasAtMost600Lines", "[structure]") {
  for (const SourceFile& file : ReadTree()) {
    if (file.path.starts_with("test/")) continue;
    INFO(file.path);
    CHECK(std::count(file.text.begin(), file.text.end(), '\n') <= 600);
  }
}

TEST_CASE("Page, LinksPointAtFilesThatAreThere", "[structure]") {
  static const std::regex link("\\]\\(([^)#\\s]+)(#[^)]*)?\\)");
  int links = 0;
  for (const SourceFile& page : ReadPages()) {
    for (std::sregex_iterator at(page.text.begin(), page.text.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1];
      if (target.find("://") != std::string::npos) continue;
      ++links;
      INFO(page.path << ": " << target);
      CHECK(fs::exists(fs::path(PT_SOURCE_DIR) / fs::path(page.path).parent_path() / target));
    }
  }
  CHECK(links > 50);
}

}  // namespace
}  // namespace pt::testing
