#include "partitiontuner/plan/happens_before.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace pt {

Lanes LanesOf(const Platform& platform) {
  Lanes lanes;
  std::vector<uint32_t> of_resource(platform.resources.size(), Lanes::kNone);
  for (const Unit& unit : platform.units) {
    std::vector<uint32_t> mine;
    for (const auto& [resource, use] : unit.uses) {
      if (resource.index() >= of_resource.size()) continue;
      if (use < platform.resources[resource.index()].capacity) continue;
      uint32_t& lane = of_resource[resource.index()];
      if (lane == Lanes::kNone) lane = lanes.count++;
      mine.push_back(lane);
    }
    if (mine.empty()) mine.push_back(lanes.count++);
    std::sort(mine.begin(), mine.end());
    lanes.of_unit.push_back(std::move(mine));
  }
  for (const Unit& unit : platform.units) {
    const bool known = unit.driver && unit.driver->index() < of_resource.size();
    lanes.driver.push_back(known ? of_resource[unit.driver->index()] : Lanes::kNone);
  }
  return lanes;
}

HappensBefore::HappensBefore(const Lanes& lanes, size_t expected_steps)
    : lanes_(lanes), last_(lanes.count, StepId::kNone), length_(lanes.count, 0) {
  clocks_.reserve(expected_steps * lanes.count);
}

HappensBefore::HappensBefore(const Platform& platform, const Plan& plan)
    : HappensBefore(LanesOf(platform), plan.steps.size()) {
  for (const Step& step : plan.steps) Append(step.unit, step.after);
}

void HappensBefore::Begin(UnitId unit) {
  units_.push_back(unit);
  clocks_.resize(clocks_.size() + lanes_.count, 0);
  for (uint32_t lane : lanes_.of_unit[unit.index()]) {
    if (last_[lane] != StepId::kNone) Join(StepId(last_[lane]));
  }
}

void HappensBefore::Join(StepId predecessor) {
  uint32_t* mine = clocks_.data() + (units_.size() - 1) * lanes_.count;
  const uint32_t* theirs = clocks_.data() + predecessor.index() * lanes_.count;
  for (uint32_t lane = 0; lane < lanes_.count; ++lane) mine[lane] = std::max(mine[lane], theirs[lane]);
  const std::vector<uint32_t>& lanes = lanes_.of_unit[units_[predecessor.index()].index()];
  for (size_t i = 0; i < lanes.size(); ++i) {
    const uint32_t over = positions_[offsets_[predecessor.index()] + i] + 1;
    mine[lanes[i]] = std::max(mine[lanes[i]], over);
  }
}

void HappensBefore::End() {
  const uint32_t step = static_cast<uint32_t>(units_.size() - 1);
  const std::vector<uint32_t>& lanes = lanes_.of_unit[units_.back().index()];
  offsets_.push_back(positions_.size());
  first_lane_.push_back(lanes.front());
  position_.push_back(length_[lanes.front()]);
  for (uint32_t lane : lanes) {
    positions_.push_back(length_[lane]++);
    last_[lane] = step;
  }
}

void HappensBefore::Append(UnitId unit, std::span<const StepId> after) {
  Begin(unit);
  for (StepId predecessor : after) {
    assert(predecessor.index() + 1 < units_.size());
    Join(predecessor);
  }
  End();
}

void HappensBefore::AppendReduced(UnitId unit, std::vector<StepId>& after) {
  Begin(unit);
  const StepId step(units_.size() - 1);
  std::sort(after.begin(), after.end(), std::greater<>());
  std::vector<StepId> kept;
  // From the latest down: an earlier step never implies a later one.
  for (StepId predecessor : after) {
    if (Before(predecessor, step)) continue;
    Join(predecessor);
    kept.push_back(predecessor);
  }
  std::reverse(kept.begin(), kept.end());
  after = std::move(kept);
  End();
}

bool HappensBefore::Before(StepId a, StepId b) const {
  return clocks_[b.index() * lanes_.count + first_lane_[a.index()]] > position_[a.index()];
}

std::span<const uint32_t> HappensBefore::clock(StepId step) const {
  return {clocks_.data() + step.index() * lanes_.count, lanes_.count};
}

}  // namespace pt
