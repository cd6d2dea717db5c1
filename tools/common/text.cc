#include "tools/common/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pt::tools {
namespace {

Error BadValue(std::string_view flag, std::string_view text, std::string_view wanted) {
  return MakeError(ErrorCode::kUsage, "usage.value",
                   std::string(flag) + ": \"" + std::string(text) + "\" is not a " + std::string(wanted));
}

}  // namespace

Result<double> ParseNumber(std::string_view text, std::string_view flag) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return BadValue(flag, text, "number");
  }
  return value;
}

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text, std::string_view flag) {
  struct UnitRow {
    std::string_view name;
    double ns;
  };
  constexpr UnitRow kUnits[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},  {"s", 1e9},
                                {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  const std::string wanted = "duration such as 2s, 0.3s, 200ms or 1m30s";
  double total = 0;
  std::string_view rest = text;
  if (rest.empty()) return BadValue(flag, text, wanted);
  while (!rest.empty()) {
    const size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    const size_t end = std::min(rest.find_first_of("0123456789.", digits), rest.size());
    const auto number = ParseNumber(rest.substr(0, digits), flag);
    const std::string_view unit = rest.substr(digits, end - digits);
    double scale = 0;
    for (const UnitRow& row : kUnits) {
      if (row.name == unit) scale = row.ns;
    }
    if (!number.ok() || scale == 0) return BadValue(flag, text, wanted);
    total += *number * scale;
    rest.remove_prefix(end);
  }
  if (total > 9e18) return BadValue(flag, text, wanted);
  return std::chrono::nanoseconds(static_cast<int64_t>(total));
}

Result<uint64_t> ParseBytes(std::string_view text, std::string_view flag) {
  struct UnitRow {
    std::string_view name;
    double bytes;
  };
  constexpr double kKibi = 1024;
  constexpr UnitRow kUnits[] = {{"", 1},
                                {"B", 1},
                                {"KiB", kKibi},
                                {"MiB", kKibi * kKibi},
                                {"GiB", kKibi * kKibi * kKibi},
                                {"TiB", kKibi * kKibi * kKibi * kKibi}};
  const std::string wanted = "size such as 512MiB, 2GiB or a number of bytes";
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = ParseNumber(text.substr(0, digits), flag);
  std::string_view unit = text.substr(digits);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto row = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const UnitRow& r) { return r.name == unit; });
  if (!number.ok() || row == std::end(kUnits) || *number * row->bytes > 9e18) return BadValue(flag, text, wanted);
  return static_cast<uint64_t>(*number * row->bytes);
}

Result<double> ParseShare(std::string_view text, std::string_view flag) {
  const bool percent = text.ends_with('%');
  const auto number = ParseNumber(percent ? text.substr(0, text.size() - 1) : text, flag);
  if (!number.ok() || *number < 0) return BadValue(flag, text, "share such as 2% or 0.02");
  return percent ? *number / 100 : *number;
}

Result<std::vector<int64_t>> ParseDims(std::string_view text, std::string_view flag) {
  std::vector<int64_t> dims;
  if (text.empty() || text == "scalar") return dims;
  while (true) {
    int64_t dim = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), dim);
    const size_t used = static_cast<size_t>(end - text.data());
    if (problem != std::errc() || dim < 0 || (used < text.size() && text[used] != 'x')) {
      return BadValue(flag, text, "shape such as 1x3x224x224");
    }
    dims.push_back(dim);
    if (used == text.size()) return dims;
    text.remove_prefix(used + 1);
  }
}

Result<std::pair<std::string, std::string>> ParseAssignment(std::string_view text, std::string_view flag) {
  const size_t at = text.rfind('=');
  if (at == std::string_view::npos || at == 0) return BadValue(flag, text, "NAME=VALUE");
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace pt::tools
