#include "partitiontuner/support/markup.h"

namespace pt {
namespace {

unsigned char Byte(char c) { return static_cast<unsigned char>(c); }

// Bytes of the UTF-8 character that the text begins with; 0 where there is none. The text is not empty.
size_t CharacterBytes(std::string_view text) {
  const unsigned char first = Byte(text[0]);
  if (first < 0x80) return first < 0x20 && first != '\n' ? 0 : first == 0x7f ? 0 : 1;
  const size_t bytes = first >= 0xc2 && first < 0xe0   ? 2
                       : first >= 0xe0 && first < 0xf0 ? 3
                       : first >= 0xf0 && first < 0xf5 ? 4
                                                       : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((Byte(text[i]) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = Byte(text[1]);
  // Overlong forms, halves of pairs, and what lies above the last code point.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  // U+FFFE and U+FFFF are not characters of XML.
  if (first == 0xef && second == 0xbf && Byte(text[2]) >= 0xbe) return 0;
  return bytes;
}

}  // namespace

std::string CleanText(std::string_view text, size_t most_characters) {
  std::string clean;
  size_t characters = 0, before_last = 0;  // bytes of all characters but the last that may stand
  while (!text.empty()) {
    if (characters == most_characters) return clean.substr(0, before_last) + "…";
    if (characters + 1 == most_characters) before_last = clean.size();
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      clean += '?';
    } else {
      clean += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
    ++characters;
  }
  return clean;
}

std::string XmlText(std::string_view text) {
  std::string xml;
  for (const char c : CleanText(text)) {
    switch (c) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      default:
        xml += c;
    }
  }
  return xml;
}

std::string DotText(std::string_view text) {
  std::string dot;
  for (const char c : CleanText(text)) {
    if (c == '\n') {
      dot += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') dot += '\\';
    dot += c;
  }
  return dot;
}

}  // namespace pt
