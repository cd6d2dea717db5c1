// Reading what users type: durations, shares, shapes, assignments. No iostreams, no
// locale.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partitiontuner/support/quantity_text.h"
#include "partitiontuner/support/result.h"

namespace pt::tools {

// "2s", "0.3s", "200ms", "1m30s", "1h", "50us". `flag` names the option in errors (kUsage).
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text, std::string_view flag);
// "2%" or "0.02".
Result<double> ParseShare(std::string_view text, std::string_view flag);
// "1x3x224x224"; "" or "scalar" for no dims.
Result<std::vector<int64_t>> ParseDims(std::string_view text, std::string_view flag);
Result<double> ParseNumber(std::string_view text, std::string_view flag);
// "212MiB", "2GiB", "1.5 KiB" or bytes without a unit; rounded down to whole bytes.
Result<uint64_t> ParseBytes(std::string_view text, std::string_view flag);
// Splits "NAME=VALUE" at the last '=': names may hold any character, values of these flags hold
// none.
Result<std::pair<std::string, std::string>> ParseAssignment(std::string_view text, std::string_view flag);
// Splits at commas; empty parts are dropped.
std::vector<std::string> SplitList(std::string_view text);

}  // namespace pt::tools
