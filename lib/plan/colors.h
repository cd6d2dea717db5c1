// Colours of pictures of plans: they stay apart for most people, also for those who see colours otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace pt {

// Of the device or unit with that number; beyond eight they repeat.
inline std::string_view PaletteColor(size_t number) {
  static constexpr std::array<std::string_view, 8> kColors = {"#6baed6", "#fd9a4e", "#74c476", "#c994c7",
                                                              "#e6c229", "#66c2a5", "#e78a8a", "#a6a0d8"};
  return kColors[number % kColors.size()];
}
inline constexpr std::string_view kCopyColor = "#9e9e9e";
inline constexpr std::string_view kReorderColor = "#dcc9a3";

}  // namespace pt
