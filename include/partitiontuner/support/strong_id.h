// Ids: indices into the vectors of plain data (Graph, Platform, Plan), each of a type of its own so
// that a NodeId never passes for a ValueId.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace pt {

// An index that cannot be taken for one of another kind.
template <typename Tag>
struct StrongId {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  uint32_t value = kNone;  // index; kNone = names nothing

  constexpr StrongId() = default;
  constexpr explicit StrongId(uint32_t index) : value(index) {}
  constexpr explicit StrongId(size_t index) : value(static_cast<uint32_t>(index)) {}

  constexpr bool valid() const { return value != kNone; }
  constexpr size_t index() const { return value; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

}  // namespace pt

template <typename Tag>
struct std::hash<pt::StrongId<Tag>> {
  size_t operator()(pt::StrongId<Tag> id) const noexcept { return std::hash<uint32_t>()(id.value); }
};
