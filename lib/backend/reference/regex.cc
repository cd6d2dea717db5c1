#include "lib/backend/reference/regex.h"

#include <algorithm>
#include <optional>

#include "lib/backend/reference/regex_syntax.h"
#include "lib/backend/reference/unicode.h"

namespace pt::reference {

namespace {

// Stands for bytes that are no UTF-8: beyond all characters, so in no class.
constexpr char32_t kNoCharacter = 0xffffffff;

constexpr size_t kMostInstructions = 100'000;

bool IsWordCharacter(std::optional<char32_t> c) {
  return c && ((*c >= U'0' && *c <= U'9') || (*c >= U'A' && *c <= U'Z') || (*c >= U'a' && *c <= U'z') || *c == U'_');
}

}  // namespace

// Writes the program back to front: each part knows what follows it.
class RegexCompiler {
 public:
  explicit RegexCompiler(const RegexSyntax& syntax, Regex& regex) : syntax_(syntax), program_(regex.program_) {}

  // The instruction to begin with; nothing when the program is too large.
  std::optional<uint32_t> Write(uint32_t part, uint32_t next) {
    // Parts without characters take no instructions, however often they are repeated.
    if (++written_ > 10 * kMostInstructions) return std::nullopt;
    const RegexSyntax::Part& p = syntax_.parts[part];
    using Kind = RegexSyntax::Part::Kind;
    switch (p.kind) {
      case Kind::kSet:
        return Add({Regex::Instruction::Kind::kCharacter, next, 0, p.set, {}});
      case Kind::kPlace:
        return Add({Regex::Instruction::Kind::kPlace, next, 0, 0, p.place});
      case Kind::kSequence: {
        std::optional<uint32_t> at = next;
        for (size_t i = p.parts.size(); i-- > 0 && at;) at = Write(p.parts[i], *at);
        return at;
      }
      case Kind::kChoice: {
        std::optional<uint32_t> at = Write(p.parts.back(), next);
        for (size_t i = p.parts.size() - 1; i-- > 0 && at;) {
          const std::optional<uint32_t> one = Write(p.parts[i], next);
          at = one ? Branch(*one, *at) : std::nullopt;
        }
        return at;
      }
      case Kind::kRepeat:
        return WriteRepeat(p, next);
    }
    return std::nullopt;
  }

  std::optional<uint32_t> Add(Regex::Instruction instruction) {
    if (program_.size() >= kMostInstructions) return std::nullopt;
    program_.push_back(instruction);
    return static_cast<uint32_t>(program_.size() - 1);
  }

 private:
  std::optional<uint32_t> Branch(uint32_t one, uint32_t other) {
    return Add({Regex::Instruction::Kind::kBranch, one, other, 0, {}});
  }

  std::optional<uint32_t> WriteRepeat(const RegexSyntax::Part& p, uint32_t next) {
    std::optional<uint32_t> at = next;
    if (p.most == RegexSyntax::kWithoutEnd) {
      at = Branch(next, next);  // one way goes round, once it is known where to
      const std::optional<uint32_t> round = at ? Write(p.parts[0], *at) : std::nullopt;
      if (!round) return std::nullopt;
      program_[*at].next = *round;
    } else {
      for (uint32_t i = p.least; i < p.most && at; ++i) {
        const std::optional<uint32_t> one = Write(p.parts[0], *at);
        at = one ? Branch(*one, next) : std::nullopt;
      }
    }
    for (uint32_t i = 0; i < p.least && at; ++i) at = Write(p.parts[0], *at);
    return at;
  }

  const RegexSyntax& syntax_;
  std::vector<Regex::Instruction>& program_;
  size_t written_ = 0;
};

// Between two characters of a text.
struct Regex::Spot {
  std::optional<char32_t> before, behind;

  bool Is(RegexPlace place) const {
    const bool edge = IsWordCharacter(before) != IsWordCharacter(behind);
    switch (place) {
      case RegexPlace::kBegin:
        return !before;
      case RegexPlace::kEnd:
        return !behind;
      case RegexPlace::kWordEdge:
        return edge;
      case RegexPlace::kNoWordEdge:
        return !edge;
    }
    return false;
  }
};

// The instructions at which a match may go on, each once.
struct Regex::Threads {
  explicit Threads(size_t instructions) : marked(instructions, 0) {}
  void Clear() {
    list.clear();
    ++generation;
  }
  std::vector<uint32_t> list;  // those that wait for a character, and the match
  std::vector<uint64_t> marked;
  uint64_t generation = 1;
  std::vector<uint32_t> open;
};

// Adds what can be reached without a character.
void Regex::Follow(uint32_t instruction, const Spot& spot, Threads& threads) const {
  threads.open = {instruction};
  while (!threads.open.empty()) {
    const uint32_t at = threads.open.back();
    threads.open.pop_back();
    if (threads.marked[at] == threads.generation) continue;
    threads.marked[at] = threads.generation;
    const Instruction& i = program_[at];
    switch (i.kind) {
      case Instruction::Kind::kCharacter:
      case Instruction::Kind::kMatch:
        threads.list.push_back(at);
        break;
      case Instruction::Kind::kBranch:
        threads.open.push_back(i.next);
        threads.open.push_back(i.other);
        break;
      case Instruction::Kind::kPlace:
        if (spot.Is(i.place)) threads.open.push_back(i.next);
        break;
    }
  }
}

Result<Regex> Regex::Compile(std::string_view pattern) {
  PT_ASSIGN(RegexSyntax syntax, ParseRegex(pattern));
  Regex regex;
  RegexCompiler compiler(syntax, regex);
  const std::optional<uint32_t> match = compiler.Add({});
  const std::optional<uint32_t> start = compiler.Write(syntax.whole, *match);
  if (!start) {
    return MakeError(ErrorCode::kUnsupported, "regex.size",
                     "a regular expression of more than " + std::to_string(kMostInstructions) + " instructions");
  }
  regex.start_ = *start;
  regex.sets_ = std::move(syntax.sets);
  return regex;
}

Result<bool> Regex::MatchesAll(std::string_view text, const std::function<bool()>& should_stop) const {
  constexpr size_t kBetweenLooks = 64;  // characters, each of which may take all instructions
  size_t at = 0, count = 0;
  const auto next = [&]() -> std::optional<char32_t> {
    if (at >= text.size()) return std::nullopt;
    const std::optional<char32_t> c = NextCharacter(text, at);
    if (!c) ++at;
    return c.value_or(kNoCharacter);
  };
  Threads now(program_.size()), then(program_.size());
  Spot spot{std::nullopt, next()};
  Follow(start_, spot, now);
  while (spot.behind && !now.list.empty()) {
    if (++count % kBetweenLooks == 0 && should_stop()) {
      return MakeError(ErrorCode::kRunFailed, "run.stopped", "the run was stopped");
    }
    spot = {spot.behind, next()};
    then.Clear();
    for (const uint32_t thread : now.list) {
      const Instruction& i = program_[thread];
      if (i.kind == Instruction::Kind::kCharacter && sets_[i.set].Contains(*spot.before)) Follow(i.next, spot, then);
    }
    std::swap(now, then);
  }
  return !spot.behind && std::any_of(now.list.begin(), now.list.end(), [&](uint32_t thread) {
    return program_[thread].kind == Instruction::Kind::kMatch;
  });
}

}  // namespace pt::reference
