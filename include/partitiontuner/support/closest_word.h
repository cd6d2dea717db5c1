// What was meant by a word with typing errors.
#pragma once

#include <span>
#include <string_view>

namespace pt {

// The known word with the fewest typing errors (letters put in, left out, changed, or swapped with their
// neighbour); empty where all have more than a third of the given word's letters wrong.
std::string_view ClosestWord(std::string_view given, std::span<const std::string_view> known);

}  // namespace pt
