// Regular expressions of RegexFullMatch: what is matched, what is refused, and that no pattern takes long.
#include "lib/backend/reference/regex.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace pt::reference::regex_test {
namespace {

bool Matches(const std::string& pattern, std::string_view text) {
  CAPTURE(pattern);
  const Result<Regex> regex = Regex::Compile(pattern);
  if (!regex.ok()) FAIL(regex.error().message);
  return regex->MatchesAll(text, [] { return false; }).value();
}

std::string ErrorId(const std::string& pattern) {
  const Result<Regex> regex = Regex::Compile(pattern);
  return regex.ok() ? "none" : std::string(regex.error().code == ErrorCode::kUnsupported ? "unsupported" : "invalid");
}

}  // namespace

TEST_CASE("Regex, MatchesWholeTextsOnly", "[backend]") {
  CHECK(Matches("", ""));
  CHECK(!Matches("", "a"));
  CHECK(Matches("a|bc|", ""));
  CHECK(Matches("a|bc|", "bc"));
  CHECK(!Matches("a|bc|", "abc"));
  CHECK(Matches("(a|b)*c", "ababc"));
  CHECK(!Matches("(a|b)*c", "abab"));
  CHECK(Matches("(?:x(?P<name>y)?)+?", "xxyx"));
  CHECK(Matches("(a*)*", "aaa"));
  CHECK(Matches("()*", ""));
}

TEST_CASE("Regex, RepetitionsCount", "[backend]") {
  for (int n = 0; n < 6; ++n) {
    const std::string text(static_cast<size_t>(n), 'a');
    CAPTURE(n);
    CHECK(Matches("a{3}", text) == (n == 3));
    CHECK(Matches("a{2,}", text) == (n >= 2));
    CHECK(Matches("a{1,4}?", text) == (n >= 1 && n <= 4));
    CHECK(Matches("a{0}", text) == (n == 0));
  }
  CHECK(Matches("a{,2}", "a{,2}"));
  CHECK(Matches("a{x}", "a{x}"));
}

TEST_CASE("Regex, ClassesHoldCharactersOfUtf8", "[backend]") {
  CHECK(Matches(".", "é"));
  CHECK(!Matches(".", "\n"));
  CHECK(!Matches(".", "\xff"));
  CHECK(!Matches("[^a]", "\xff"));
  CHECK(Matches("[^a]", "\n"));
  CHECK(Matches("[]a-]{3}", "]-a"));
  CHECK(Matches("[^]]", "a"));
  CHECK(Matches("[à-ü]+", "éü"));
  CHECK(Matches("\\w+\\s\\d\\W\\S\\D", "a_9 1-xy"));
  CHECK(!Matches("\\w", "é"));
  CHECK(Matches("[\\w.-]+", "a.b-c"));
  CHECK(Matches("\\x41\\x{e9}\\n\\.", "Aé\n."));
}

TEST_CASE("Regex, PlacesAreBetweenCharacters", "[backend]") {
  CHECK(Matches("^a$", "a"));
  CHECK(!Matches("a^b", "ab"));
  CHECK(!Matches("a$\\n", "a\n"));
  CHECK(Matches("\\Aa\\b \\bb\\z", "a b"));
  CHECK(Matches("a\\Bb", "ab"));
  CHECK(!Matches("a\\bb", "ab"));
  CHECK(Matches("(\\W|^)x(\\W|$)", "x"));
}

TEST_CASE("Regex, WhatIsNotTakenIsRefused", "[backend]") {
  for (const char* wrong : {"(", ")", "[", "[a", "*", "a**", "a{2}{3}", "{2}", "|+", "\\", "[b-a]", "[\\d-x]", "a{3,2}",
                            "a{1001}", "\\x4", "\\x{110000}", "\xff", "(?P<n", "a*??"}) {
    CAPTURE(wrong);
    CHECK(ErrorId(wrong) == "invalid");
  }
  for (const char* other : {"(?i)a", "[[:alpha:]]", "\\pL", "\\Qa\\E", "\\C", "\\1", "\\Z", "((a{1000}){1000})",
                            "(((){1000}){1000}){1000}"}) {
    CAPTURE(other);
    CHECK(ErrorId(other) == "unsupported");
  }
  CHECK(ErrorId(std::string(100'000, '(')) == "unsupported");
}

TEST_CASE("Regex, NoPatternTakesMoreThanItsLengthTimesTheText", "[backend]") {
  // Where alternatives are tried one after the other this takes 2^n steps.
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "a?";
  CHECK(Matches(pattern + "a{30}", std::string(30, 'a')));
  CHECK(!Matches("(a|a)*b", std::string(10'000, 'a')));
  const Result<Regex> regex = Regex::Compile("(a|b)*");
  REQUIRE(regex.ok());
  const Result<bool> stopped = regex->MatchesAll(std::string(1000, 'a'), [] { return true; });
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.error().id == "run.stopped");
}

}  // namespace pt::reference::regex_test
