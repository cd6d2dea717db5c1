// CostsOver: a cost model that passes every question on to another one; what changes some answers derives from it.
#pragma once

#include "partitiontuner/cost/cost_model.h"

namespace pt {

class CostsOver : public CostModel {
 public:
  // `under` must outlive the model.
  explicit CostsOver(const CostModel& under) : under_(under) {}

  StepCost OfStep(const Candidate& candidate) const override { return under_.OfStep(candidate); }
  ClassCost OfClass(UnitClassId unit_class) const override { return under_.OfClass(unit_class); }
  PairCost OfPair(UnitClassId from, UnitClassId to) const override { return under_.OfPair(from, to); }
  DeviceCost OfDevice(DeviceId device) const override { return under_.OfDevice(device); }
  Estimate Copy(uint64_t bytes, LinkId link) const override { return under_.Copy(bytes, link); }
  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override {
    return under_.Reorder(dims, from, to, unit_class);
  }
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
