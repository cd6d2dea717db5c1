#include "lib/backend/reference/elements.h"

#include <utility>

namespace pt::reference {
namespace {

const void* At(const void* data, int64_t element, size_t bytes) {
  return static_cast<const std::byte*>(data) + element * static_cast<int64_t>(bytes);
}
void* At(void* data, int64_t element, size_t bytes) {
  return static_cast<std::byte*>(data) + element * static_cast<int64_t>(bytes);
}

}  // namespace

ReferenceRoutine MapRoutine(int64_t count, Map map) {
  return {[count, map = std::move(map)](const TensorCall& run) -> Status {
    ParallelRanges(run.team, count, map.work, [&](int64_t begin, int64_t end) {
      map.stretch(At(run.in<void>(0), begin, map.in_bytes), At(run.out<void>(), begin, map.out_bytes), end - begin);
    });
    return {};
  }};
}

void RunPairs(const Broadcast<2>& broadcast, const Pairing& pairing, Team* team, const void* a, const void* b,
              void* out) {
  broadcast.ForEachRow(team, pairing.work, [&](int64_t at, const auto& from, const auto& steps, int64_t n) {
    pairing.row(At(a, from[0], pairing.in_bytes), steps[0], At(b, from[1], pairing.in_bytes), steps[1],
                At(out, at, pairing.out_bytes), n);
  });
}

ReferenceRoutine PairRoutine(Broadcast<2> broadcast, Pairing pairing) {
  return {[broadcast = std::move(broadcast), pairing](const TensorCall& run) -> Status {
    RunPairs(broadcast, pairing, run.team, run.in<void>(0), run.in<void>(1), run.out<void>());
    return {};
  }};
}

}  // namespace pt::reference
