// Regular expressions of RE2's syntax, as far as they are described without Unicode's tables: matched against whole
// texts by Thompson's simulation (Regular expression search algorithm, CACM 1968), in time that is linear in the text
// and without recursion on it.
//
// Taken: characters of UTF-8, `.`, classes, \d \s \w and their opposites, ^ $ \A \z \b \B, groups (also named and
// (?:...)), |, * + ? {n} {n,} {n,m} up to 1,000, each followed by `?` or not. All that are of ASCII alone are so in
// RE2. Refused: flags, classes of POSIX and Unicode, \C, \Q; and what RE2 refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "lib/backend/reference/regex_syntax.h"

namespace pt::reference {

class Regex {
 public:
  // Errors: kInvalidInput (no regular expression), kUnsupported (one of another kind, or one that is too large).
  static Result<Regex> Compile(std::string_view pattern);

  // Whether it matches the whole text. Bytes that are no UTF-8 match nothing. `should_stop` is asked now and then;
  // kRunFailed once it says so. Thread-safe.
  Result<bool> MatchesAll(std::string_view text, const std::function<bool()>& should_stop) const;

 private:
  friend class RegexCompiler;

  struct Instruction {
    enum class Kind : uint8_t { kCharacter, kBranch, kPlace, kMatch };
    Kind kind = Kind::kMatch;
    uint32_t next = 0, other = 0;  // other: of a branch
    uint32_t set = 0;
    RegexPlace place = RegexPlace::kBegin;
  };
  struct Spot;
  struct Threads;

  void Follow(uint32_t instruction, const Spot& spot, Threads& threads) const;

  std::vector<RegexSet> sets_;
  std::vector<Instruction> program_;
  uint32_t start_ = 0;
};

}  // namespace pt::reference
