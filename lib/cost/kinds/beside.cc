// Beside: what work on host cores takes longer while other cores are busy. What MakeBesideCosts asks for.
#include "lib/cost/candidate_classes.h"
#include "lib/cost/kinds/run.h"
#include "partitiontuner/cost/beside_costs.h"
#include "partitiontuner/cost/cost_keys.h"

namespace pt {
namespace {

void ListBeside(const CostScope& scope, const CostKind& kind, std::string_view hogs, KeyList& keys) {
  for (const auto& [of, index] : HeaviestOfClasses(scope.graph, scope.platform, scope.candidates)) {
    NeededKey beside = RunOf(scope, index);
    beside.kind = &kind;
    beside.key = BesideKey(std::move(beside.key), hogs);
    keys.Add(std::move(beside));
  }
}

void ListMemory(const CostScope& scope, KeyList& keys) { ListBeside(scope, kBesideMemoryKind, kMemoryHogs, keys); }

std::string LabelMemory(const CostScope& scope, const NeededKey& needed) {
  return RunLabel(scope, needed) + " beside others that use memory";
}

void ListCompute(const CostScope& scope, KeyList& keys) { ListBeside(scope, kBesideComputeKind, kComputeHogs, keys); }

std::string LabelCompute(const CostScope& scope, const NeededKey& needed) {
  return RunLabel(scope, needed) + " beside others that compute";
}

void ListHogs(const CostScope& scope, KeyList& keys) {
  for (const auto& [of, index] : HeaviestOfClasses(scope.graph, scope.platform, scope.candidates)) {
    const UnitClassId unit_class = scope.candidates[index].unit_class;
    keys.Add({MemoryHogKey(scope.platform, unit_class), &kMemoryHogKind, ClassWork{unit_class}, 0, kHogBytes});
  }
}

std::string LabelHogs(const CostScope& scope, const NeededKey& needed) {
  return "memory beside " + ClassName(scope, needed.of_class().unit_class);
}

}  // namespace

const CostKind kBesideMemoryKind = {"beside", CostKind::Turn::kLast, false, ListMemory, LabelMemory, nullptr};
const CostKind kBesideComputeKind = {"beside", CostKind::Turn::kLast, false, ListCompute, LabelCompute, nullptr};
const CostKind kMemoryHogKind = {"hog", CostKind::Turn::kLast, false, ListHogs, LabelHogs, nullptr};

MeasurementKey BesideKey(MeasurementKey alone, std::string_view hogs) {
  return WithField(std::move(alone), "beside " + std::string(hogs));
}

MeasurementKey MemoryHogKey(const Platform& platform, UnitClassId unit_class) {
  return MakeKey("memory hog | " + UnitClassFields(platform, unit_class));
}

}  // namespace pt
