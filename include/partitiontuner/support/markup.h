// Names from files in text that other programs read: XML and Graphviz.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pt {

// At most that many characters, the last of them "…" where some were left out. Invalid UTF-8, and control characters
// except for new lines, become '?': markup may hold neither.
std::string CleanText(std::string_view text, size_t most_characters = SIZE_MAX);
// Clean text as XML character data or within an attribute.
std::string XmlText(std::string_view text);
// Clean text between the quotes of a Graphviz string.
std::string DotText(std::string_view text);

}  // namespace pt
