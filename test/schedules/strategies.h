// Which orders of a world's points are run.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "test/schedules/world.h"

namespace pt::schedules {

// All of them, but for those that differ only in the order of operations that cannot tell it: dynamic partial order
// reduction with source sets and sleep sets (Abdulla and others, 2014). Neither buffered stores nor time that passes.
class EveryOrder : public Strategy {
 public:
  size_t Pick(uint64_t ready, size_t current, std::span<const Op> ops) override;
  void Woke(size_t by, size_t whom) override;
  void Unlocked(size_t by, const void* mutex) override;
  bool Next() override;
  // Executions that nothing but the reduction's own needs would have run.
  uint64_t redundant() const { return redundant_; }

 private:
  using Clock = std::array<uint32_t, kMostFibers>;
  // A point: what could go on there, what has, and what has to.
  struct Point {
    uint32_t ready = 0, wanted = 0, done = 0, asleep = 0;
    size_t picked = 0;
    std::array<Op, kMostFibers> ops{};
  };
  // By object: the last write, and everybody's last read since; positions count from 1.
  struct Object {
    size_t writer = 0;
    uint32_t written = 0;
    Clock reads{};
    Clock write_clock{}, read_clock{};
  };
  struct Event {
    size_t fiber;
    Clock clock;  // with the event itself
  };
  size_t First(uint32_t ready, size_t current, uint32_t asleep) const;
  uint32_t StillAsleep(const Point& before) const;
  void FindRaces(size_t fiber, const Op& op, const Clock& clock);
  void WantBefore(uint32_t position);
  void Note(size_t fiber, const Op& op);

  std::vector<Point> points_;
  size_t at_ = 0;        // in this execution
  bool pruned_ = false;  // the rest of this execution has been seen
  uint64_t redundant_ = 0;
  std::array<Clock, kMostFibers> clocks_{};
  std::vector<Event> events_;
  std::unordered_map<const void*, Object> objects_;
};

// Everybody goes on until he waits, then the next in turn; but up to `delays` times in an execution somebody is passed
// over, at every point in turn (delay-bounded scheduling, Emmi and others, 2011).
class FewDelays : public Strategy {
 public:
  explicit FewDelays(uint32_t delays) : delays_(delays) {}
  size_t Pick(uint64_t ready, size_t current, std::span<const Op> ops) override;
  bool Next() override;

 private:
  struct Point {
    uint32_t passed_over = 0, most = 0;
  };
  uint32_t delays_;
  uint32_t left_ = delays_;
  size_t at_ = 0, last_ = 0;
  std::vector<Point> points_;
};

// Drawn orders: everybody has a priority, the highest that can goes on, and at `changes` points, drawn over
// a length that is drawn as well, the one that would go on falls below all others (PCT, Burckhardt and others, 2010).
class DrawnOrders : public Strategy {
 public:
  DrawnOrders(uint64_t first_seed, uint64_t count, uint32_t changes);
  size_t Pick(uint64_t ready, size_t current, std::span<const Op> ops) override;
  bool Next() override;
  uint64_t seed() const { return seed_; }

 private:
  void Draw();

  uint64_t seed_, end_;
  uint32_t changes_;
  uint64_t at_ = 0;
  int64_t lowest_ = 0;
  std::mt19937_64 random_;
  std::array<int64_t, kTime + 1> priorities_{};
  std::vector<uint64_t> change_at_;
};

struct Outcome {
  uint64_t executions = 0;
  std::string failure;   // of the last one; empty: all went well
  bool finished = true;  // the strategy had all that it wanted
};

// Runs the callers again and again, `most` times at most, until the strategy is through or something goes wrong.
// `before_each` is called outside the world.
Outcome Explore(
    World& world, Strategy& strategy, const std::vector<std::function<void()>>& callers, uint64_t most,
    const std::function<void()>& before_each = [] {});

}  // namespace pt::schedules
