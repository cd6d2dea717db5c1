// What a regular expression says, as a tree: see regex.h for what is taken.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "partitiontuner/support/result.h"

namespace pt::reference {

// Characters in ranges, or all others.
struct RegexSet {
  std::vector<std::pair<char32_t, char32_t>> ranges;
  bool negated = false;
  bool Contains(char32_t c) const;
};

enum class RegexPlace : uint8_t { kBegin, kEnd, kWordEdge, kNoWordEdge };

struct RegexSyntax {
  static constexpr uint32_t kWithoutEnd = UINT32_MAX;
  struct Part {
    enum class Kind : uint8_t { kSet, kPlace, kSequence, kChoice, kRepeat };
    Kind kind = Kind::kSequence;
    std::vector<uint32_t> parts = {};
    uint32_t set = 0;
    RegexPlace place = RegexPlace::kBegin;
    uint32_t least = 0, most = 0;  // of a repeat
  };
  std::vector<RegexSet> sets;
  std::vector<Part> parts;
  uint32_t whole = 0;
};

// Errors as Regex::Compile.
Result<RegexSyntax> ParseRegex(std::string_view pattern);

}  // namespace pt::reference
