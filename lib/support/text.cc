#include "partitiontuner/support/text.h"

namespace pt {

std::string UnknownWord(std::string_view what, std::string_view given, std::span<const std::string_view> expected) {
  std::string text = "unknown " + std::string(what) + " \"" + std::string(given) + "\"; expected ";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i > 0) text += i + 1 == expected.size() ? " or " : ", ";
    text += expected[i];
  }
  return text;
}

std::string UnknownWord(std::string_view what, std::string_view given,
                        std::initializer_list<std::string_view> expected) {
  return UnknownWord(what, given, std::span(expected.begin(), expected.size()));
}

}  // namespace pt
