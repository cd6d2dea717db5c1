#include "lib/profiler/hogs.h"

#include <array>

#include "lib/profiler/host_caches.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr size_t kPiece = size_t{64} << 10;  // between two looks at whether it is over
constexpr size_t kPage = 4096;

}  // namespace

Hogs::Hogs(Kind kind, uint32_t count, const Platform& platform) : kind_(kind), count_(count), computed_(count, 0) {
  if (kind != Kind::kMemory || count == 0) return;
  const size_t pieces = static_cast<size_t>(InMemoryDistance(platform)) / kPiece / count + 1;
  bytes_of_each_ = pieces * kPiece;
  memory_.resize(bytes_of_each_ * count, std::byte{1});
}

UnitRunner::Others Hogs::AsOthers() {
  at_work_ = 0;
  bytes_ = 0;
  return [this](uint32_t number, const std::function<bool()>& over) {
    if (number >= count_) return;
    kind_ == Kind::kMemory ? UseMemory(number, over) : Compute(number, over);
  };
}

void Hogs::AwaitAll() const {
  while (at_work_.load(std::memory_order_acquire) < count_) {
  }
}

void Hogs::UseMemory(uint32_t number, const std::function<bool()>& over) {
  std::byte* own = memory_.data() + number * bytes_of_each_;
  for (size_t at = 0; at < bytes_of_each_; at += kPage) own[at] ^= std::byte{1};  // pages are there, and mapped
  at_work_.fetch_add(1, std::memory_order_release);
  for (size_t at = 0; !over(); at = (at + kPiece) % bytes_of_each_) {
    for (size_t line = at; line < at + kPiece; line += kCacheLineBytes) own[line] ^= std::byte{1};
    bytes_.fetch_add(2 * kPiece, std::memory_order_relaxed);
  }
}

void Hogs::Compute(uint32_t number, const std::function<bool()>& over) {
  constexpr int kRounds = 1'000;
  // This many chains keep all units of a core busy, as in the reference work.
  using Vector = float __attribute__((vector_size(16)));
  std::array<Vector, 12> chains{};
  at_work_.fetch_add(1, std::memory_order_release);
  while (!over()) {
    for (int round = 0; round < kRounds; ++round) {
      for (Vector& chain : chains) chain = chain * 0.5F + 0.25F;
    }
  }
  for (const Vector& chain : chains) computed_[number] += chain[0];
}

}  // namespace pt
