// CostModel: answers planners' questions about time. Knows nothing of how times were found; every
// answer says where it comes from. Implementations: profiled costs, tables for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "partitiontuner/candidate/candidate.h"

namespace pt {

enum class Provenance : uint8_t {
  kMeasured,   // exactly this was measured on this machine
  kSimulated,  // comes from a simulated device's file
  kEstimated,  // predicted from other measurements of the family
  kTable,      // given (tests, workload files)
};
std::string_view ProvenanceName(Provenance provenance);  // "measured"
std::optional<Provenance> ProvenanceFromName(std::string_view name);

struct Estimate {
  int64_t ns = 0;         // kEstimated: an upper one, that 80 % of such times keep within
  int64_t spread_ns = 0;  // half width of the 95 % confidence interval of the median
  Provenance provenance = Provenance::kTable;
  double relative_error = 0;        // expected |predicted/true - 1|; 0 for exact knowledge
  int64_t reference_ns = 0;         // of the reference work when this was measured; 0 where it is not known
  int64_t low_ns = 0, high_ns = 0;  // kEstimated by laws: the central 80 % of such times lie between; else 0
};

// What launching steps that were recorded as one takes the core that launches them.
struct SegmentLaunch {
  double fixed_ns = 0, step_ns = 0;  // of every launch, and for each step in it
  Provenance provenance = Provenance::kTable;

  int64_t ns(size_t steps) const;  // of a launch of so many, rounded
};

// Thread-safe; const calls never block for long.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // One execution of the candidate as a step of its unit class, warm, alone, its inputs made on the same unit. Empty =
  // cannot run or unknown: planners must not use it.
  virtual std::optional<Estimate> Run(const Candidate& candidate) const = 0;
  // Moving that many bytes over the link.
  virtual Estimate Copy(uint64_t bytes, LinkId link) const = 0;
  // Changing form on a unit of that class. Empty = no library can.
  virtual std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                          UnitClassId unit_class) const = 0;
  // What a step costs its unit besides its work (dispatch, team start, launch).
  virtual Estimate StepOverhead(UnitClassId unit_class) const = 0;
  // The same of a step of the candidate, where that is known: libraries differ in what a launch takes. The default: of
  // any step there.
  virtual Estimate StepOverheadOf(const Candidate& candidate) const { return StepOverhead(candidate.unit_class); }
  // Launching a segment of a device that captures. Empty, which is the default, where that is not known.
  virtual std::optional<SegmentLaunch> LaunchOfSegment(DeviceId /*device*/) const { return std::nullopt; }
  // From the end of a step on `from` to the start of a waiting step on another unit of class `to`.
  virtual Estimate WaitCost(UnitClassId from, UnitClassId to) const = 0;
  // What a step on a unit of class `to` takes longer than Run() or Reorder() says because `bytes` of its inputs were
  // made on another unit, of class `from`, and lie in the caches there, if it does nothing meanwhile. 0 where either is
  // no host class.
  virtual Estimate FetchCost(UnitClassId from, UnitClassId to, uint64_t bytes) const = 0;
  // The share of FetchCost, >= 0, that a step of the candidate feels: kernels compute while lines are on their way.
  // 1 where it is not known.
  virtual double FetchShare(const Candidate& candidate) const = 0;
  // The share of what its units share with others that a step of the candidate asks while it runs: above 0, at most 1
  // (DemandOf). 0 where this model does not know it, which is the default.
  virtual double Demand(const Candidate& /*candidate*/) const { return 0; }
  // Factor (>= 1) on a candidate's time while others run beside it; 1 = no slowdown.
  virtual double Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const = 0;
  // False when Slowdown is 1 whatever runs beside: timelines are then one pass over the steps.
  virtual bool has_slowdown() const { return true; }
};

// What a simulated device's file says of launches; 0 on other devices.
int64_t SimulatedLaunchNs(const Platform& platform, DeviceId device);  // of a step by itself
SegmentLaunch SimulatedSegmentLaunch(const Platform& platform, DeviceId device);

// As costs say; else, on simulated devices, what the platform's file says; else 0: as much as the unit uses.
double DemandOf(const Graph& graph, const Platform& platform, const Candidate& candidate, const CostModel& costs);

}  // namespace pt
