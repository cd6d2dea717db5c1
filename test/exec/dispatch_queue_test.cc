// The rule by which runs decide, under a clock that the tests turn.
#include "lib/exec/dispatch_queue.h"

#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <utility>
#include <vector>

namespace pt::dispatch_queue_test {
namespace {

constexpr UnitId kA{0u}, kB{1u}, kC{2u};

// Tasks with their times on A, B and so on; a time below zero: not there.
struct Tasks {
  DispatchTable table;

  uint32_t Add(std::vector<int64_t> ns, std::initializer_list<uint32_t> makers = {}, int64_t rank_ns = 0) {
    DispatchTask task;
    for (uint32_t unit = 0; unit < ns.size(); ++unit) {
      if (ns[unit] >= 0) task.placements.push_back({UnitId(unit), ns[unit], {}});
    }
    task.makers = static_cast<uint32_t>(makers.size());
    task.rank_ns = rank_ns;
    const auto id = static_cast<uint32_t>(table.tasks.size());
    for (uint32_t maker : makers) table.tasks[maker].readers.push_back(id);
    table.tasks.push_back(std::move(task));
    return id;
  }
  DispatchQueue Begin() const {
    DispatchQueue queue(table, 3);
    queue.Begin();
    queue.Decide(0);
    return queue;
  }
};

void FinishAt(DispatchQueue& queue, uint32_t task, int64_t now_ns) {
  queue.Finish(task, now_ns);
  queue.Decide(now_ns);
}

TEST_CASE("DispatchQueue, OfSeveralFreeUnitsTheFastestAndOfEqualOnesTheFirst", "[exec]") {
  Tasks tasks;
  const uint32_t slow_on_a = tasks.Add({30, 20, 25}), equal = tasks.Add({10, 50, 10});
  const DispatchQueue queue = tasks.Begin();
  CHECK(queue.placement(slow_on_a).unit == kB);
  CHECK(queue.placement(equal).unit == kA);
}

TEST_CASE("DispatchQueue, AFreeUnitIsTakenHoweverSlow", "[exec]") {
  Tasks tasks;
  const uint32_t first = tasks.Add({10, 100}), second = tasks.Add({10, 5000});
  const DispatchQueue queue = tasks.Begin();
  CHECK(queue.placement(first).unit == kA);
  CHECK(queue.placement(second).unit == kB);
}

TEST_CASE("DispatchQueue, WhereNoneIsFreeTheOneThatEndsItSoonest", "[exec]") {
  Tasks tasks;
  tasks.Add({100, -1}), tasks.Add({-1, 60});
  const uint32_t behind_b = tasks.Add({50, 50});          // ends at 150 or 110
  const uint32_t behind_a = tasks.Add({50, 50});          // at 150 or 160
  const uint32_t much_faster_on_b = tasks.Add({200, 5});  // at 350 or 115
  const DispatchQueue queue = tasks.Begin();
  CHECK(queue.placement(behind_b).unit == kB);
  CHECK(queue.placement(behind_a).unit == kA);
  CHECK(queue.placement(much_faster_on_b).unit == kB);
}

TEST_CASE("DispatchQueue, OfThoseReadyAtOnceTheLongestThenTheFirst", "[exec]") {
  Tasks tasks;
  const uint32_t root = tasks.Add({10, 1000});
  const uint32_t brief = tasks.Add({20, 30}, {root}, 20), longest = tasks.Add({90, 95}, {root}, 90),
                 other = tasks.Add({20, 30}, {root}, 20);
  DispatchQueue queue = tasks.Begin();
  REQUIRE(queue.Take(kA) == root);
  FinishAt(queue, root, 10);
  CHECK(queue.placement(longest).unit == kA);
  CHECK(queue.placement(brief).unit == kB);
  CHECK(queue.placement(other).unit == kB);  // until 40, and 20 or 30 more
  CHECK(queue.Take(kB) == brief);
  CHECK(queue.Take(kB) == other);
  CHECK(queue.Take(kB) == DispatchQueue::kNoTask);
}

TEST_CASE("DispatchQueue, ATaskWaitsForAllThatItReads", "[exec]") {
  Tasks tasks;
  const uint32_t left = tasks.Add({10, 20}), right = tasks.Add({10, 20});
  const uint32_t join = tasks.Add({5, 50}, {left, right});
  DispatchQueue queue = tasks.Begin();
  REQUIRE(queue.Take(kA) == left);
  REQUIRE(queue.Take(kB) == right);
  FinishAt(queue, left, 10);
  CHECK(queue.Take(kA) == DispatchQueue::kNoTask);
  FinishAt(queue, right, 300);
  CHECK(queue.Take(kA) == join);
  CHECK_FALSE(queue.is_done());
  FinishAt(queue, join, 305);
  CHECK(queue.is_done());
}

TEST_CASE("DispatchQueue, AUnitThatIsLateIsBusyAndOneThatIsEarlyIsFree", "[exec]") {
  Tasks tasks;
  // A should have been over at 10 and is not; B should last until 500 and is over at 40.
  const uint32_t late = tasks.Add({10, -1}), early = tasks.Add({-1, 500}), starter = tasks.Add({-1, -1, 20});
  const uint32_t next = tasks.Add({10, 700, -1}, {starter}), last = tasks.Add({10, 30, -1}, {early});
  DispatchQueue queue = tasks.Begin();
  CHECK(queue.placement(late).unit == kA);
  CHECK(queue.Take(kC) == starter);
  FinishAt(queue, starter, 20);
  CHECK(queue.placement(next).unit == kA);  // both busy: now and 10 more, or 500 and 700 more
  FinishAt(queue, early, 40);
  CHECK(queue.placement(last).unit == kB);  // it is free, though A would end it sooner
}

TEST_CASE("DispatchQueue, AnotherRunBeginsAnew", "[exec]") {
  Tasks tasks;
  const uint32_t root = tasks.Add({10, 20}), reader = tasks.Add({10, 20}, {root});
  DispatchQueue queue = tasks.Begin();
  for (int run = 0; run < 3; ++run) {
    CHECK(queue.Take(kA) == root);
    FinishAt(queue, root, 10);
    CHECK(queue.Take(kA) == reader);
    FinishAt(queue, reader, 20);
    REQUIRE(queue.is_done());
    queue.Begin();
    queue.Decide(0);
  }
}

}  // namespace
}  // namespace pt::dispatch_queue_test
