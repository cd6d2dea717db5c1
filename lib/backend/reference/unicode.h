// UTF-8 for the operators on strings. Strings of a model are bytes; only operators that look at letters read them so.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pt::reference {

// The character that begins at `at`, which is moved behind it; nothing where the bytes are no UTF-8.
std::optional<char32_t> NextCharacter(std::string_view text, size_t& at);

// What Unicode calls white space, and the four separators of ASCII.
bool IsWhiteSpace(char32_t c);

// Letters in the other case where that is one letter, as the system's "C.UTF-8" has it, which depends on no language;
// "ß" stays as it is. Nothing for bytes that are no UTF-8, and for letters beyond ASCII on systems without that locale.
enum class LetterCase { kLower, kUpper };
std::optional<std::string> InCase(std::string_view text, LetterCase wanted);

}  // namespace pt::reference
