#include "partitiontuner/support/quantity_text.h"

#include <charconv>
#include <cmath>

namespace pt {
namespace {

std::string Formatted(double value, std::chars_format format, int digits) {
  char text[400];
  const auto [end, problem] = std::to_chars(text, text + sizeof text, value, format, digits);
  return problem == std::errc() ? std::string(text, end) : std::string("?");
}

}  // namespace

std::string Fixed(double value, int digits) { return Formatted(value, std::chars_format::fixed, digits); }

std::string Percent(double share, int digits) { return Fixed(share * 100, digits) + " %"; }

std::string Brief(double value) {
  if (value == 0) return "0";
  return Formatted(value, std::chars_format::general, 2);
}

std::string ShortTime(int64_t ns) {
  const double value = static_cast<double>(ns);
  if (std::fabs(value) < 1e3) return std::to_string(ns) + " ns";
  struct Row {
    double scale;
    const char* unit;
  };
  if (std::fabs(value) < 60e9) {
    const Row row = std::fabs(value) < 1e6   ? Row{1e3, " us"}
                    : std::fabs(value) < 1e9 ? Row{1e6, " ms"}
                                             : Row{1e9, " s"};
    const double scaled = value / row.scale;
    return Fixed(scaled, std::fabs(scaled) < 10 ? 2 : std::fabs(scaled) < 100 ? 1 : 0) + row.unit;
  }
  const int64_t seconds = ns / 1'000'000'000;
  return std::to_string(seconds / 60) + "m" + (seconds % 60 < 10 ? "0" : "") + std::to_string(seconds % 60) + "s";
}

std::string ShortBytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  const char* const units[] = {" KiB", " MiB", " GiB", " TiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return Fixed(value, value < 10 ? 1 : 0) + units[unit];
}

}  // namespace pt
