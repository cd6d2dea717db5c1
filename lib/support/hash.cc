#include "partitiontuner/support/hash.h"

#include <xxhash.h>

namespace pt {

Hash128 HashBytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

Hash128 HashText(std::string_view text) { return HashBytes(std::as_bytes(std::span(text))); }

std::string ToHex(Hash128 hash) {
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[static_cast<size_t>(15 - i)] = "0123456789abcdef"[(hash.high >> (4 * i)) & 15];
    text[static_cast<size_t>(31 - i)] = "0123456789abcdef"[(hash.low >> (4 * i)) & 15];
  }
  return text;
}

}  // namespace pt
