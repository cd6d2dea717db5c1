// Copies a tensor element by element between any two layouts of the same dims, converting between float types.
// The way is worked out once; a run allocates nothing.
#pragma once

#include <vector>

#include "lib/backend/reference/operator.h"

namespace pt::reference {

class ElementCopy {
 public:
  static bool CanConvert(DataType from, DataType to);

  // Same dims, CanConvert. Padding of blocked targets is filled with zeros.
  ElementCopy(const TensorLayout& from, const TensorLayout& to);
  void Run(const void* from, void* to, Team* team) const;

 private:
  using Row = void (*)(const void* from, const int64_t* from_offsets, void* to, const int64_t* to_offsets, int64_t n);

  Row row_ = nullptr;
  // Per dim, the offset each index adds; -1 in from_ marks padding.
  std::vector<std::vector<int64_t>> from_, to_;
  int64_t outer_ = 1;
  int64_t from_bytes_ = 0, to_bytes_ = 0;
};

// Four- and two-bit elements between their packed form (low bits first) and one element a byte.
void Unpack(DataType type, const void* packed, int64_t count, void* bytes);
void Pack(DataType type, const void* bytes, int64_t count, void* packed);

}  // namespace pt::reference
