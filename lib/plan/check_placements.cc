#include <algorithm>
#include <map>

#include "lib/plan/check_memory.h"
#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/support/alignment.h"

namespace pt {
namespace {

class PlacementChecker {
 public:
  PlacementChecker(const CheckedPlan& checked, std::vector<PlanFault>& faults)
      : graph_(checked.graph),
        platform_(checked.platform),
        plan_(checked.plan),
        checked_(checked),
        faults_(faults),
        placements_(plan_.instances.size(), nullptr) {}

  std::vector<const Placement*> Run() {
    for (const auto& [device, arena] : plan_.memory) CheckArena(device, arena);
    for (size_t i = 0; i < plan_.instances.size(); ++i) CheckPlaced(i);
    CheckScratchSizes();
    for (size_t s = 0; s < plan_.steps.size(); ++s) CheckCopied(s);
    return std::move(placements_);
  }

 private:
  void Fault(std::string id, std::string message) { faults_.push_back({std::move(id), std::move(message)}); }
  std::string Name(size_t instance) const { return InstanceLabel(checked_, instance); }

  void CheckArena(DeviceId device, const Arena& arena) {
    const uint64_t memory_bytes = platform_.device(device).memory_bytes;
    if (memory_bytes != 0 && arena.bytes > memory_bytes) {
      Fault("memory_capacity", "the arena on " + platform_.device(device).name + " takes " +
                                   std::to_string(arena.bytes) + " bytes of " + std::to_string(memory_bytes));
    }
    for (const Placement& placement : arena.placements) {
      const size_t i = placement.instance.index();
      CheckRange(arena, placement.offset, placement.bytes, Name(i));
      if (plan_.instances[i].device != device) Fault("memory_device", Name(i) + " is placed on another device");
      if (placements_[i] != nullptr) Fault("memory_repeated", Name(i) + " is placed twice");
      placements_[i] = &placement;
    }
    for (const ScratchPlacement& scratch : arena.scratch) {
      const size_t s = scratch.step.index();
      const std::string what = "the scratch of step " + std::to_string(s);
      CheckRange(arena, scratch.offset, scratch.bytes, what);
      if (scratch.offset % kTensorAlignment != 0) Fault("memory_alignment", what + " is not aligned");
      if (!scratch_bytes_.emplace(s, scratch.bytes).second) Fault("memory_repeated", what + " is placed twice");
      if (platform_.device_of(plan_.steps[s].unit) != device) {
        Fault("memory_device", what + " is placed on another device");
      }
    }
  }

  void CheckRange(const Arena& arena, uint64_t offset, uint64_t bytes, const std::string& what) {
    if (bytes <= arena.bytes && offset <= arena.bytes - bytes) return;
    Fault("memory_bounds", what + " at " + std::to_string(offset) + " + " + std::to_string(bytes) +
                               " bytes leaves the arena of " + std::to_string(arena.bytes));
  }

  void CheckScratchSizes() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
      const uint64_t needed = group == nullptr ? 0 : checked_.candidate(*group).scratch_bytes;
      const auto found = scratch_bytes_.find(s);
      if ((found == scratch_bytes_.end() ? 0 : found->second) != needed) {
        Fault("memory_size", "step " + std::to_string(s) + " needs " + std::to_string(needed) + " bytes of scratch");
      }
    }
  }

  void CheckPlaced(size_t i) {
    const Instance& instance = plan_.instances[i];
    const Placement* placement = placements_[i];
    if (IsLent(graph_, plan_, instance) || HasRunTimeSize(graph_, instance)) {
      if (placement != nullptr) Fault("memory_extra", Name(i) + " is bound at run time and must not be placed");
      return;
    }
    if (placement == nullptr) {
      Fault("memory_missing", Name(i) + " has no placement");
      return;
    }
    const Result<TensorLayout> layout = LayoutOf(instance, *placement);
    if (!layout.ok()) {
      Fault("memory_strides", Name(i) + ": " + layout.error().message);
      return;
    }
    const Result<uint64_t> bytes = BytesOf(*layout);
    if (!bytes.ok() || *bytes != placement->bytes) {
      Fault("memory_size", Name(i) + " has a placement of " + std::to_string(placement->bytes) + " bytes, needs " +
                               (bytes.ok() ? std::to_string(*bytes) : bytes.error().message));
    }
    const auto element = static_cast<uint64_t>(std::max<int64_t>(1, BytesOf(instance.form.storage)));
    if (placement->offset % (placement->strides.empty() ? kTensorAlignment : element) != 0) {
      Fault("memory_alignment", Name(i) + " at offset " + std::to_string(placement->offset) + " is not aligned");
    }
  }

  // Copy engines move bytes, not elements: what lies with gaps between its elements cannot be copied.
  void CheckCopied(size_t s) {
    const auto* copy = std::get_if<Copy>(&plan_.steps[s].work);
    if (copy == nullptr) return;
    for (InstanceId id : {copy->from, copy->to}) {
      const Placement* placement = placements_[id.index()];
      if (placement == nullptr || placement->strides.empty()) continue;
      const Result<uint64_t> dense = InstanceBytes(graph_, plan_.instances[id.index()]);
      if (dense.ok() && *dense == placement->bytes) continue;
      Fault("copy", "step " + std::to_string(s) + " copies " + Name(id.index()) + ", which lies with gaps");
    }
  }

  // With the strides of its place, if it has any.
  Result<TensorLayout> LayoutOf(const Instance& instance, const Placement& placement) const {
    PT_ASSIGN(TensorLayout layout, DenseLayout(instance.form.storage, *graph_.value(instance.value).type.static_dims(),
                                               instance.form.layout));
    if (placement.strides.empty()) return layout;
    if (placement.strides.size() != layout.dims.size()) {
      return MakeError(ErrorCode::kInvalidInput, "plan.strides", "its strides are of another rank");
    }
    layout.strides = placement.strides;
    return layout;
  }

  const Graph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  const CheckedPlan& checked_;
  std::vector<PlanFault>& faults_;
  std::vector<const Placement*> placements_;
  std::map<size_t, uint64_t> scratch_bytes_;  // by step
};

}  // namespace

std::string InstanceLabel(const CheckedPlan& checked, size_t instance) {
  const Instance& i = checked.plan.instances[instance];
  return "instance " + std::to_string(instance) + " (value '" + checked.graph.value(i.value).name + "' on " +
         checked.platform.device(i.device).name + ")";
}

std::vector<const Placement*> CheckPlacements(const CheckedPlan& checked, std::vector<PlanFault>& faults) {
  return PlacementChecker(checked, faults).Run();
}

}  // namespace pt
