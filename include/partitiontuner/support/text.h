// Wording that messages share.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace pt {

// `unknown mode "x"; expected a, b or c`. What may be said must not be empty.
std::string UnknownWord(std::string_view what, std::string_view given, std::span<const std::string_view> expected);
std::string UnknownWord(std::string_view what, std::string_view given,
                        std::initializer_list<std::string_view> expected);

// "a, b or c"
std::string Alternatives(std::span<const std::string_view> words);

// The words in their order, with the separator between them.
std::string Joined(std::span<const std::string> words, std::string_view separator = ", ");

// '*' any run of characters, '?' any one; everything else stands for itself.
bool MatchesGlob(std::string_view text, std::string_view pattern);

}  // namespace pt
