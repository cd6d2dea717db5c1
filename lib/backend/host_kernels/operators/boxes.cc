#include "lib/backend/host_kernels/operators/boxes.h"

#include <algorithm>

namespace pt::host {
namespace {

struct Move {
  uint32_t in = 0, out = 0;
  int64_t from = 0, to = 0;  // in bytes
  StridedCopy copy;
};

constexpr std::array<uint64_t, 2> kNothing = {};

}  // namespace

HostRoutine RoutineOf(const HostSite& site, const std::vector<Box>& boxes) {
  const int64_t bytes = BytesOf(site.in[0].type());
  std::vector<Move> moves;
  for (const Box& box : boxes) {
    const bool empty = std::any_of(box.dims.begin(), box.dims.end(), [](const CopyDim& dim) { return dim.size == 0; });
    if (empty || !site.out[box.out].present()) continue;
    moves.push_back({box.in, box.out, box.from * bytes, box.to * bytes, StridedCopy(box.dims, bytes)});
  }
  return {[moves = std::move(moves)](const HostCall& run) -> Status {
    for (const Move& move : moves) {
      const void* zeros = kNothing.data();
      const auto* from = static_cast<const std::byte*>(move.in == kZeros ? zeros : run.in[move.in]) + move.from;
      std::byte* to = run.output<std::byte>(move.out) + move.to;
      if (from != to) move.copy.Run(from, to, run.team);
    }
    return {};
  }};
}

}  // namespace pt::host
