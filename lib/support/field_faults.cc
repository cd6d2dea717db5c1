#include "lib/support/field_faults.h"

#include <algorithm>
#include <cmath>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

void Replace(std::string& text, std::string_view what, std::string_view by) {
  if (const size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

std::string NumberText(double value) {
  if (!std::isfinite(value)) return std::to_string(value);
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(value)) : WriteJson(Json(value), -1);
}

std::string Filled(std::string_view fault, std::string_view key, std::string_view value) {
  std::string text(fault);
  Replace(text, "{key}", key);
  Replace(text, "{value}", value);
  return text;
}

}  // namespace

std::string RangeFault(std::string_view key, double value, const FieldNote& note, std::string_view text) {
  if (value >= note.range.least && value <= note.range.most) return {};
  if (note.range.fault.empty() && std::isnan(value)) return {};  // a number without a range
  return Filled(note.range.fault, key, text.empty() ? NumberText(value) : text);
}

std::string WordFault(std::string_view key, const std::string& value, const FieldNote& note) {
  if (note.words.empty() || std::ranges::find(note.words, value) != note.words.end()) return {};
  return "unknown " + std::string(key) + " '" + value + "'; expected " + Alternatives(note.words);
}

std::string EmptyFault(std::string_view key, size_t size, const FieldNote& note) {
  return size == 0 ? Filled(note.empty_fault, key, "") : std::string();
}

std::string LargeFault(std::string_view key, uint64_t value, uint64_t most) {
  return value > most ? std::string(key) + " is " + std::to_string(value) + ", which is too large" : std::string();
}

}  // namespace pt
