// In the place of lib/exec/sync.h where lib/exec is compiled for test/schedules: the same names, each operation of
// which is a point where the explored world may let another thread go on. On threads outside the world they are what
// they are in the library.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

#include "test/schedules/world.h"

namespace pt {

// Laid out as std::atomic, so that files that are compiled without the seam agree on what holds one.
template <typename T>
class Atomic {
  using World = schedules::World;

 public:
  Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const {
    World* const world = World::Here();
    if (world == nullptr) return value_.load(order);
    world->Reach({this, false});
    uint64_t bits = 0;
    if (world->LoadBuffered(this, order, bits)) return FromBits(bits);
    return value_.load(order);
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    World* const world = World::Here();
    if (world == nullptr) return value_.store(value, order);
    world->Reach({this, true});
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    if (world->StoreBuffered(this, order, bits, &Put)) return;
    value_.store(value, order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    BeforeUpdate(order);
    return value_.exchange(value, order);
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
    BeforeUpdate(order);
    return value_.fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) {
    BeforeUpdate(order);
    return value_.fetch_sub(value, order);
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order order = std::memory_order_seq_cst) {
    BeforeUpdate(order);
    return value_.compare_exchange_strong(expected, value, order);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, value, order);
  }
  T in_memory() const { return value_.load(std::memory_order_relaxed); }  // no point of its own

 private:
  static_assert(sizeof(T) <= sizeof(uint64_t));
  static T FromBits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  static void Put(void* object, uint64_t bits, std::memory_order order) {
    static_cast<Atomic*>(object)->value_.store(FromBits(bits), order);
  }
  void BeforeUpdate(std::memory_order order) {
    World* const world = World::Here();
    if (world == nullptr) return;
    world->Reach({this, true});
    world->Update(this, order);
  }

  std::atomic<T> value_;
};

class Mutex {
 public:
  void lock() {
    if (schedules::World* const world = schedules::World::Here()) return world->Lock(this);
    outside_.lock();
  }
  void unlock() {
    if (schedules::World* const world = schedules::World::Here()) return world->Unlock(this);
    outside_.unlock();
  }

 private:
  std::mutex outside_;
};

// Of a variable that is thread_local.
template <typename T>
class PerThread {
 public:
  constexpr PerThread(T value) { values_.fill(value); }  // NOLINT: as a T
  PerThread& operator=(T value) {
    values_[Index()] = value;
    return *this;
  }
  operator T() const { return values_[Index()]; }  // NOLINT: as a T

 private:
  static size_t Index() {
    const schedules::World* const world = schedules::World::Here();
    return world == nullptr ? 0 : 1 + world->running();
  }
  std::array<T, 1 + schedules::kMostFibers> values_;
};

// Made in the world alone, by whoever runs there.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::function<void()> body) : fiber_(schedules::World::Here()->Spawn(std::move(body))) {}
  Thread(Thread&& other) noexcept : fiber_(std::exchange(other.fiber_, kNone)) {}
  Thread& operator=(Thread&& other) noexcept {
    fiber_ = std::exchange(other.fiber_, kNone);
    return *this;
  }
  bool joinable() const { return fiber_ != kNone; }
  void join() { schedules::World::Here()->Join(std::exchange(fiber_, kNone)); }
  pthread_t native_handle() const { return pthread_self(); }

 private:
  static constexpr size_t kNone = ~size_t{0};
  size_t fiber_ = kNone;
};

inline void FutexWait(Atomic<uint32_t>& word, uint32_t seen, int64_t until_ns) {
  schedules::World* const world = schedules::World::Here();
  world->BeginSleep(&word);
  if (word.in_memory() == seen) world->SleepOn(&word, until_ns);
}
inline void FutexWake(Atomic<uint32_t>& word, int most) { schedules::World::Here()->WakeFrom(&word, most); }

}  // namespace pt
