// Every file includes what it uses, itself or by a header: builds that compile several files as one and the standard
// library's headers in advance (PT_UNITE_FILES, PT_PRECOMPILE_HEADERS) would not notice that it does not.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing::self_sufficient_files_test {
namespace {

// What precompiled headers bring: a header, others that bring the same, and names of namespace std. Functions that more
// headers have, such as std::abs and std::swap, are left out.
struct StandardHeader {
  std::string_view name;
  std::vector<std::string_view> as_well;
  std::vector<std::string_view> declares;
};

const std::vector<StandardHeader>& StandardHeaders() {
  static const std::vector<StandardHeader> table = {
      {"algorithm",
       {},
       {"adjacent_find", "all_of",      "any_of",       "binary_search",  "clamp",       "copy_backward",
        "copy_if",       "copy_n",      "count",        "count_if",       "equal",       "equal_range",
        "fill",          "fill_n",      "find",         "find_if",        "find_if_not", "for_each",
        "generate",      "includes",    "is_sorted",    "make_heap",      "max",         "max_element",
        "min",           "min_element", "minmax",       "minmax_element", "mismatch",    "next_permutation",
        "none_of",       "nth_element", "partial_sort", "partition",      "pop_heap",    "push_heap",
        "remove_if",     "reverse",     "rotate",       "search",         "set_union",   "set_difference",
        "shuffle",       "sort",        "stable_sort",  "transform",      "unique",      "lower_bound",
        "merge",         "upper_bound", "for_each_n",   "is_permutation", "replace",     "stable_partition"}},
      {"array", {}, {"array"}},
      {"cmath", {}, {"cbrt", "ceil",  "copysign", "cos",   "erf",      "exp",       "exp2",      "expm1", "floor",
                     "fma",  "fmod",  "frexp",    "hypot", "isfinite", "isinf",     "isnan",     "ldexp", "llround",
                     "log",  "log10", "log1p",    "log2",  "lround",   "nearbyint", "nextafter", "pow",   "remainder",
                     "rint", "round", "signbit",  "sin",   "sqrt",     "tan",       "tanh",      "trunc"}},
      {"cstring",
       {},
       {"memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp", "strerror", "strlen", "strncmp", "strstr"}},
      {"functional", {}, {"cref", "function", "greater", "less", "multiplies", "plus", "ref"}},
      {"limits", {}, {"numeric_limits"}},
      {"map", {}, {"map", "multimap"}},
      {"memory", {}, {"make_shared", "make_unique", "shared_ptr", "unique_ptr", "weak_ptr"}},
      {"optional", {}, {"make_optional", "nullopt", "optional"}},
      {"set", {}, {"multiset", "set"}},
      {"span", {}, {"span"}},
      {"string", {}, {"stod", "stoi", "stol", "stoll", "stoull", "string", "to_string"}},
      {"string_view", {"string"}, {"string_view"}},
      {"vector", {}, {"vector"}},
      {"cstdint",
       {"cinttypes"},
       {"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "intptr_t",
        "uintptr_t"}}};
  return table;
}

// A name in a text, and what stands before and behind it.
struct Word {
  std::string text;
  std::string qualifier;  // "std" of std::min, "." of a member, "" of neither
  char next = 0;          // the first character behind it that is no space
};

std::vector<Word> WordsOf(const std::string& text) {
  std::vector<Word> words;
  std::string qualifier;  // of the word to come
  for (size_t i = 0; i < text.size();) {
    const auto at = [&](size_t k) { return k < text.size() ? text[k] : '\0'; };
    const auto is_letter = [&](size_t k) { return std::isalnum(static_cast<unsigned char>(at(k))) || at(k) == '_'; };
    if (is_letter(i)) {
      const size_t begin = i;
      while (is_letter(i)) ++i;
      Word word{text.substr(begin, i - begin), qualifier, '\0'};
      while (at(i) == ' ' || at(i) == '\n') ++i;
      word.next = at(i);
      qualifier.clear();
      if (at(i) == ':' && at(i + 1) == ':') {
        // std::ranges::min is in the header of std::min.
        qualifier = word.text == "ranges" && word.qualifier == "std" ? "std" : word.text;
        i += 2;
      }
      words.push_back(std::move(word));
      continue;
    }
    if (at(i) == '.' && at(i + 1) != '.' && (i == 0 || at(i - 1) != '.'))
      qualifier = ".";
    else if (at(i) == '-' && at(i + 1) == '>')
      qualifier = ".", ++i;
    else if (at(i) == '>' && at(i + 1) == ':')
      qualifier = "?", i += 2;
    else if (at(i) != ' ' && at(i) != '\n' && at(i) != '~')
      qualifier.clear();
    ++i;
  }
  return words;
}

// Texts of the kind R"x(...)x" hold programs for devices.
std::string WithoutRawTexts(std::string text) {
  for (size_t begin = text.find("R\""); begin != std::string::npos; begin = text.find("R\"", begin)) {
    const size_t open = text.find('(', begin);
    if (open == std::string::npos) break;
    const std::string close = ")" + text.substr(begin + 2, open - begin - 2) + "\"";
    const size_t end = text.find(close, open);
    if (end == std::string::npos) break;
    text.erase(begin, end + close.size() - begin);
  }
  return text;
}

// The tree by path, with what each file includes, directly and by others.
class Tree {
 public:
  struct File {
    std::vector<Word> words;
    std::vector<Include> includes;
    std::set<std::string> reached;  // itself, files of the project, and "<header>" for all others
    bool is_complete = false;
  };

  explicit Tree(const std::vector<SourceFile>& sources) {
    for (const SourceFile& source : sources) {
      File& file = files_[source.path];
      file.words = WordsOf(WithoutCommentsAndTexts(WithoutRawTexts(source.text)));
      file.includes = ParseIncludes(source.text);
    }
    for (auto& [path, file] : files_) Reach(path);
  }

  const std::map<std::string, File>& files() const { return files_; }

 private:
  const std::set<std::string>& Reach(const std::string& path) {
    File& file = files_.at(path);
    if (file.is_complete) return file.reached;
    file.is_complete = true;  // and ends a circle
    file.reached.insert(path);
    for (const Include& include : file.includes) {
      const std::string inner = files_.contains("include/" + include.name) ? "include/" + include.name : include.name;
      if (!files_.contains(inner)) {
        file.reached.insert("<" + include.name + ">");
        continue;
      }
      file.reached.merge(std::set<std::string>(Reach(inner)));
    }
    return file.reached;
  }

  std::map<std::string, File> files_;
};

// The names that a file declares as types, types within types and functions' names included: it needs nobody else's.
std::set<std::string> OwnNames(const Tree::File& file) {
  static const std::set<std::string> keywords = {"class", "struct", "enum", "union", "using", "typename", "alignas"};
  std::set<std::string> names;
  std::string before;
  for (const Word& word : file.words) {
    if (keywords.contains(before) || word.next == '(') names.insert(word.text);
    if (!word.qualifier.empty() && names.contains(word.qualifier)) names.insert(word.text);  // using Outer::Inner
    before = word.text;
  }
  return names;
}

// The types that headers declare, a word behind "class", "struct", "using" or "enum class" alone, by name.
std::map<std::string, std::set<std::string>> DeclaredTypes(const std::vector<SourceFile>& sources) {
  static const std::regex declared(
      "^(?:class|struct|enum class|enum|using) (?:alignas\\(\\w+\\) )?([A-Z]\\w+)(?=[^;]*$| =)");
  std::map<std::string, std::set<std::string>> types;
  for (const SourceFile& source : sources) {
    if (!source.path.ends_with(".h")) continue;
    std::istringstream in(WithoutCommentsAndTexts(source.text));
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, declared)) types[match[1]].insert(source.path);
    }
  }
  return types;
}

// The standard header that a word is of; null for another word.
const StandardHeader* StandardHeaderOf(const Word& word) {
  static const std::map<std::string_view, const StandardHeader*> headers = [] {
    std::map<std::string_view, const StandardHeader*> made;
    for (const StandardHeader& header : StandardHeaders()) {
      for (const std::string_view name : header.declares) made[name] = &header;
    }
    return made;
  }();
  const bool is_number = word.text.ends_with("_t") && word.qualifier != ".";
  const auto found = headers.find(word.text);
  return found != headers.end() && (word.qualifier == "std" || is_number) ? found->second : nullptr;
}

bool Reaches(const Tree::File& file, const StandardHeader& header) {
  const auto reaches = [&](std::string_view name) { return file.reached.contains("<" + std::string(name) + ">"); };
  return reaches(header.name) || std::ranges::any_of(header.as_well, reaches);
}

// "file: name, which header" of what a file uses and does not include.
std::vector<std::string> Missing(const std::vector<SourceFile>& sources) {
  const Tree tree(sources);
  const auto types = DeclaredTypes(sources);
  std::map<std::string, std::set<std::string>> own;
  for (const auto& [path, file] : tree.files()) own[path] = OwnNames(file);
  std::vector<std::string> missing;
  for (const auto& [path, file] : tree.files()) {
    if (path.ends_with("-inl.h")) continue;  // a part of what includes it
    std::set<std::string> told;
    const auto tell = [&, &path = path](const std::string& name, const std::string& header) {
      if (told.insert(header).second) missing.push_back(path + ": " + name + ", " + header);
    };
    for (const Word& word : file.words) {
      if (const StandardHeader* header = StandardHeaderOf(word)) {
        if (!Reaches(file, *header)) tell(word.text, "<" + std::string(header->name) + ">");
        continue;
      }
      const auto type = types.find(word.text);
      if (type == types.end() || (!word.qualifier.empty() && word.qualifier != "pt") || word.next == '(') continue;
      const bool is_known = std::ranges::any_of(file.reached, [&](const std::string& near) {
        const auto names = own.find(near);
        return type->second.contains(near) || (names != own.end() && names->second.contains(word.text));
      });
      if (!is_known) tell(word.text, *type->second.begin());
    }
  }
  return missing;
}

TEST_CASE("SelfSufficientFiles, IncludeWhatTheyUse", "[structure]") {
  std::string text;
  for (const std::string& line : Missing(ReadTree())) text += line + "\n";
  INFO(text);
  CHECK(text.empty());
}

TEST_CASE("SelfSufficientFiles, WhatIsMissingIsFound", "[structure]") {
  const std::vector<SourceFile> sources = {
      {"include/a.h", "#include <vector>\nstruct Ahead {\n  struct Within {};\n};\nclass Beside;\n"},
      {"include/b.h", "#include \"a.h\"\nclass Beside {\n};\n"},
      {"lib/right.cc", "#include \"b.h\"\nstd::vector<Ahead> a;\nBeside b;\nWithin w;\n"},
      {"lib/wrong.cc",
       "#include <cmath>\n// std::set<int>\nAhead a;\nint n = std::max(1, 2) + x.Beside + y->Ahead;\nint64_t i;\n"},
      {"lib/other.cc",
       "Theirs::Ahead a;\nstruct Beside* b = nullptr;\nconst char* text = \"std::map\";\nstd::ranges::sort(v);\n"},
      {"lib/forward.cc", "#include \"a.h\"\nBeside* b = nullptr;\nstd::string_view s;\n"}};
  CHECK(Missing(sources) ==
        std::vector<std::string>{"lib/forward.cc: string_view, <string_view>", "lib/other.cc: sort, <algorithm>",
                                 "lib/wrong.cc: Ahead, include/a.h", "lib/wrong.cc: max, <algorithm>",
                                 "lib/wrong.cc: int64_t, <cstdint>"});
}

}  // namespace
}  // namespace pt::testing::self_sufficient_files_test
