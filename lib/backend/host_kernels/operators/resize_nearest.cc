// Resize by the nearest element: each row of the result is a row of the input whose elements are repeated or left out.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/operators/indices.h"
#include "lib/backend/host_kernels/operators/resize.h"
#include "lib/backend/visit_bytes.h"

namespace pt::host {
namespace {

constexpr int64_t kOutside = -1;    // the extrapolation value instead
constexpr int64_t kWideBytes = 64;  // that lie together: from this many on they are copied as a whole

// Output index o reads the element at offset from[o].
struct MovedDim {
  int64_t to = 0;  // stride in the result
  std::vector<int64_t> from;
};

MovedDim MovedDimOf(const ResizeNode& node, const ResizedMemoryDim& dim) {
  MovedDim moved{dim.to, {}};
  for (int64_t o = 0; o < dim.axis.out; ++o) {
    const double source = SourceOf(node, dim.axis, o);
    if (!dim.changes) {
      moved.from.push_back(o * dim.from);
    } else if (IsOutside(node, dim.axis, source)) {
      moved.from.push_back(kOutside);
    } else {
      moved.from.push_back(NearestOf(node, dim.axis, source) * dim.from);
    }
  }
  return moved;
}

struct NearestMove {
  std::vector<MovedDim> rows;  // innermost first
  int64_t row_count = 1;
  MovedDim along;               // the last dim that changes
  int64_t inner = 1;            // elements behind it that lie together
  std::vector<int64_t> places;  // of the elements of a row, where inner is small; a row without gaps

  int64_t row() const { return static_cast<int64_t>(along.from.size()) * inner; }
  bool together() const { return along.to == inner; }
};

NearestMove ReadMove(const ResizeNode& node, std::span<const ResizedMemoryDim> dims, int64_t bytes) {
  NearestMove move;
  const size_t trailing = TrailingDims(dims, move.inner);
  dims = dims.first(dims.size() - trailing);
  move.along = MovedDimOf(node, dims.back());
  for (size_t d = dims.size() - 1; d-- > 0;) {
    if (dims[d].axis.out == 1 && !dims[d].changes) continue;
    move.rows.push_back(MovedDimOf(node, dims[d]));
    move.row_count *= dims[d].axis.out;
  }
  if (!move.together() || move.inner * bytes >= kWideBytes) return move;
  for (const int64_t from : move.along.from) {
    for (int64_t i = 0; i < move.inner; ++i) move.places.push_back(from == kOutside ? kOutside : from + i);
  }
  return move;
}

template <typename T>
void MoveRow(const NearestMove& move, const T* x, T* y, T outside) {
  if (!move.places.empty()) {
    for (const int64_t place : move.places) *y++ = place == kOutside ? outside : x[place];
    return;
  }
  for (const int64_t from : move.along.from) {
    if (from == kOutside) {
      std::fill_n(y, move.inner, outside);
    } else {
      std::copy_n(x + from, move.inner, y);
    }
    y += move.along.to;
  }
}

template <typename T>
void MoveRows(const NearestMove& move, const T* x, T* y, T outside, int64_t begin, int64_t end) {
  int64_t from_before = kOutside, to_before = 0;
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, from = 0, to = 0;
    for (const MovedDim& dim : move.rows) {
      const auto size = static_cast<int64_t>(dim.from.size());
      const int64_t at = dim.from[static_cast<size_t>(rest % size)];
      from = at == kOutside || from == kOutside ? kOutside : from + at;
      to += rest % size * dim.to;
      rest /= size;
    }
    if (from == kOutside) {
      for (size_t o = 0; o < move.along.from.size(); ++o) {
        std::fill_n(y + to + static_cast<int64_t>(o) * move.along.to, move.inner, outside);
      }
    } else if (from == from_before && move.together()) {
      std::memcpy(y + to, y + to_before, static_cast<size_t>(move.row()) * sizeof(T));
    } else {
      MoveRow(move, x + from, y + to, outside);
    }
    from_before = from;
    to_before = to;
  }
}

template <typename T>
HostRoutine RoutineOf(const ResizeNode& node, std::span<const ResizedMemoryDim> dims, T outside) {
  const auto move = std::make_shared<NearestMove>(ReadMove(node, dims, sizeof(T)));
  HostRoutine routine;
  routine.run = [move, outside](const HostCall& run) -> Status {
    if (move->row() == 0) return {};
    ParallelRanges(
        run.team, move->row_count, static_cast<double>(move->row()) * 0.5 + 10,
        [&](int64_t begin, int64_t end) { MoveRows(*move, run.input<T>(0), run.output<T>(0), outside, begin, end); });
    return {};
  };
  return routine;
}

}  // namespace

Result<HostRoutine> NearestRoutine(const HostSite& site, const ResizeNode& node,
                                   std::span<const ResizedMemoryDim> dims) {
  switch (site.in[0].type()) {
    case DataType::kFloat32:
      return RoutineOf(node, dims, static_cast<float>(node.extrapolation));
    case DataType::kUint8:
      return RoutineOf(node, dims, static_cast<uint8_t>(node.extrapolation));
    case DataType::kInt8:
      return RoutineOf(node, dims, static_cast<int8_t>(node.extrapolation));
    default:
      return VisitBytes(BytesOf(site.in[0].type()),
                        [&]<typename T>() -> Result<HostRoutine> { return RoutineOf(node, dims, T{}); });
  }
}

}  // namespace pt::host
