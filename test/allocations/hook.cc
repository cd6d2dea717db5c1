#include "test/allocations/hook.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> made{0}, alive{0};
std::atomic<int64_t> bytes_made{0}, bytes_alive{0}, most_bytes_alive{0};
std::atomic<int64_t> until_refused{0};  // 0: none will be; 1: the next one

void Count(void* data) {
  const auto bytes = static_cast<int64_t>(malloc_usable_size(data));
  made.fetch_add(1, std::memory_order_relaxed);
  alive.fetch_add(1, std::memory_order_relaxed);
  bytes_made.fetch_add(bytes, std::memory_order_relaxed);
  const int64_t now = bytes_alive.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  for (int64_t most = most_bytes_alive.load(std::memory_order_relaxed);
       most < now && !most_bytes_alive.compare_exchange_weak(most, now, std::memory_order_relaxed);) {
  }
}

void* Allocate(std::size_t bytes, std::size_t alignment) {
  if (until_refused.load(std::memory_order_relaxed) > 0 && until_refused.fetch_sub(1) == 1) throw std::bad_alloc();
  void* data = alignment > alignof(std::max_align_t)
                   ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                   : std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  Count(data);
  return data;
}

void Free(void* data) noexcept {
  if (data == nullptr) return;
  alive.fetch_sub(1, std::memory_order_relaxed);
  bytes_alive.fetch_sub(static_cast<int64_t>(malloc_usable_size(data)), std::memory_order_relaxed);
  std::free(data);
}

}  // namespace

// Not inlined: the compiler would see std::free on what an operator new it did not inline has returned, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return Allocate(bytes, 0); }
void* operator new[](std::size_t bytes) { return Allocate(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* data) noexcept { Free(data); }
[[gnu::noinline]] void operator delete[](void* data) noexcept { Free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { Free(data); }
[[gnu::noinline]] void operator delete[](void* data, std::size_t) noexcept { Free(data); }
[[gnu::noinline]] void operator delete(void* data, std::align_val_t) noexcept { Free(data); }
[[gnu::noinline]] void operator delete[](void* data, std::align_val_t) noexcept { Free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { Free(data); }
void operator delete[](void* data, std::size_t, std::align_val_t) noexcept { Free(data); }

namespace pt::testing {

int64_t AllocationsMade() { return made.load(); }
int64_t AllocationsAlive() { return alive.load(); }

AllocatedBytes::AllocatedBytes() : made_(bytes_made.load()), alive_(bytes_alive.load()) {
  most_bytes_alive.store(alive_);
}
int64_t AllocatedBytes::all() const { return bytes_made.load() - made_; }
int64_t AllocatedBytes::most_at_once() const { return most_bytes_alive.load() - alive_; }

RefusedAllocation::RefusedAllocation(int64_t n) { until_refused.store(n); }
RefusedAllocation::~RefusedAllocation() { until_refused.store(0); }
bool RefusedAllocation::happened() const { return until_refused.load() <= 0; }

}  // namespace pt::testing
