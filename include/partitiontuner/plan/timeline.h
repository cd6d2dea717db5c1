// Timeline: the simulated run of a plan under a cost model.
#pragma once

#include <optional>
#include <span>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/plan/happens_before.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct JobList;
struct LaunchSegments;

struct Timeline {
  std::vector<int64_t> start_ns, end_ns;  // by step
  int64_t makespan_ns = 0;
  std::vector<StepId> critical_path;  // from a step that starts at 0 to one that ends last
  std::vector<int64_t> busy_ns;       // by unit
};

// Runs each resource's list in order (lists as in happens_before.h); a step starts when its unit's resources are free
// and its waits (with PairCost::wait across units) are over, and takes longer by PairCost::fetch of what other units
// made. Launches of asynchronous steps occupy their driver core, until all that the step waits for is over except what
// the device itself waits for: steps on its own units. For each that nothing else implies, a launch takes that
// core DeviceCost::stream_wait_ns longer; a launch of a segment does not. Steps that form a segment (launch_segments.h)
// of a device whose launches of segments are known (DeviceCost::segments) have one launch, where the first of them
// stands: all of them wait for it and for what the first waits for, and what comes next on the first one's unit waits
// for all of them. Concurrent steps slow each other as CostModel::Slowdown says, and by as much as what they ask of a
// resource exceeds its capacity: their demand (DemandOf), or what their units use where that is not known. Steps that
// memory placement elides cost their overhead only. Errors: a step whose cost is unknown (kPartial).
Result<Timeline> SimulatePlan(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel& costs);

// The same plan with these times for its steps (by step, nanoseconds, all that belongs to them), hand_over_ns from the
// end of a step on the host to the start of one on another unit of the host that waits for it, and no time for other
// waits.
Timeline ReplayPlan(const Platform& platform, const Plan& plan, std::span<const int64_t> step_ns,
                    int64_t hand_over_ns = 0);

// By device. Where launches of segments are not known, steps are launched one by one.
using DeviceCosts = std::vector<DeviceCost>;
// As costs say; launches of segments of devices that capture alone.
DeviceCosts DeviceCostsOf(const Platform& platform, const CostModel& costs);
// What SimulatePlan launches as one.
SegmentReport SegmentsOf(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel& costs);

// For steps whose times are known already: nothing slows them down or holds them up any more.
const CostModel& KnownTimes();

// A step as far as time is concerned.
struct TimedStep {
  UnitId unit;
  int64_t overhead_ns = 0, run_ns = 0;
  double demand = 0;    // of what its unit shares with others (capacity 1); 0: as much as the unit uses
  bool elided = false;  // nothing is launched for it
  const Candidate* candidate = nullptr;   // null for copies and reorders: they neither slow down nor are slowed
  uint32_t first_wait = 0, end_wait = 0;  // its part of `waits`: the steps whose end it waits for
};

// StepCost::fetch_share of what moves data and does nothing else.
inline constexpr double kWholeFetch = 1;

// The rules of SimulatePlan over timed steps; made once for many simulations. Thread-safe.
class Simulator {
 public:
  Simulator(const Platform& platform, const CostModel& costs);
  Simulator(const Platform& platform, const CostModel& costs, DeviceCosts device_costs);
  // waits: indices of earlier steps.
  Timeline Run(std::span<const TimedStep> steps, std::span<const uint32_t> waits) const;
  // The same for whom a makespan above limit_ns is of no use: empty where it is certain to be above, as soon as that
  // is seen. A timeline that is given may still be longer.
  std::optional<Timeline> RunWithin(std::span<const TimedStep> steps, std::span<const uint32_t> waits,
                                    int64_t limit_ns) const;

  // As steps occupy them one by one. Units of devices whose steps form segments have no driver here, since only a whole
  // plan says when they are launched: what is placed by these lanes with launches that take no time ends no later than
  // Run says.
  const Lanes& lanes() const { return lanes_; }
  bool launches_segments(DeviceId device) const { return device_cost(device).segments.has_value(); }
  const DeviceCost& device_cost(DeviceId device) const { return device_costs_[device.index()]; }
  int64_t wait_ns(UnitId from, UnitId to) const;
  // What a step on `to` takes longer because `bytes` of what it reads were made on `from`, by its
  // StepCost::fetch_share.
  int64_t fetch_ns(UnitId from, UnitId to, uint64_t bytes, double share) const;
  // A step on `to` that waits for one on `from` is launched at once: the device sees to the order.
  bool waits_on_device(UnitId from, UnitId to) const;
  // Steps may change the times of steps before them, by running beside them or as parts of one segment, or launches
  // depend on what they wait for: Run alone says what a plan takes.
  bool needs_whole_plans() const { return has_contention_ || has_segments_ || has_stream_waits_; }

 private:
  LaunchSegments FindSegments(std::span<const TimedStep> steps, std::span<const uint32_t> waits) const;
  // Launches as long as they are with their stream waits.
  std::vector<TimedStep> WithStreamWaits(std::span<const TimedStep> steps, std::span<const uint32_t> waits) const;
  Timeline TimelineOf(std::span<const TimedStep> steps, const JobList& jobs) const;
  size_t PairOf(UnitId from, UnitId to) const {
    return platform_.unit(from).unit_class.index() * platform_.unit_classes.size() +
           platform_.unit(to).unit_class.index();
  }

  const Platform& platform_;
  const CostModel& costs_;
  Lanes lanes_;
  std::vector<uint32_t> drivers_;  // by unit: as LanesOf says
  DeviceCosts device_costs_;
  std::vector<int64_t> waits_ns_;   // by class of the earlier and class of the later step
  std::vector<FetchCost> fetches_;  // likewise
  bool has_contention_ = false, has_segments_ = false, has_stream_waits_ = false;
};

// How many bytes the instance takes when dense.
Result<uint64_t> InstanceBytes(const Graph& graph, const Instance& instance);

}  // namespace pt
