// The fields of a message of Protocol Buffers, one after the other, wherever its bytes lie; and the same way back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pt {

inline constexpr uint32_t kWireLength = 2;  // the wire type of messages, texts and packed lists

// One field of a message: [begin, end) with its key, [content, end) without, and for kWireLength without its length.
struct WireField {
  uint32_t number = 0, wire_type = 0;
  uint64_t begin = 0, content = 0, end = 0;
};

// Bytes: At(position) gives a byte, failed() whether one could not be read. `at` moves behind what was read. Nothing
// where the bytes up to `end` hold no varint.
template <typename Bytes>
std::optional<uint64_t> ReadWireVarint(Bytes& bytes, uint64_t& at, uint64_t end) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && at < end; shift += 7) {
    const auto byte = std::to_integer<uint64_t>(bytes.At(at++));
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return bytes.failed() ? std::nullopt : std::optional(value);
  }
  return std::nullopt;
}

// Likewise the next field; nothing where there is none that ends in time, and for groups, which no model has.
template <typename Bytes>
std::optional<WireField> ReadWireField(Bytes& bytes, uint64_t& at, uint64_t end) {
  WireField field;
  field.begin = at;
  const auto key = ReadWireVarint(bytes, at, end);
  if (!key || *key > UINT32_MAX || *key >> 3 == 0) return std::nullopt;
  field.number = static_cast<uint32_t>(*key >> 3);
  field.wire_type = static_cast<uint32_t>(*key & 7);
  uint64_t length = 0;
  if (field.wire_type == 0) {
    if (!ReadWireVarint(bytes, at, end)) return std::nullopt;
  } else if (field.wire_type == 1) {
    length = 8;
  } else if (field.wire_type == 5) {
    length = 4;
  } else if (field.wire_type == kWireLength) {
    const auto read = ReadWireVarint(bytes, at, end);
    if (!read) return std::nullopt;
    length = *read;
  } else {
    return std::nullopt;
  }
  field.content = at;
  if (length > end - at) return std::nullopt;
  at += length;
  field.end = at;
  return field;
}

inline void AppendWireVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

inline void AppendWireMessage(uint32_t number, std::string_view content, std::string& out) {
  AppendWireVarint(uint64_t{number} << 3 | kWireLength, out);
  AppendWireVarint(content.size(), out);
  out += content;
}

}  // namespace pt
