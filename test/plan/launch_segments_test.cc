#include "partitiontuner/plan/launch_segments.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/support/random.h"
#include "test/testing/planning_world.h"
#include "test/testing/rounds.h"

namespace pt::launch_segments_test {
namespace {

// Steps in a random order on all units of TwoCores() and a second stream, each behind some of the dozen before it.
HappensBefore RandomOrder(const Platform& platform, uint64_t seed) {
  Random random(seed);
  HappensBefore order(LanesOf(platform), 60);
  for (uint32_t s = 0; s < 60; ++s) {
    std::vector<StepId> after;
    for (uint64_t n = random.Below(3); s > 0 && n > 0; --n) {
      after.emplace_back(s - 1 - static_cast<uint32_t>(random.Below(std::min(s, 12U))));
    }
    const uint64_t unit = random.Below(3) == 0 ? random.Below(3) : 3 + random.Below(4);
    order.Append(UnitId(static_cast<uint32_t>(unit)), after);
  }
  return order;
}

// Whether all that comes before the step is in the segment or over before its first step.
bool MayJoin(const HappensBefore& order, const std::vector<StepId>& segment, StepId step) {
  for (uint32_t s = 0; s < step.value; ++s) {
    const StepId earlier(s);
    if (!order.Before(earlier, step) || std::ranges::find(segment, earlier) != segment.end()) continue;
    if (!order.Before(earlier, segment.front())) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("LaunchSegments, GrowWithEveryStepThatWaitsForNothingElse", "[plan]") {
  Platform platform = testing::TwoCores();
  platform.units[3].uses[0].second = 0.5;
  Unit stream = platform.units[3];
  stream.name = "acc:0#1";
  platform.units.push_back(stream);
  size_t found_segments = 0;
  for (uint64_t seed = 1; seed <= testing::Rounds(50); ++seed) {
    INFO("seed " << seed);
    const HappensBefore order = RandomOrder(platform, seed);
    const LaunchSegments found = FindLaunchSegments(platform, order, {false, true});
    found_segments += found.steps.size();
    std::vector<StepId> latest;  // the segment that the next step may join
    for (uint32_t s = 0; s < order.size(); ++s) {
      const StepId step(s);
      const UnitClassId unit_class = platform.unit(order.unit(step)).unit_class;
      if (platform.unit_class(unit_class).on_host()) {
        CHECK(found.of_step[s] == LaunchSegments::kNone);
        continue;
      }
      if (!latest.empty() && MayJoin(order, latest, step)) {
        latest.push_back(step);
        REQUIRE(found.of_step[s] != LaunchSegments::kNone);
        CHECK(found.of_step[s] == found.of_step[latest.front().index()]);
      } else {
        if (latest.size() == 1) CHECK(found.of_step[latest.front().index()] == LaunchSegments::kNone);
        latest = {step};
      }
    }
  }
  CHECK(found_segments > 0);
}

TEST_CASE("LaunchSegments, AreOfOneDeviceThatCapturesAndOneDriver", "[plan]") {
  Platform platform = testing::TwoCores();
  HappensBefore order(LanesOf(platform), 4);
  for (const uint32_t unit : {3U, 3U, 4U, 4U}) order.Append(UnitId(unit), {});
  CHECK(FindLaunchSegments(platform, order, {false, false}).steps.empty());
  CHECK(FindLaunchSegments(platform, order, {false, true}).steps.size() == 1);
  platform.units[4].driver = ResourceId(0u);
  const LaunchSegments parted = FindLaunchSegments(platform, order, {false, true});
  CHECK(parted.of_step == std::vector<uint32_t>{0, 0, 1, 1});
  CHECK(parted.steps[1] == std::vector<StepId>{StepId(2u), StepId(3u)});
}

}  // namespace pt::launch_segments_test
