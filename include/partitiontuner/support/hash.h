// Content hashes: 128 bits, stable across machines and versions of the project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pt {

// A hash that stands for what was hashed.
struct Hash128 {
  uint64_t high = 0, low = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

Hash128 HashBytes(std::span<const std::byte> bytes);
Hash128 HashText(std::string_view text);
std::string ToHex(Hash128 hash);  // 32 lower-case digits

}  // namespace pt

template <>
struct std::hash<pt::Hash128> {
  size_t operator()(const pt::Hash128& h) const noexcept { return static_cast<size_t>(h.low ^ h.high); }
};
