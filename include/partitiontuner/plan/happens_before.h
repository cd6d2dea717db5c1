// HappensBefore: which steps of a plan are over before which others start, whatever the timing: the closure of
// the instruction lists and of `after`, as vector clocks. Steps are asked about by id in constant time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// What a unit's steps go through one at a time: every resource it uses in full, or the unit itself when there is
// none. The lists of lanes are the instruction lists; lanes are numbered from 0. A driver core is not a lane of the
// asynchronous units it launches: launching is over before the work is.
struct Lanes {
  static constexpr uint32_t kNone = StepId::kNone;
  std::vector<std::vector<uint32_t>> of_unit;
  std::vector<uint32_t> driver;  // by unit: the lane of the core that launches its steps; kNone = takes no core's time
  uint32_t count = 0;
};
Lanes LanesOf(const Platform& platform);

class HappensBefore {
 public:
  // Takes steps one after another, in the plan's order.
  HappensBefore(const Lanes& lanes, size_t expected_steps);
  HappensBefore(const Platform& platform, const Plan& plan);

  // Appends the next step; `after` names earlier ones.
  void Append(UnitId unit, std::span<const StepId> after);
  // Like Append, but first drops from `after` what the lists or the other waits imply; sorted ascending.
  void AppendReduced(UnitId unit, std::vector<StepId>& after);

  // a is over before b starts.
  bool Before(StepId a, StepId b) const;
  // How many steps of each lane are over before the step starts.
  std::span<const uint32_t> clock(StepId step) const;
  uint32_t lane_count() const { return lanes_.count; }
  UnitId unit(StepId step) const { return units_[step.index()]; }
  const Lanes& lanes() const { return lanes_; }
  // One lane of the step and its position in that lane's list.
  uint32_t lane(StepId step) const { return first_lane_[step.index()]; }
  uint32_t position(StepId step) const { return position_[step.index()]; }
  size_t size() const { return units_.size(); }

 private:
  void Begin(UnitId unit);
  void Join(StepId predecessor);
  void End();

  Lanes lanes_;
  std::vector<UnitId> units_;
  std::vector<uint32_t> first_lane_, position_;  // by step
  std::vector<uint32_t> clocks_;                 // lane_count per step
  std::vector<uint32_t> positions_;              // by step, one per lane of its unit, at offsets_
  std::vector<size_t> offsets_;
  std::vector<uint32_t> last_;    // by lane: the last step in its list, or none
  std::vector<uint32_t> length_;  // by lane
};

}  // namespace pt
