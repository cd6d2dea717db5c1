// CostsOver: a cost model that passes every question on to another one; what changes some answers derives from it.
#pragma once

#include "partitiontuner/cost/cost_model.h"

namespace pt {

class CostsOver : public CostModel {
 public:
  // `under` must outlive the model.
  explicit CostsOver(const CostModel& under) : under_(under) {}

  std::optional<Estimate> Run(const Candidate& candidate) const override { return under_.Run(candidate); }
  Estimate Copy(uint64_t bytes, LinkId link) const override { return under_.Copy(bytes, link); }
  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override {
    return under_.Reorder(dims, from, to, unit_class);
  }
  Estimate StepOverhead(UnitClassId unit_class) const override { return under_.StepOverhead(unit_class); }
  Estimate StepOverheadOf(const Candidate& candidate) const override { return under_.StepOverheadOf(candidate); }
  std::optional<SegmentLaunch> LaunchOfSegment(DeviceId device) const override {
    return under_.LaunchOfSegment(device);
  }
  double Demand(const Candidate& candidate) const override { return under_.Demand(candidate); }
  Estimate WaitCost(UnitClassId from, UnitClassId to) const override { return under_.WaitCost(from, to); }
  Estimate FetchCost(UnitClassId from, UnitClassId to, uint64_t bytes) const override {
    return under_.FetchCost(from, to, bytes);
  }
  double FetchShare(const Candidate& candidate) const override { return under_.FetchShare(candidate); }
  double Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const override {
    return under_.Slowdown(candidate, beside);
  }
  bool has_slowdown() const override { return under_.has_slowdown(); }

 protected:
  const CostModel& under() const { return under_; }

 private:
  const CostModel& under_;
};

}  // namespace pt
