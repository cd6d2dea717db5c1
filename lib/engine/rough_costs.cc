#include "lib/engine/rough_costs.h"

#include <algorithm>
#include <cmath>

#include "partitiontuner/cost/costs_over.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

constexpr double kFlopsPerNs = 20;      // of one core, by a tuned library
constexpr double kPlainFlopsPerNs = 1;  // by the reference library
constexpr double kBytesPerNs = 5;
constexpr double kStepNs = 2'000;
constexpr double kCoresGain = 0.9;  // of another core on a wide unit

class RoughCosts : public CostModel {
 public:
  RoughCosts(const Graph& graph, const Machine& machine)
      : graph_(graph), machine_(machine), platform_(machine.platform()) {}

  StepCost OfStep(const Candidate& candidate) const override {
    StepCost cost;
    cost.run = RunOf(candidate);
    cost.overhead = OfClass(candidate.unit_class).overhead;
    return cost;
  }
  ClassCost OfClass(UnitClassId) const override { return {Rough(0)}; }
  PairCost OfPair(UnitClassId, UnitClassId) const override { return {Rough(0), {{}, 0, Provenance::kEstimated}}; }

  Estimate Copy(uint64_t bytes, LinkId link) const override {
    const Link& l = platform_.link(link);
    const double rate = l.bytes_per_ns > 0 ? l.bytes_per_ns : 1.0;
    return Rough(static_cast<double>(l.latency_ns) + static_cast<double>(bytes) / rate);
  }

  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override {
    const DeviceId device = platform_.unit_class(unit_class).device;
    const bool possible =
        std::any_of(machine_.libraries().begin(), machine_.libraries().end(), [&](const auto& library) {
          return library->Serves(platform_, device) && library->CanReorder(platform_, unit_class, dims, from, to);
        });
    if (!possible) return std::nullopt;
    const std::optional<int64_t> count = CheckedProduct(dims);
    return Rough(static_cast<double>(count.value_or(0)) * 2 * BitsOf(from.storage) / 8.0 / kBytesPerNs);
  }

 private:
  std::optional<Estimate> RunOf(const Candidate& candidate) const {
    const Library* library = machine_.library(candidate.library);
    if (library == nullptr) return std::nullopt;
    if (const std::optional<int64_t> known = library->KnownCost(graph_, platform_, candidate)) {
      return Estimate{*known, 0, Provenance::kSimulated, 0};
    }
    const UnitClass& unit_class = platform_.unit_class(candidate.unit_class);
    if (!unit_class.on_host()) return std::nullopt;
    const WorkSize work = WorkSizeOf(graph_, candidate.nodes);
    const double rate = candidate.library == "reference" ? kPlainFlopsPerNs : kFlopsPerNs;
    const double ns = work.flops / rate + work.bytes / kBytesPerNs;
    return Rough(ns / (1 + kCoresGain * (unit_class.cores - 1)));
  }

  static Estimate Rough(double ns) {
    return {static_cast<int64_t>(std::llround(kStepNs + std::min(ns, 1e15))), 0, Provenance::kEstimated, 1.0};
  }

  const Graph& graph_;
  const Machine& machine_;
  const Platform& platform_;
};

class CoveringCosts : public CostsOver {
 public:
  CoveringCosts(const CostModel& costs, const Graph& graph, const Machine& machine)
      : CostsOver(costs), rough_(graph, machine) {}

  StepCost OfStep(const Candidate& candidate) const override {
    StepCost cost = under().OfStep(candidate);
    if (!cost.run && candidate.nodes.size() == 1) cost.run = Dear(rough_.OfStep(candidate).run);
    return cost;
  }
  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override {
    const std::optional<Estimate> known = under().Reorder(dims, from, to, unit_class);
    return known ? known : Dear(rough_.Reorder(dims, from, to, unit_class));
  }

 private:
  static std::optional<Estimate> Dear(std::optional<Estimate> estimate) {
    constexpr int64_t kTimes = 8;
    if (estimate && estimate->provenance == Provenance::kEstimated) estimate->ns *= kTimes;
    return estimate;
  }

  const RoughCosts rough_;
};

}  // namespace

std::unique_ptr<CostModel> MakeCoveringCosts(const CostModel& costs, const Graph& graph, const Machine& machine) {
  return std::make_unique<CoveringCosts>(costs, graph, machine);
}

std::unique_ptr<CostModel> MakeRoughCosts(const Graph& graph, const Machine& machine) {
  return std::make_unique<RoughCosts>(graph, machine);
}

}  // namespace pt
