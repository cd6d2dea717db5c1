// What CONTRIBUTING.md says of files and pages, held to all of them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing::documents_test {
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

// Characters of UTF-8, not bytes.
size_t Columns(std::string_view line) {
  return static_cast<size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

// Tables and code are as wide as what they hold; operator-table.md is written by a program.
TEST_CASE("Page, ProseFitsIn120Columns", "[structure]") {
  for (const SourceFile& page : ReadPages()) {
    if (page.path == "docs/operator-table.md") continue;
    std::istringstream in(page.text);
    bool is_code = false;
    for (std::string line; std::getline(in, line);) {
      const size_t begin = std::min(line.find_first_not_of(' '), line.size());
      if (line.compare(begin, 3, "```") == 0) is_code = !is_code;
      if (is_code || line.compare(begin, 1, "|") == 0 || line.compare(begin, 1, "`") == 0) continue;
      INFO(page.path << ": " << line);
      CHECK(Columns(line) <= 120);
    }
  }
}

// A gap is a line, so that all of them are seen at once; stories are in the log.
TEST_CASE("Page, RoadmapHasAtMost100Lines", "[structure]") {
  for (const SourceFile& page : ReadPages()) {
    if (page.path == "docs/roadmap.md") CHECK(std::ranges::count(page.text, '\n') <= 100);
  }
}

// Phrases that were found in messages and pages and that a native engineer would not write: "is not a X", "unknown X",
// "duplicate X", "not known until run time", "cannot be combined with" and "unused" are what stands for them.
const std::regex& TranslatedPhrase() {
  static const std::regex phrase(
      "(^|[^e]) (is|are) no (?!(longer|more|less|better|faster|slower|other|greater|larger|smaller)\\b)[a-z]|"
      "(which|that) (is|are) none\\b|stands twice|[Kk]nown only in the run|only the run knows|goes with none|nobody "
      "reads|"
      "[Ss]o many [a-z]+ at once|cannot be said to");
  return phrase;
}

// The same for comments: "nothing else reads it", "this many", "also" and "not known until run time" are what stands
// for these.
const std::regex& TranslatedComment() {
  static const std::regex phrase(
      "\\b[Nn]obody\\b|\\b[Ss]o many\\b(?! (that|places))|in the run only|only in the run|"
      "\\b[Bb]esides([.,:;)]|$)|\\ball the same\\b|"
      "[a-z] but for ");
  return phrase;
}

// The lines of a page, or the comments of a source file and the texts that it has between quotes, that hold such a
// phrase.
std::vector<std::string> TranslatedLines(const SourceFile& file) {
  static const std::regex quoted("\"([^\"\\\\]|\\\\.)*\"");
  const bool is_page = file.path.ends_with(".md");
  std::vector<std::string> found;
  std::istringstream in(file.text);
  for (std::string line; std::getline(in, line);) {
    if (is_page) {
      if (std::regex_search(line, TranslatedPhrase())) found.push_back(line);
      continue;
    }
    if (const size_t comment = line.find("// "); comment != std::string::npos) {
      const std::string text = line.substr(comment);
      const bool found_here =
          std::regex_search(text, TranslatedPhrase()) || std::regex_search(text, TranslatedComment());
      if (found_here) found.push_back(text);
    }
    if (line.find_first_not_of(' ') == std::string::npos || line.find("//") == line.find_first_not_of(' ')) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), quoted), end; at != end; ++at) {
      const std::string text = at->str();
      if (std::regex_search(text, TranslatedPhrase())) found.push_back(text);
    }
  }
  return found;
}

TEST_CASE("Prose, HoldsNoPhraseThatReadsAsTranslated", "[structure]") {
  std::vector<SourceFile> files = ReadPages();
  for (SourceFile& file : ReadTree()) {
    if (!file.path.starts_with("test/")) files.push_back(std::move(file));
  }
  for (const SourceFile& file : files) {
    for (const std::string& line : TranslatedLines(file)) FAIL_CHECK(file.path << ": " << line);
  }
  CHECK(TranslatedLines({"a.cc", "Say(\"its bias is no constant\");\n// what is no constant\n"}).size() == 2);
  CHECK(TranslatedLines({"lib/a.h", "int a;  // what is no constant\n// nobody reads it\n// some of that many\n"})
            .size() == 2);
  CHECK(TranslatedLines({"a.md", "there is no device, and it is no longer asked\na number that is none\n"}).size() ==
        1);
}

}  // namespace
}  // namespace pt::testing::documents_test
