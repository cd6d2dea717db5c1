#include "lib/backend/reference/regex_syntax.h"

#include <algorithm>
#include <optional>
#include <string>

#include "lib/backend/reference/unicode.h"

namespace pt::reference {
namespace {

constexpr int kDeepest = 200;            // groups in groups: the parser and the compiler recurse
constexpr uint32_t kMostRepeats = 1000;  // as RE2 has it
constexpr char32_t kLast = 0x10ffff;
using Ranges = std::vector<std::pair<char32_t, char32_t>>;

const Ranges& Digits() {
  static const Ranges ranges = {{U'0', U'9'}};
  return ranges;
}
const Ranges& Spaces() {
  static const Ranges ranges = {{U'\t', U'\n'}, {U'\f', U'\r'}, {U' ', U' '}};
  return ranges;
}
const Ranges& WordCharacters() {
  static const Ranges ranges = {{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}};
  return ranges;
}

// Of sorted ranges, all between them.
Ranges Opposite(const Ranges& ranges) {
  Ranges others;
  char32_t begin = 0;
  for (const auto& [first, last] : ranges) {
    if (first > begin) others.emplace_back(begin, first - 1);
    begin = last + 1;
  }
  others.emplace_back(begin, kLast);
  return others;
}

// \d and its like.
std::optional<Ranges> NamedClass(char32_t letter) {
  switch (letter) {
    case U'd':
      return Digits();
    case U'D':
      return Opposite(Digits());
    case U's':
      return Spaces();
    case U'S':
      return Opposite(Spaces());
    case U'w':
      return WordCharacters();
    case U'W':
      return Opposite(WordCharacters());
    default:
      return std::nullopt;
  }
}

std::optional<char32_t> NamedCharacter(char32_t letter) {
  switch (letter) {
    case U'a':
      return U'\a';
    case U'f':
      return U'\f';
    case U'n':
      return U'\n';
    case U'r':
      return U'\r';
    case U't':
      return U'\t';
    case U'v':
      return U'\v';
    default:
      return std::nullopt;
  }
}

std::optional<RegexPlace> NamedPlace(char32_t letter) {
  switch (letter) {
    case U'A':
      return RegexPlace::kBegin;
    case U'z':
      return RegexPlace::kEnd;
    case U'b':
      return RegexPlace::kWordEdge;
    case U'B':
      return RegexPlace::kNoWordEdge;
    default:
      return std::nullopt;
  }
}

bool IsLetterOrDigit(char32_t c) {
  return (c >= U'0' && c <= U'9') || (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z');
}

class Parser {
 public:
  explicit Parser(std::u32string pattern) : pattern_(std::move(pattern)) {}

  Result<RegexSyntax> Parse() {
    PT_ASSIGN(syntax_.whole, Choice(0));
    if (at_ < pattern_.size()) return Wrong("a bracket that opens nowhere");
    return std::move(syntax_);
  }

 private:
  using Part = RegexSyntax::Part;
  using Kind = RegexSyntax::Part::Kind;

  bool Sees(char32_t c, size_t ahead = 0) const { return at_ + ahead < pattern_.size() && pattern_[at_ + ahead] == c; }
  bool Accept(char32_t c) { return Sees(c) && ++at_ > 0; }

  Error Wrong(const std::string& what) const {
    return MakeError(ErrorCode::kInvalidInput, "regex.syntax",
                     "no regular expression: " + what + ", at character " + std::to_string(at_));
  }
  Error Unsupported(const std::string& what) const {
    return MakeError(ErrorCode::kUnsupported, "regex.syntax",
                     "a regular expression with " + what + ", at character " + std::to_string(at_));
  }

  uint32_t Add(Part part) {
    syntax_.parts.push_back(std::move(part));
    return static_cast<uint32_t>(syntax_.parts.size() - 1);
  }
  uint32_t AddSet(Ranges ranges, bool negated = false) {
    syntax_.sets.push_back({std::move(ranges), negated});
    return Add({.kind = Kind::kSet, .set = static_cast<uint32_t>(syntax_.sets.size() - 1)});
  }
  uint32_t AddPlace(RegexPlace place) { return Add({.kind = Kind::kPlace, .place = place}); }

  Result<uint32_t> Choice(int depth) {
    if (depth > kDeepest) return Unsupported("more than " + std::to_string(kDeepest) + " groups in each other");
    Part choice{.kind = Kind::kChoice};
    do {
      PT_ASSIGN(const uint32_t one, Sequence(depth));
      choice.parts.push_back(one);
    } while (Accept(U'|'));
    return choice.parts.size() == 1 ? choice.parts[0] : Add(std::move(choice));
  }

  Result<uint32_t> Sequence(int depth) {
    Part sequence{.kind = Kind::kSequence};
    while (at_ < pattern_.size() && !Sees(U'|') && !Sees(U')')) {
      PT_ASSIGN(uint32_t part, Single(depth));
      PT_ASSIGN(part, Repeated(part));
      sequence.parts.push_back(part);
    }
    return Add(std::move(sequence));
  }

  Result<uint32_t> Single(int depth) {
    uint32_t ignored = 0;
    PT_ASSIGN(const bool repetition, Repetition(ignored, ignored));
    if (repetition) return Wrong("nothing to repeat");
    const char32_t c = pattern_[at_++];
    switch (c) {
      case U'(':
        return Group(depth);
      case U'[':
        return Class();
      case U'.':
        return AddSet({{U'\n', U'\n'}}, true);
      case U'^':
        return AddPlace(RegexPlace::kBegin);
      case U'$':
        return AddPlace(RegexPlace::kEnd);
      case U'\\':
        return Escape();
      default:
        return AddSet({{c, c}});
    }
  }

  Result<uint32_t> Group(int depth) {
    if (Accept(U'?')) {
      if (Accept(U'P')) {
        if (!Accept(U'<')) return Wrong("a group of unknown form");
        while (at_ < pattern_.size() && (IsLetterOrDigit(pattern_[at_]) || Sees(U'_'))) ++at_;
        if (!Accept(U'>')) return Wrong("a name of a group that does not end");
      } else if (!Accept(U':')) {
        return Unsupported("flags, or a group of unknown form");
      }
    }
    PT_ASSIGN(const uint32_t inside, Choice(depth + 1));
    if (!Accept(U')')) return Wrong("a group that does not end");
    return inside;
  }

  Result<uint32_t> Escape() {
    if (at_ == pattern_.size()) return Wrong("a backslash at the end");
    const char32_t letter = pattern_[at_];
    if (const std::optional<RegexPlace> place = NamedPlace(letter)) return ++at_, AddPlace(*place);
    if (std::optional<Ranges> ranges = NamedClass(letter)) return ++at_, AddSet(*std::move(ranges));
    PT_ASSIGN(const char32_t c, EscapedCharacter());
    return AddSet({{c, c}});
  }

  // Behind a backslash.
  Result<char32_t> EscapedCharacter() {
    if (at_ == pattern_.size()) return Wrong("a backslash at the end");
    const char32_t letter = pattern_[at_++];
    if (const std::optional<char32_t> c = NamedCharacter(letter)) return *c;
    if (letter == U'x') return Hexadecimal();
    if (letter < 0x80 && !IsLetterOrDigit(letter) && letter != U'_') return letter;
    --at_;
    return Unsupported("an escape that is not known");
  }

  // \x7F or \x{10FFFF}.
  Result<char32_t> Hexadecimal() {
    const bool braces = Accept(U'{');
    const size_t begin = at_;
    char32_t number = 0;
    while (at_ < pattern_.size() && at_ - begin < (braces ? 6U : 2U)) {
      const char32_t c = pattern_[at_];
      const std::optional<char32_t> digit = c >= U'0' && c <= U'9'   ? std::optional(c - U'0')
                                            : c >= U'a' && c <= U'f' ? std::optional(c - U'a' + 10)
                                            : c >= U'A' && c <= U'F' ? std::optional(c - U'A' + 10)
                                                                     : std::nullopt;
      if (!digit) break;
      number = number * 16 + *digit;
      ++at_;
    }
    const bool complete = braces ? at_ > begin && Accept(U'}') : at_ == begin + 2;
    if (!complete || number > kLast) return Wrong("an invalid character code");
    return number;
  }

  Result<uint32_t> Class() {
    const bool negated = Accept(U'^');
    Ranges ranges;
    for (bool first = true; first || !Sees(U']'); first = false) {
      if (at_ == pattern_.size()) return Wrong("a class that does not end");
      if (Sees(U'[') && Sees(U':', 1)) return Unsupported("a class of POSIX");
      if (Sees(U'\\') && at_ + 1 < pattern_.size()) {
        if (const std::optional<Ranges> named = NamedClass(pattern_[at_ + 1])) {
          at_ += 2;
          if (Sees(U'-') && !Sees(U']', 1)) return Wrong("a range that begins with a class");
          ranges.insert(ranges.end(), named->begin(), named->end());
          continue;
        }
      }
      PT_ASSIGN(const char32_t begin, ClassCharacter());
      char32_t end = begin;
      if (Sees(U'-') && !Sees(U']', 1)) {
        ++at_;
        if (at_ == pattern_.size()) return Wrong("a class that does not end");
        PT_ASSIGN(end, ClassCharacter());
      }
      if (end < begin) return Wrong("a range that ends before it begins");
      ranges.emplace_back(begin, end);
    }
    ++at_;
    return AddSet(std::move(ranges), negated);
  }

  Result<char32_t> ClassCharacter() {
    if (!Accept(U'\\')) return pattern_[at_++];
    return EscapedCharacter();
  }

  Result<uint32_t> Repeated(uint32_t part) {
    uint32_t least = 0, most = 0;
    PT_ASSIGN(const bool repeated, Repetition(least, most));
    if (!repeated) return part;
    Accept(U'?');  // whether much or little is taken first says nothing of whole texts
    uint32_t ignored = 0;
    PT_ASSIGN(const bool again, Repetition(ignored, ignored));
    if (again) return Wrong("a repetition of a repetition");
    return Add({.kind = Kind::kRepeat, .parts = {part}, .least = least, .most = most});
  }

  // False, and nothing read, where there is none.
  Result<bool> Repetition(uint32_t& least, uint32_t& most) {
    const bool any = Accept(U'*'), some = !any && Accept(U'+'), perhaps = !any && !some && Accept(U'?');
    if (!any && !some && !perhaps) return Counted(least, most);
    least = some ? 1 : 0;
    most = perhaps ? 1 : RegexSyntax::kWithoutEnd;
    return true;
  }

  // {n}, {n,} or {n,m}; false, and nothing read, where it is none: the bracket is a character then.
  Result<bool> Counted(uint32_t& least, uint32_t& most) {
    const size_t begin = at_;
    const auto number = [&]() -> std::optional<uint32_t> {
      const size_t first = at_;
      uint32_t n = 0;
      for (; at_ < pattern_.size() && pattern_[at_] >= U'0' && pattern_[at_] <= U'9'; ++at_) {
        n = std::min<uint32_t>(n * 10 + static_cast<uint32_t>(pattern_[at_] - U'0'), kMostRepeats + 1);
      }
      return at_ == first ? std::nullopt : std::optional(n);
    };
    const std::optional<uint32_t> low = Accept(U'{') ? number() : std::nullopt;
    std::optional<uint32_t> high = low;
    bool endless = false;
    if (low && Accept(U',')) {
      high = number();
      endless = !high;
    }
    if (!low || !Accept(U'}')) {
      at_ = begin;
      return false;
    }
    if (*low > kMostRepeats || (high && (*high > kMostRepeats || *high < *low))) return Wrong("a count out of range");
    least = *low;
    most = endless ? RegexSyntax::kWithoutEnd : *high;
    return true;
  }

  const std::u32string pattern_;
  size_t at_ = 0;
  RegexSyntax syntax_;
};

}  // namespace

bool RegexSet::Contains(char32_t c) const {
  if (c > kLast) return false;
  const bool within = std::any_of(ranges.begin(), ranges.end(),
                                  [&](const auto& range) { return c >= range.first && c <= range.second; });
  return within != negated;
}

Result<RegexSyntax> ParseRegex(std::string_view pattern) {
  std::u32string characters;
  for (size_t at = 0; at < pattern.size();) {
    const std::optional<char32_t> c = NextCharacter(pattern, at);
    if (!c) return MakeError(ErrorCode::kInvalidInput, "regex.syntax", "no regular expression: not UTF-8");
    characters += *c;
  }
  return Parser(std::move(characters)).Parse();
}

}  // namespace pt::reference
