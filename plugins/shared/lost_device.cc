#include "plugins/shared/lost_device.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace pt::plugins {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"DEVICE_LOST", "device lost", "Device lost", "DEVICE_REMOVED"};
// Errors of CUDA, and of HIP, which numbers them alike, after which every later call of the process fails: memory that
// cannot be corrected, a broken link, a kernel that read or jumped anywhere, ran too long, failed an assertion or died.
constexpr std::array kDeadly = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
constexpr std::array<std::string_view, 2> kNumbered = {"CUDA failure ", "HIP failure "};

bool IsDeadly(std::string_view message, std::string_view words) {
  const size_t at = message.find(words);
  if (at == message.npos) return false;
  int number = 0;
  const char* const begin = message.data() + at + words.size();
  return std::from_chars(begin, message.data() + message.size(), number).ec == std::errc() &&
         std::ranges::find(kDeadly, number) != kDeadly.end();
}

}  // namespace

bool TellsOfLostDevice(std::string_view message) {
  return std::ranges::any_of(kWords, [&](std::string_view words) { return message.find(words) != message.npos; }) ||
         std::ranges::any_of(kNumbered, [&](std::string_view words) { return IsDeadly(message, words); });
}

}  // namespace pt::plugins
