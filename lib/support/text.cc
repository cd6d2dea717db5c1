#include "partitiontuner/support/text.h"

#include "partitiontuner/support/closest_word.h"

namespace pt {

std::string UnknownWord(std::string_view what, std::string_view given, std::span<const std::string_view> expected) {
  std::string text =
      "unknown " + std::string(what) + " \"" + std::string(given) + "\"; expected " + Alternatives(expected);
  const std::string_view closest = ClosestWord(given, expected);
  if (!closest.empty()) text += "; did you mean \"" + std::string(closest) + "\"?";
  return text;
}

std::string UnknownWord(std::string_view what, std::string_view given,
                        std::initializer_list<std::string_view> expected) {
  return UnknownWord(what, given, std::span(expected.begin(), expected.size()));
}

std::string Alternatives(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string Joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += separator;
    text += words[i];
  }
  return text;
}

bool MatchesGlob(std::string_view text, std::string_view pattern) {
  // Only the last '*' met needs to be tried again: a greedy match, linear in practice.
  size_t at = 0, in = 0, star = std::string_view::npos, resume = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at])) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

}  // namespace pt
