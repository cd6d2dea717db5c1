// Bytes are proven range by range: every step that writes moves its results into the bytes they lie in, and whoever
// lies there must be over, with three exceptions. A step that is elided as a view moves into the bytes of its own
// input. A step that is elided as a concatenation moves into the bytes that its inputs were written to, one writer a
// byte. And a kernel may write over an input where its library says so.
#include <algorithm>
#include <map>

#include "lib/plan/check_memory.h"
#include "lib/plan/work.h"

namespace pt {
namespace {

constexpr uint32_t kNone = StepId::kNone;

// What lies in an arena: an instance or the scratch of a step.
struct Tenant {
  uint32_t instance = kNone;
  // The instance whose bytes these are: that of the root of a chain of views, or of the whole that a slice belongs to.
  // It is written by one kernel, or as a concatenation by the kernels of its slices, which do not meet.
  uint32_t home = kNone;
  bool slice = false;            // of an elided concatenation
  std::vector<size_t> accesses;  // steps
  uint64_t begin = 0, end = 0;
};

class SharingChecker {
 public:
  SharingChecker(const CheckedPlan& checked, const std::vector<const Placement*>& placements, const StepOrder& order,
                 std::vector<PlanFault>& faults)
      : checked_(checked),
        plan_(checked.plan),
        placements_(placements),
        order_(order),
        faults_(faults),
        elisions_(ElisionsOf(checked, placements)) {}

  void Run() {
    MakeTenants();
    FindHomes();
    for (size_t i = 0; i < plan_.instances.size(); ++i) CheckStrides(i);
    for (const auto& [device, arena] : plan_.memory) {
      for (const ScratchPlacement& scratch : arena.scratch) scratch_[scratch.step.index()] = &scratch;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) CheckStep(s);
  }

 private:
  void Fault(std::string id, std::string message) { faults_.push_back({std::move(id), std::move(message)}); }
  std::string Name(size_t instance) const { return InstanceLabel(checked_, instance); }

  void MakeTenants() {
    tenants_.resize(plan_.instances.size());
    for (size_t i = 0; i < tenants_.size(); ++i) {
      tenants_[i].instance = tenants_[i].home = static_cast<uint32_t>(i);
      if (placements_[i] == nullptr) continue;
      tenants_[i].begin = placements_[i]->offset;
      tenants_[i].end = placements_[i]->offset + placements_[i]->bytes;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (InstanceId id : ReadsOf(plan_.steps[s].work)) tenants_[id.index()].accesses.push_back(s);
      for (InstanceId id : WritesOf(plan_.steps[s].work)) tenants_[id.index()].accesses.push_back(s);
    }
  }

  // In list order the home of a view's input is known before the view's. Slices are dense nowhere, so none is viewed;
  // the whole they belong to is written by its concatenation alone, so it is its own home.
  void FindHomes() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (elisions_[s] == Elided::kNo) continue;
      const auto& group = std::get<RunGroup>(plan_.steps[s].work);
      const uint32_t out = group.out[0].value;
      if (elisions_[s] == Elided::kView) {
        tenants_[out].home = tenants_[group.in[0].index()].home;
        continue;
      }
      for (InstanceId in : group.in) {
        Tenant& slice = tenants_[in.index()];
        if (slice.slice) {
          Fault("slice_shared", Name(in.index()) + " is laid into instance " + std::to_string(slice.home) +
                                    " and by step " + std::to_string(s) + " into instance " + std::to_string(out) +
                                    "; a slice belongs to one result");
        }
        slice.slice = true;
        slice.home = out;
      }
    }
  }

  // Only slices of an elided concatenation may be spread over others' bytes.
  void CheckStrides(size_t i) {
    if (placements_[i] == nullptr || placements_[i]->strides.empty() || tenants_[i].slice) return;
    Fault("memory_strides", Name(i) + " has strides but is not a slice of a concatenation that is elided");
  }

  void CheckStep(size_t s) {
    const auto scratch = scratch_.find(s);
    if (scratch != scratch_.end() && scratch->second->bytes > 0) {
      Tenant tenant;
      tenant.accesses = {s};
      tenant.begin = scratch->second->offset;
      tenant.end = tenant.begin + scratch->second->bytes;
      tenants_.push_back(std::move(tenant));
      MoveIn(checked_.platform.device_of(plan_.steps[s].unit), tenants_.size() - 1, s);
    }
    for (InstanceId id : WritesOf(plan_.steps[s].work)) {
      if (placements_[id.index()] != nullptr && tenants_[id.index()].begin < tenants_[id.index()].end) {
        MoveIn(plan_.instances[id.index()].device, id.index(), s);
      }
    }
    CheckRequiredAliases(s);
  }

  void CheckRequiredAliases(size_t s) {
    const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
    if (group == nullptr) return;
    for (const Alias& alias : checked_.candidate(*group).aliases) {
      if (alias.kind != Alias::Kind::kRequired || SamePlace(group->in[alias.in], group->out[alias.out])) continue;
      Fault("alias", "step " + std::to_string(s) + " must write its output " + std::to_string(alias.out) +
                         " over its input " + std::to_string(alias.in));
    }
  }

  // The same bytes, each without gaps.
  bool SamePlace(InstanceId a, InstanceId b) const {
    const Placement* first = placements_[a.index()];
    const Placement* second = placements_[b.index()];
    return first != nullptr && second != nullptr && first->offset == second->offset && first->bytes == second->bytes &&
           first->strides.empty() && second->strides.empty();
  }

  enum class Relation { kReplaces, kShares, kOverwrites };

  // How a tenant that step s brings in may treat one that lies there already.
  Relation RelationOf(const Tenant& old, const Tenant& now, size_t s) const {
    if (old.instance == kNone || now.instance == kNone) return Relation::kReplaces;
    if (old.home == now.home) return Relation::kShares;
    const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
    if (group == nullptr || elisions_[s] != Elided::kNo) return Relation::kReplaces;
    for (const Alias& alias : checked_.candidate(*group).aliases) {
      const InstanceId in = group->in[alias.in];
      const InstanceId out = group->out[alias.out];
      if (in.value == old.instance && out.value == now.instance && SamePlace(in, out)) return Relation::kOverwrites;
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

  const CheckedPlan& checked_;
  const Plan& plan_;
  const std::vector<const Placement*>& placements_;
  const StepOrder& order_;
  std::vector<PlanFault>& faults_;
  std::vector<Elided> elisions_;
  std::vector<Tenant> tenants_;
  std::map<size_t, const ScratchPlacement*> scratch_;
  std::map<DeviceId, std::map<uint64_t, Segment>> segments_;
  std::vector<size_t> reported_;
};

}  // namespace

void CheckSharing(const CheckedPlan& checked, const std::vector<const Placement*>& placements, const StepOrder& order,
                  std::vector<PlanFault>& faults) {
  SharingChecker(checked, placements, order, faults).Run();
}

}  // namespace pt
