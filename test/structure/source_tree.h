// The project's sources, for tests that read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace pt::testing {

struct SourceFile {
  std::string path;  // relative to the source tree, '/' between folders
  std::string text;
};

inline std::vector<SourceFile> ReadTree() {
  namespace fs = std::filesystem;
  const fs::path root = PT_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* top : {"include", "lib", "tools", "test", "bench", "examples", "plugins"}) {
    if (!fs::exists(root / top)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      std::ifstream in(entry.path());
      files.push_back({entry.path().lexically_relative(root).generic_string(),
                       std::string(std::istreambuf_iterator<char>(in), {})});
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

struct Include {
  std::string name;  // between the delimiters
  bool system = false;
  int line = 0;
};

inline std::vector<Include> ParseIncludes(const std::string& text) {
  static const std::regex include("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  std::vector<Include> includes;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, include)) includes.push_back({match[2], match[1] == "<", number});
  }
  return includes;
}

inline bool StartsWith(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

inline std::string WithoutCommentsAndTexts(const std::string& text) {
  static const std::regex dropped("//[^\n]*|/\\*[^*]*\\*+(?:[^/*][^*]*\\*+)*/|\"(?:[^\"\\\\\n]|\\\\.)*\"");
  return std::regex_replace(text, dropped, "");
}

}  // namespace pt::testing
