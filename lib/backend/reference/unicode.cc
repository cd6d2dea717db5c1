#include "lib/backend/reference/unicode.h"

#include <clocale>
#include <cwctype>

namespace pt::reference {
namespace {

// The letters of Unicode. Made once and kept: never freed, since threads may use it until the process ends.
locale_t UnicodeLetters() {
  static const locale_t letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return letters;
}

void Append(char32_t c, std::string& text) {
  const auto byte = [&](char32_t bits) { text += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      byte(0xe0 | c >> 12);
    } else {
      byte(0xf0 | c >> 18);
      byte(0x80 | (c >> 12 & 0x3f));
    }
    byte(0x80 | (c >> 6 & 0x3f));
  }
  byte(0x80 | (c & 0x3f));
}

std::optional<char32_t> InCase(char32_t c, LetterCase wanted) {
  const bool lower = wanted == LetterCase::kLower;
  if (c < 0x80) {
    if (lower) return c >= U'A' && c <= U'Z' ? c + 32 : c;
    return c >= U'a' && c <= U'z' ? c - 32 : c;
  }
  const locale_t letters = UnicodeLetters();
  if (letters == nullptr) return std::nullopt;
  const auto wide = static_cast<wint_t>(c);
  return static_cast<char32_t>(lower ? towlower_l(wide, letters) : towupper_l(wide, letters));
}

}  // namespace

std::optional<char32_t> NextCharacter(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) -> char32_t { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(at);
  const size_t more = first < 0x80 ? 0 : first < 0xc2 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 4;
  if (more == 4 || at + more >= text.size()) return std::nullopt;
  char32_t c = more == 0 ? first : first & (0x3fU >> more);
  for (size_t i = 1; i <= more; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return std::nullopt;
    c = c << 6 | (byte(at + i) & 0x3f);
  }
  // Longer forms than needed, halves of pairs, and what is beyond the last character are none.
  if ((more == 2 && c < 0x800) || (more == 3 && c < 0x10000) || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) {
    return std::nullopt;
  }
  at += more + 1;
  return c;
}

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

std::optional<std::string> InCase(std::string_view text, LetterCase wanted) {
  std::string changed;
  changed.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::optional<char32_t> c = NextCharacter(text, at);
    const std::optional<char32_t> other = c ? InCase(*c, wanted) : std::nullopt;
    if (!other) return std::nullopt;
    Append(*other, changed);
  }
  return changed;
}

}  // namespace pt::reference
