// Integers that name places along a dim of a tensor, not known until run time: negative ones count from the end, and
// one that does not exist is an error of the run.
#pragma once

#include <type_traits>

#include "lib/backend/host_kernels/kernels/walk.h"

namespace pt::host {

inline bool IsIndexType(DataType type) { return type == DataType::kInt64 || type == DataType::kInt32; }

// f.operator()<Index>() for int64_t or int32_t.
template <typename F>
decltype(auto) VisitIndexType(DataType type, F&& f) {
  if (type == DataType::kInt64) return f.template operator()<int64_t>();
  return f.template operator()<int32_t>();
}

// Counted from the start; outside of 0..dim-1 where there is no such place.
inline int64_t PlaceOf(int64_t index, int64_t dim) { return index < 0 ? index + dim : index; }
inline bool IsPlace(int64_t place, int64_t dim) { return static_cast<uint64_t>(place) < static_cast<uint64_t>(dim); }

// kInvalidInput, naming the index.
Error NoSuchIndex(std::string_view op, int64_t index, int64_t dim);

// The walk of all elements of a tensor in their order.
Walk<1> InOrder(const HostOperand& operand);

// The error of the first index in the order of `walk` that does not exist: index i of each tuple along dims[i % depth],
// depth being the number of dims. OK where all exist.
Status CheckIndices(std::string_view op, const void* indices, DataType type, const Walk<1>& walk,
                    std::span<const int64_t> dims);

}  // namespace pt::host
