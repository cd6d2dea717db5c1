#include "partitiontuner/support/closest_word.h"

#include <algorithm>
#include <vector>

namespace pt {
namespace {

size_t TypingErrors(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string_view ClosestWord(std::string_view given, std::span<const std::string_view> known) {
  std::string_view closest;
  size_t least = std::max<size_t>(1, given.size() / 3) + 1;
  constexpr size_t kLongest = 200;  // what is longer is not a word
  if (given.empty() || given.size() > kLongest) return closest;
  for (const std::string_view word : known) {
    if (word.size() > kLongest) continue;
    const size_t errors = TypingErrors(given, word);
    if (errors < least && errors < word.size()) {
      least = errors;
      closest = word;
    }
  }
  return closest;
}

}  // namespace pt
