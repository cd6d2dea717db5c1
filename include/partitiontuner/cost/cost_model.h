// CostModel: what planners ask about time, answered as data: a new kind of cost is a field of an answer, and a model
// that changes some answers changes fields. Knows nothing of how times were found; every estimate says where it comes
// from. Implementations: profiled costs, tables for tests, and models over others (CostsOver).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/cost/estimate.h"

namespace pt {

// What a step of a candidate costs.
struct StepCost {
  // One execution as a step of its unit class, warm, alone, its inputs made on the same unit. Empty: it cannot run, or
  // that is not known, and planners must not use it.
  std::optional<Estimate> run;
  // What the step costs its unit besides its work (dispatch, team start, launch). Libraries differ in what a launch
  // takes; where nothing is known of that, ClassCost::overhead.
  Estimate overhead;
  // The share of what its units share with others that it asks while it runs: above 0, at most 1. 0 where it is not
  // known (see DemandOf).
  double demand = 0;
  // The share of PairCost::fetch, >= 0, that it feels: kernels compute while lines are on their way. 1 where it is not
  // known.
  double fetch_share = 1;
};

// What any step on a unit of a class costs.
struct ClassCost {
  Estimate overhead;  // in addition to the work: of copies and reorders
};

// What a step takes longer because bytes of its inputs lie in another unit's caches.
struct FetchCost {
  // Bytes and nanoseconds, ascending: straight lines from nothing for no bytes through them; the last holds for
  // whatever is larger, since caches hold no more than that.
  std::vector<std::pair<uint64_t, int64_t>> points;
  double ns_per_byte = 0;  // where there are no points: times the bytes, rounded up
  Provenance provenance = Provenance::kTable;

  int64_t ns(uint64_t bytes) const;
};

// What a step on a unit of one class costs because of a step before it on another unit, of that class or another.
struct PairCost {
  Estimate wait;  // from the end of that step to the start of one that waits for it
  // What it takes longer than StepCost::run or Reorder() says because of what that step has made, if it does nothing
  // meanwhile. Nothing where either is not a host class.
  FetchCost fetch;
};

// What launching steps that were recorded as one takes the core that launches them.
struct SegmentLaunch {
  double fixed_ns = 0, step_ns = 0;  // of every launch, and for each step in it
  Provenance provenance = Provenance::kTable;

  int64_t ns(size_t steps) const;  // of a launch of that many, rounded
};

// What a device's work costs beside its kernels.
struct DeviceCost {
  std::optional<SegmentLaunch> segments;  // of a device that captures; empty where that is not known
  // Time of the core that launches: to let its stream wait for the event of another one. 0 where it is not known.
  int64_t stream_wait_ns = 0;
};

// Thread-safe; const calls never block for long.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // Candidates are told apart by what they hold, wherever they lie.
  virtual StepCost OfStep(const Candidate& candidate) const = 0;
  virtual ClassCost OfClass(UnitClassId unit_class) const = 0;
  virtual PairCost OfPair(UnitClassId from, UnitClassId to) const = 0;
  virtual DeviceCost OfDevice(DeviceId /*device*/) const { return {}; }
  // Moving that many bytes over the link.
  virtual Estimate Copy(uint64_t bytes, LinkId link) const = 0;
  // Changing form on a unit of that class. Empty = no library can.
  virtual std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                          UnitClassId unit_class) const = 0;
  // Factor (>= 1) on a candidate's time while others run beside it; 1 = no slowdown.
  virtual double Slowdown(const Candidate& /*candidate*/, std::span<const Candidate* const> /*beside*/) const {
    return 1;
  }
  // False when Slowdown is 1 whatever runs beside: timelines are then one pass over the steps.
  virtual bool has_slowdown() const { return false; }
};

// What a simulated device's file says of launches; nothing on other devices.
int64_t SimulatedLaunchNs(const Platform& platform, DeviceId device);  // of a step by itself
DeviceCost SimulatedDeviceCost(const Platform& platform, DeviceId device);

// As the cost says; else, on simulated devices, what the platform's file says; else 0: as much as the unit uses.
double DemandOf(const Graph& graph, const Platform& platform, const Candidate& candidate, const StepCost& cost);

}  // namespace pt
