#include "lib/plan/check_memory.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "lib/plan/work.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/support/alignment.h"

namespace pt {
namespace {

constexpr uint32_t kNone = StepId::kNone;

// What lies in an arena: an instance or the scratch of a step.
struct Tenant {
  uint32_t instance = kNone;
  uint32_t shared = kNone;       // one of the instances that elided steps make the same bytes, slices, or the whole
  bool slice = false;            // of an elided concatenation
  std::vector<size_t> accesses;  // steps
  uint64_t begin = 0, end = 0;
};

class MemoryChecker {
 public:
  MemoryChecker(const Graph& graph, const Platform& platform, const Plan& plan, const StepOrder& order,
                std::vector<PlanFault>& faults)
      : graph_(graph), platform_(platform), plan_(plan), order_(order), faults_(faults) {}

  void Run() {
    placements_.assign(plan_.instances.size(), nullptr);
    for (const auto& [device, arena] : plan_.memory) CheckArena(device, arena);
    for (size_t i = 0; i < plan_.instances.size(); ++i) CheckPlaced(i);
    if (!faults_.empty()) return;  // what follows relies on one sane placement each
    elided_ = ElidedSteps(graph_, plan_);
    MakeTenants();
    for (size_t i = 0; i < plan_.instances.size(); ++i) CheckStrides(i);
    for (const auto& [device, arena] : plan_.memory) {
      for (const ScratchPlacement& scratch : arena.scratch) scratch_[scratch.step.index()] = &scratch;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) CheckStep(s);
  }

 private:
  void Fault(std::string id, std::string message) { faults_.push_back({std::move(id), std::move(message)}); }

  std::string Name(size_t instance) const {
    const Instance& i = plan_.instances[instance];
    return "instance " + std::to_string(instance) + " (value '" + graph_.value(i.value).name + "' on " +
           platform_.device(i.device).name + ")";
  }

  void CheckArena(DeviceId device, const Arena& arena) {
    const uint64_t memory_bytes = platform_.device(device).memory_bytes;
    if (memory_bytes != 0 && arena.bytes > memory_bytes) {
      Fault("memory_capacity", "the arena on " + platform_.device(device).name + " takes " +
                                   std::to_string(arena.bytes) + " bytes of " + std::to_string(memory_bytes));
    }
    const auto check_range = [&](uint64_t offset, uint64_t bytes, const std::string& what) {
      if (bytes > arena.bytes || offset > arena.bytes - bytes) {
        Fault("memory_bounds", what + " at " + std::to_string(offset) + " + " + std::to_string(bytes) +
                                   " bytes leaves the arena of " + std::to_string(arena.bytes));
      }
    };
    for (const Placement& placement : arena.placements) {
      const size_t i = placement.instance.index();
      check_range(placement.offset, placement.bytes, Name(i));
      if (plan_.instances[i].device != device) Fault("memory_device", Name(i) + " is placed on another device");
      if (placements_[i] != nullptr) Fault("memory_repeated", Name(i) + " is placed twice");
      placements_[i] = &placement;
    }
    std::vector<bool> seen(plan_.steps.size(), false);
    for (const ScratchPlacement& scratch : arena.scratch) {
      const std::string what = "the scratch of step " + std::to_string(scratch.step.value);
      check_range(scratch.offset, scratch.bytes, what);
      if (scratch.offset % kTensorAlignment != 0) Fault("memory_alignment", what + " is not aligned");
      if (seen[scratch.step.index()]) Fault("memory_repeated", what + " is placed twice");
      seen[scratch.step.index()] = true;
      if (platform_.device_of(plan_.steps[scratch.step.index()].unit) != device) {
        Fault("memory_device", what + " is placed on another device");
      }
    }
    CheckScratchSizes(device, arena);
  }

  void CheckScratchSizes(DeviceId device, const Arena& arena) {
    std::map<StepId, uint64_t> bytes;
    for (const ScratchPlacement& scratch : arena.scratch) bytes[scratch.step] = scratch.bytes;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (platform_.device_of(plan_.steps[s].unit) != device) continue;
      const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
      const uint64_t needed = group == nullptr ? 0 : plan_.candidates[group->candidate.index()].scratch_bytes;
      const auto found = bytes.find(StepId(s));
      if ((found == bytes.end() ? 0 : found->second) != needed) {
        Fault("memory_size", "step " + std::to_string(s) + " needs " + std::to_string(needed) + " bytes of scratch");
      }
    }
  }

  void CheckPlaced(size_t i) {
    const Instance& instance = plan_.instances[i];
    const Placement* placement = placements_[i];
    const bool unplaced = IsExternal(graph_, instance) || IsDynamic(graph_, instance);
    if (unplaced && placement != nullptr) {
      Fault("memory_extra", Name(i) + " is bound at run time and must not be placed");
    }
    if (unplaced) return;
    if (placement == nullptr) {
      Fault("memory_missing", Name(i) + " has no placement");
      return;
    }
    TensorLayout layout;
    layout.type = instance.form.storage;
    layout.dims = *graph_.value(instance.value).type.static_dims();
    layout.layout = instance.form.layout;
    layout.strides = placement->strides;
    if (!layout.strides.empty() && layout.strides.size() != layout.dims.size()) {
      Fault("memory_strides", Name(i) + " has strides of another rank");
      return;
    }
    const Result<uint64_t> bytes = layout.strides.empty() ? InstanceBytes(graph_, instance) : BytesOf(layout);
    if (!bytes.ok() || *bytes != placement->bytes) {
      Fault("memory_size", Name(i) + " has a placement of " + std::to_string(placement->bytes) + " bytes, needs " +
                               (bytes.ok() ? std::to_string(*bytes) : bytes.error().message));
    }
    const auto element = static_cast<uint64_t>(std::max<int64_t>(1, BytesOf(instance.form.storage)));
    if (placement->offset % (layout.strides.empty() ? kTensorAlignment : element) != 0) {
      Fault("memory_alignment", Name(i) + " at offset " + std::to_string(placement->offset) + " is not aligned");
    }
  }

  void MakeTenants() {
    tenants_.resize(plan_.instances.size());
    for (size_t i = 0; i < tenants_.size(); ++i) {
      tenants_[i].instance = tenants_[i].shared = static_cast<uint32_t>(i);
      if (placements_[i] == nullptr) continue;
      tenants_[i].begin = placements_[i]->offset;
      tenants_[i].end = placements_[i]->offset + placements_[i]->bytes;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Work& work = plan_.steps[s].work;
      for (InstanceId id : ReadsOf(work)) tenants_[id.index()].accesses.push_back(s);
      for (InstanceId id : WritesOf(work)) tenants_[id.index()].accesses.push_back(s);
      const auto* group = std::get_if<RunGroup>(&work);
      if (group == nullptr || !elided_[s]) continue;
      const bool slices = plan_.candidates[group->candidate.index()].elision == Elision::kSlicesOfOutput;
      const uint32_t whole = SharedWith(group->out[0].value);
      for (InstanceId id : group->in) {
        tenants_[SharedWith(id.value)].shared = whole;
        tenants_[id.index()].slice |= slices;
        if (!slices) break;
      }
    }
  }

  uint32_t SharedWith(uint32_t instance) const {
    while (tenants_[instance].shared != instance) instance = tenants_[instance].shared;
    return instance;
  }

  // Only slices of an elided concatenation may be spread over others' bytes.
  void CheckStrides(size_t i) {
    if (placements_[i] == nullptr || placements_[i]->strides.empty() || tenants_[i].slice) return;
    Fault("memory_strides", Name(i) + " has strides but is not a slice of a concatenation that is elided");
  }

  void CheckStep(size_t s) {
    const Work& work = plan_.steps[s].work;
    const DeviceId device = plan_.memory.empty() ? DeviceId() : DeviceOfWrites(s);
    const auto scratch = scratch_.find(s);
    if (scratch != scratch_.end() && scratch->second->bytes > 0) {
      Tenant tenant;
      tenant.accesses = {s};
      tenant.begin = scratch->second->offset;
      tenant.end = tenant.begin + scratch->second->bytes;
      tenants_.push_back(std::move(tenant));
      MoveIn(platform_.device_of(plan_.steps[s].unit), tenants_.size() - 1, s);
    }
    for (InstanceId id : WritesOf(work)) {
      if (placements_[id.index()] != nullptr && tenants_[id.index()].begin < tenants_[id.index()].end) {
        MoveIn(device, id.index(), s);
      }
    }
    CheckRequiredAliases(s);
  }

  DeviceId DeviceOfWrites(size_t s) const {
    const std::span<const InstanceId> writes = WritesOf(plan_.steps[s].work);
    return writes.empty() ? platform_.device_of(plan_.steps[s].unit) : plan_.instances[writes[0].index()].device;
  }

  void CheckRequiredAliases(size_t s) {
    const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
    if (group == nullptr) return;
    for (const Alias& alias : plan_.candidates[group->candidate.index()].aliases) {
      if (alias.kind != Alias::Kind::kRequired) continue;
      const Placement* in = placements_[group->in[alias.in].index()];
      const Placement* out = placements_[group->out[alias.out].index()];
      if (in == nullptr || out == nullptr || in->offset != out->offset || in->bytes != out->bytes) {
        Fault("alias", "step " + std::to_string(s) + " must write its output " + std::to_string(alias.out) +
                           " over its input " + std::to_string(alias.in));
      }
    }
  }

  enum class Relation { kReplaces, kShares, kOverwrites };

  // How a tenant that step s brings in may treat one that lies there already.
  Relation RelationOf(const Tenant& old, const Tenant& now, size_t s) const {
    if (old.instance == kNone || now.instance == kNone) return Relation::kReplaces;
    if (SharedWith(old.instance) == SharedWith(now.instance)) return Relation::kShares;
    const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
    if (group == nullptr || elided_[s]) return Relation::kReplaces;
    for (const Alias& alias : plan_.candidates[group->candidate.index()].aliases) {
      const bool same = group->in[alias.in].value == old.instance && group->out[alias.out].value == now.instance;
      if (same && old.begin == now.begin && old.end == now.end) return Relation::kOverwrites;
    }
    return Relation::kReplaces;
  }

  // Who lay at an address last is enough to ask: whoever lay there before it was over before it came. Slices of one
  // concatenation come in no order, so those they replace are asked by each of them.
  void MoveIn(DeviceId device, size_t tenant, size_t s) {
    auto& segments = segments_[device];
    const uint64_t begin = tenants_[tenant].begin;
    const uint64_t end = tenants_[tenant].end;
    Split(segments, begin);
    Split(segments, end);
    uint64_t at = begin;
    auto it = segments.lower_bound(begin);
    std::map<uint64_t, Segment> filled;
    while (it != segments.end() && it->first < end) {
      if (it->first > at) filled[at] = {it->first, {tenant}, {}};
      Segment segment{it->second.end, {}, {}};
      for (size_t old : it->second.tenants) {
        if (Stays(old, tenant, s)) {
          segment.tenants.push_back(old);
        } else if (tenants_[tenant].slice) {
          segment.former.push_back(old);
        }
      }
      if (tenants_[tenant].slice || !segment.tenants.empty()) {
        for (size_t former : it->second.former) {
          if (tenants_[tenant].slice) Stays(former, tenant, s);
          segment.former.push_back(former);
        }
      }
      segment.tenants.push_back(tenant);
      at = it->second.end;
      filled[it->first] = std::move(segment);
      it = segments.erase(it);
    }
    if (at < end) filled[at] = {end, {tenant}, {}};
    segments.merge(filled);
    reported_.clear();
  }

  bool Stays(size_t old, size_t tenant, size_t s) {
    const Relation relation = RelationOf(tenants_[old], tenants_[tenant], s);
    if (relation == Relation::kShares) return true;
    for (size_t access : tenants_[old].accesses) {
      if (order_.Before(access, s)) continue;
      if (relation == Relation::kOverwrites && access == s) continue;
      if (std::find(reported_.begin(), reported_.end(), old) == reported_.end()) {
        reported_.push_back(old);
        Fault("memory_overlap", TenantName(tenant, s) + " is written by step " + std::to_string(s) + " over " +
                                    TenantName(old, tenants_[old].accesses.front()) + ", which step " +
                                    std::to_string(access) + " may still use");
      }
      break;
    }
    return false;
  }

  std::string TenantName(size_t tenant, size_t s) const {
    return tenants_[tenant].instance == kNone ? "the scratch of step " + std::to_string(s)
                                              : Name(tenants_[tenant].instance);
  }

  struct Segment {
    uint64_t end = 0;
    std::vector<size_t> tenants;
    std::vector<size_t> former;  // replaced by slices that still lie there
  };

  static void Split(std::map<uint64_t, Segment>& segments, uint64_t at) {
    auto it = segments.upper_bound(at);
    if (it == segments.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    Segment rest = it->second;
    it->second.end = at;
    segments.emplace(at, std::move(rest));
  }

  const Graph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  const StepOrder& order_;
  std::vector<PlanFault>& faults_;
  std::vector<const Placement*> placements_;
  std::map<size_t, const ScratchPlacement*> scratch_;
  std::vector<bool> elided_;
  std::vector<Tenant> tenants_;
  std::map<DeviceId, std::map<uint64_t, Segment>> segments_;
  std::vector<size_t> reported_;
};

}  // namespace

StepOrder::StepOrder(const Platform& platform, const Plan& plan) {
  // A list per resource, and one per unit: what a unit uses in full, its steps go through one at a time.
  lists_ = platform.resources.size() + platform.units.size();
  const size_t steps = plan.steps.size();
  list_.resize(steps);
  position_.resize(steps);
  clocks_.assign(steps * lists_, 0);
  std::vector<std::vector<size_t>> lists(lists_);
  for (size_t s = 0; s < steps; ++s) {
    const Unit& unit = platform.unit(plan.steps[s].unit);
    std::vector<size_t> mine = {platform.resources.size() + plan.steps[s].unit.index()};
    for (const auto& [resource, use] : unit.uses) {
      if (use >= platform.resources[resource.index()].capacity) mine.push_back(resource.index());
    }
    uint32_t* clock = clocks_.data() + s * lists_;
    const auto join = [&](size_t before) {
      const uint32_t* other = clocks_.data() + before * lists_;
      for (size_t l = 0; l < lists_; ++l) clock[l] = std::max(clock[l], other[l]);
      // Every list it stands in has come past it.
      clock[list_[before]] = std::max(clock[list_[before]], position_[before] + 1);
    };
    for (size_t l : mine) {
      if (lists[l].empty()) continue;
      join(lists[l].back());
      clock[l] = std::max(clock[l], static_cast<uint32_t>(lists[l].size()));
    }
    for (StepId before : plan.steps[s].after) join(before.index());
    // Its unit's own list is the one it is asked about by.
    list_[s] = mine.front();
    position_[s] = static_cast<uint32_t>(lists[mine.front()].size());
    for (size_t l : mine) lists[l].push_back(s);
  }
}

void CheckMemory(const Graph& graph, const Platform& platform, const Plan& plan, const StepOrder& order,
                 std::vector<PlanFault>& faults) {
  MemoryChecker(graph, platform, plan, order, faults).Run();
}

}  // namespace pt
