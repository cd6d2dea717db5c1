// TableCosts: a CostModel from explicit numbers, for planner tests and workload files.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "partitiontuner/cost/cost_model.h"

namespace pt {

// What was not set: a group cannot run, a reorder is impossible; copies, overheads, waits and fetching cost nothing.
class TableCosts : public CostModel {
 public:
  // Time of a group (its node set) on a unit class, whatever library and variant.
  void SetRun(std::vector<NodeId> nodes, UnitClassId unit_class, int64_t ns);
  // Time of one library's variant of a group on a unit class; wins over SetRun.
  void SetRunOf(const Candidate& candidate, int64_t ns);
  // ns = latency + bytes / bytes_per_ns for one link.
  void SetLink(LinkId link, int64_t latency_ns, double bytes_per_ns);
  void SetReorder(std::function<std::optional<int64_t>(std::span<const int64_t> dims, const Form& from, const Form& to,
                                                       UnitClassId)>
                      ns);
  void SetOverhead(UnitClassId unit_class, int64_t ns);
  void SetDevice(DeviceId device, const DeviceCost& cost);
  void SetWait(UnitClassId from, UnitClassId to, int64_t ns);
  void SetFetch(UnitClassId from, UnitClassId to, double ns_per_byte);
  // Changes what is said of a step of the candidate, behind what was set otherwise and all changes given before.
  void ChangeSteps(std::function<void(const Candidate&, StepCost&)> change);
  void SetSlowdown(std::function<double(const Candidate&, std::span<const Candidate* const> beside)> factor);

  StepCost OfStep(const Candidate& candidate) const override;
  ClassCost OfClass(UnitClassId unit_class) const override;
  PairCost OfPair(UnitClassId from, UnitClassId to) const override;
  DeviceCost OfDevice(DeviceId device) const override;
  Estimate Copy(uint64_t bytes, LinkId link) const override;
  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override;
  double Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const override;
  bool has_slowdown() const override { return slowdown_ != nullptr; }

 private:
  std::optional<Estimate> RunOf(const Candidate& candidate) const;

  std::map<std::pair<std::vector<NodeId>, UnitClassId>, int64_t> run_;
  std::map<std::tuple<std::vector<NodeId>, UnitClassId, std::string, std::string>, int64_t> run_of_;
  std::map<LinkId, std::pair<int64_t, double>> links_;
  std::function<std::optional<int64_t>(std::span<const int64_t>, const Form&, const Form&, UnitClassId)> reorder_;
  std::map<UnitClassId, int64_t> overhead_;
  std::map<DeviceId, DeviceCost> devices_;
  std::map<std::pair<UnitClassId, UnitClassId>, int64_t> wait_;
  std::map<std::pair<UnitClassId, UnitClassId>, double> fetch_;  // nanoseconds per byte
  std::vector<std::function<void(const Candidate&, StepCost&)>> changes_;
  std::function<double(const Candidate&, std::span<const Candidate* const>)> slowdown_;
};

}  // namespace pt
