// World: the threads of a test as fibers on one thread of the system, which go on one at a time, as a Strategy picks at
// every point where they could meet: operations of atomics, locks, sleeping and waking. What runs is the library's own
// code, compiled with test/schedules/seam in front of lib/exec.
//
//   World world;
//   world.RunAlone([&] { thing = std::make_unique<Thing>(); });   // threads that it makes live in the world
//   Outcome outcome = Explore(world, strategy, {caller, other_caller});
//
// An execution ends when no thread can go on: the callers have returned, and what else there is sleeps. Then the state
// is the one that it began with, whatever the order was, so the next execution is another order of the same.
//
// Orders of memory: between the points all is sequentially consistent, but for two things. What a thread stores with
// less than memory_order_seq_cst waits in its buffer for as long as the strategy wants (BufferStores; as on x86). And
// accesses of Plain variables must be ordered by what the operations' orders say, or the world has failed (as a race
// detector). Loads that are late by themselves, as on ARM, are not explored.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace pt::schedules {

inline constexpr size_t kMostFibers = 16;
// What a strategy picks from: fibers, the buffers of their stores (fiber + kMostFibers), the passing of time.
inline constexpr size_t kTime = 2 * kMostFibers;

// What a fiber does next: null is nothing that others can see.
struct Op {
  const void* object = nullptr;
  bool writes = false;
  bool locks = false;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // One of `ready` (a bit each); `ops` by fiber. `current`: who was picked last and can go on, or kNobody.
  static constexpr size_t kNobody = ~size_t{0};
  virtual size_t Pick(uint64_t ready, size_t current, std::span<const Op> ops) = 0;
  virtual void Woke(size_t /*by*/, size_t /*whom*/) {}
  virtual void Unlocked(size_t /*by*/, const void* /*mutex*/) {}
  // Between executions. False when all that the strategy wants has been run.
  virtual bool Next() = 0;
};

class World {
 public:
  World();
  ~World();  // a world that has failed leaks its fibers
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Of the calling thread, while it runs a fiber; else null.
  static World* Here();
  size_t running() const { return running_; }

  // Runs the body, and whatever it makes, until nobody can go on, in one order. Must end.
  void RunAlone(std::function<void()> body);
  // One execution. Empty, or what went wrong.
  std::string Run(std::span<const std::function<void()>> callers, Strategy& strategy);

  void BufferStores(bool buffer) { buffers_ = buffer; }
  // Once in each execution from now on, time passes by so much, whenever the strategy wants. 0: it stands still.
  void LetTimePass(int64_t ns) { time_step_ns_ = ns; }
  static int64_t NowNs();
  // The execution has gone wrong; the first word counts. It goes on.
  void Fail(std::string what);
  // Points of all executions.
  uint64_t points() const { return points_; }
  // A point where anybody may go on, for bodies of tests.
  void Pause() { Reach({}); }

  // For the seam. Reach: the calling fiber is about to do this, and comes back when it may.
  void Reach(const Op& op);
  bool LoadBuffered(const void* object, std::memory_order order, uint64_t& bits);
  using Put = void (*)(void* object, uint64_t bits, std::memory_order order);
  bool StoreBuffered(void* object, std::memory_order order, uint64_t bits, Put put);
  void Update(const void* object, std::memory_order order);
  void Lock(const void* mutex);
  void Unlock(const void* mutex);
  void BeginSleep(const void* word);
  void SleepOn(const void* word, int64_t until_ns);
  void WakeFrom(const void* word, int most);
  size_t Spawn(std::function<void()> body);
  void Join(size_t fiber);
  void Doze();

  // For Plain.
  void Access(const void* plain, bool writes);
  void Forget(const void* plain) { plains_.erase(plain); }

 private:
  using Clock = std::array<uint32_t, kMostFibers>;
  struct Fiber;
  struct Store {
    void* object;
    uint64_t bits;
    Put put;
    std::memory_order order;
    Clock clock;
  };
  struct Object {
    Clock released{};  // what an acquiring load learns
    bool locked = false;
  };
  struct Plain {
    size_t writer = kMostFibers;
    uint32_t written = 0;
    Clock reads{};
  };
  static constexpr size_t kMostPoints = 200'000;  // of one execution: more is a loop without end

  uint64_t Ready() const;
  bool CanGoOn(const Fiber& fiber) const;
  void SwitchToNext();
  void SwitchTo(size_t fiber);
  static void Prepare(Fiber& fiber);
  void Enter();
  static void EnterFiber();
  void ClearHistory();
  std::string Stuck(size_t callers_left) const;
  void Flush(size_t fiber);
  void Drain();
  void Acquire(const Object& object, std::memory_order order);
  Fiber& Own() { return *fibers_[running_]; }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::unique_ptr<Fiber> outside_;
  size_t running_ = kMostFibers;
  size_t last_ = Strategy::kNobody;
  Strategy* strategy_ = nullptr;
  std::array<Op, kMostFibers> ops_;
  std::unordered_map<const void*, Object> objects_;
  std::unordered_map<const void*, Plain> plains_;
  std::vector<std::pair<size_t, Op>> trace_;
  bool buffers_ = false;
  int64_t now_ns_ = 1'000'000, time_step_ns_ = 0;
  bool time_passes_ = false;
  uint64_t points_ = 0, writes_ = 0;
  std::string failure_;
  bool broken_ = false;
};

// A variable that is no atomic: whoever reads or writes it must come after whoever wrote it, by what has been
// synchronised, and whoever writes it after whoever read it.
template <typename T>
class Plain {
 public:
  Plain() = default;
  explicit Plain(T value) : value_(value) {}
  ~Plain() {
    if (World* const world = World::Here()) world->Forget(this);
  }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  T read() const {
    if (World* const world = World::Here()) world->Access(this, false);
    return value_;
  }
  void write(T value) {
    if (World* const world = World::Here()) world->Access(this, true);
    value_ = value;
  }

 private:
  T value_{};
};

}  // namespace pt::schedules
