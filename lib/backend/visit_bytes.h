// Elements that are only moved, by their size: one copy of the code for all types of as many bytes.
#pragma once

#include <cstdint>

namespace pt {

// An element of 16 bytes.
struct Bytes16 {
  uint64_t low = 0, high = 0;
};

// visit.operator()<T>() with a type of that many bytes: 1, 2, 4, 8 or 16.
template <typename F>
decltype(auto) VisitBytes(int64_t bytes, F&& visit) {
  if (bytes == 1) return visit.template operator()<uint8_t>();
  if (bytes == 2) return visit.template operator()<uint16_t>();
  if (bytes == 4) return visit.template operator()<uint32_t>();
  if (bytes == 8) return visit.template operator()<uint64_t>();
  return visit.template operator()<Bytes16>();
}

}  // namespace pt
