#include "lib/cost/kinds/run.h"

#include <algorithm>

#include "lib/cost/round_ns.h"
#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt {
namespace {

// A step whose sizes are not known until run time, or that runs a graph, cannot be measured. What it does is counted by
// sizes that are assumed where they are not known, and by rates of a core as they usually are: a large one gets a wide
// unit, plain loops come last, and few steps are better than many.
constexpr Estimate kUnsizedStep{20'000, 0, Provenance::kEstimated, 1.0};
constexpr int64_t kPlainFactor = 2;
constexpr double kUsualFlopsPerNs = 20, kUsualBytesPerNs = 5, kUsualGainOfCore = 0.9;
constexpr double kUsualStartOfCoreNs = 3'000;  // of each beside the first: a small step is left to one

Estimate UnsizedStep(const CostScope& scope, const Candidate& candidate) {
  const Graph& graph = scope.graph;
  const bool nests = std::ranges::any_of(candidate.nodes, [&](NodeId id) { return !graph.node(id).subgraphs.empty(); });
  const WorkSize work = WorkSizeOf(graph, candidate.nodes);
  const double one_core = work.flops / kUsualFlopsPerNs + work.bytes / kUsualBytesPerNs;
  const uint32_t others = std::max<uint32_t>(scope.platform.unit_class(candidate.unit_class).cores, 1) - 1;
  Estimate estimate = kUnsizedStep;
  estimate.ns += RoundNs(std::min(one_core, 1e15) / (1 + kUsualGainOfCore * others) + kUsualStartOfCoreNs * others);
  if (!nests && candidate.library == "reference") estimate.ns *= kPlainFactor;
  return estimate;
}

void List(const CostScope& scope, KeyList& keys) {
  for (size_t i = 0; i < scope.candidates.size(); ++i) {
    if (IsSizedBeforeRun(scope.graph, scope.candidates[i].nodes)) keys.Add(RunOf(scope, i));
  }
}

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading) {}

  void OfStep(const Candidate& candidate, StepCost& cost) const override { cost.run = Run(candidate); }

 private:
  std::optional<Estimate> Run(const Candidate& candidate) const {
    const CostScope& scope = reading_.scope();
    if (!scope.library_versions.contains(candidate.library)) return std::nullopt;
    const bool simulated = IsSimulatedClass(scope.platform, candidate.unit_class);
    if (!IsSizedBeforeRun(scope.graph, candidate.nodes)) {
      return simulated ? std::nullopt : std::optional(UnsizedStep(scope, candidate));
    }
    if (reading_.is_empty()) return std::nullopt;  // keys of a huge graph take long
    const MeasurementKey key = scope.KeyOf(candidate);
    if (simulated) return reading_.TimeOf(key);  // as its file says, or not at all
    return reading_.TimeOrPrediction(key, [&]() -> WorkToPredict {
      const UnitClass& unit_class = scope.platform.unit_class(candidate.unit_class);
      const WorkSize work = WorkSizeOf(scope.graph, candidate.nodes);
      return {scope.graph.node(HeaviestNode(scope.graph, candidate.nodes)).op,
              scope.platform.device(unit_class.device).fingerprint,
              unit_class.name,
              candidate.library,
              std::string(MathModeName(candidate.math)),
              FeaturesOf(key.text, work.flops, work.bytes)};
    });
  }

  const CostReading& reading_;
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kRunKind = {"", CostKind::Turn::kByWeight, true, List, RunLabel, Read};

NeededKey RunOf(const CostScope& scope, size_t index) {
  const Candidate& candidate = scope.candidates[index];
  const WorkSize work = WorkSizeOf(scope.graph, candidate.nodes);
  return {scope.KeyOf(candidate), &kRunKind, CandidateWork{index, candidate.unit_class}, work.flops, work.bytes};
}

std::string RunLabel(const CostScope& scope, const NeededKey& needed) {
  const Candidate& candidate = scope.candidates[needed.candidate().candidate];
  std::string label = NodeLabel(scope.graph, HeaviestNode(scope.graph, candidate.nodes));
  if (candidate.nodes.size() > 1) label += " and " + std::to_string(candidate.nodes.size() - 1) + " more";
  return candidate.variant.empty() ? label : label + ", " + candidate.variant;
}

}  // namespace pt
