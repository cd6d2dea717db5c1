#include "test/testing/plan_oracle.h"

#include <algorithm>
#include <set>

#include "partitiontuner/plan/memory_plan.h"

namespace pt::testing {
namespace {

using Bytes = std::vector<bool>;

struct Access {
  std::vector<InstanceId> in, out;
};

Access AccessOf(const Step& step) {
  if (const auto* group = std::get_if<RunGroup>(&step.work)) return {group->in, group->out};
  if (const auto* copy = std::get_if<Copy>(&step.work)) return {{copy->from}, {copy->to}};
  const auto& reorder = std::get<Reorder>(step.work);
  return {{reorder.from}, {reorder.to}};
}

class Oracle {
 public:
  Oracle(const World& world, const Plan& plan) : world_(world), plan_(plan), n_(plan.steps.size()) {
    CloseOrder();
    for (size_t i = 0; i < plan.instances.size(); ++i) bytes_.push_back(BytesOfInstance(InstanceId(i)));
    elided_ = ElidedSteps(world.graph, plan);
  }

  std::string Run() {
    std::vector<size_t> writer(plan_.instances.size(), SIZE_MAX);
    for (size_t s = 0; s < n_; ++s) {
      for (InstanceId out : AccessOf(plan_.steps[s]).out) {
        if (writer[out.index()] != SIZE_MAX) return "written twice";
        writer[out.index()] = s;
      }
    }
    for (size_t r = 0; r < n_; ++r) {
      for (InstanceId in : AccessOf(plan_.steps[r]).in) {
        const size_t w = writer[in.index()];
        if (w == SIZE_MAX) {
          if (IsExternal(world_.graph, plan_.instances[in.index()])) continue;
          return "step " + std::to_string(r) + " reads what nobody writes";
        }
        if (!before_[w][r]) return "step " + std::to_string(r) + " does not wait for step " + std::to_string(w);
        for (size_t x = 0; x < n_; ++x) {
          if (x != w && !before_[x][w] && !before_[r][x] && Destroys(x, in, r)) {
            return "step " + std::to_string(x) + " may destroy instance " + std::to_string(in.value) + " before step " +
                   std::to_string(r) + " reads it";
          }
        }
      }
    }
    return "";
  }

 private:
  void CloseOrder() {
    before_.assign(n_, std::vector<bool>(n_, false));
    for (size_t b = 0; b < n_; ++b) {
      const auto follows = [&](size_t a) {
        if (before_[a][b]) return;
        before_[a][b] = true;
        for (size_t c = 0; c < a; ++c) {
          if (before_[c][a]) before_[c][b] = true;
        }
      };
      for (StepId after : plan_.steps[b].after) follows(after.index());
      for (size_t a = 0; a < b; ++a) {
        const UnitId first = plan_.steps[a].unit;
        const UnitId second = plan_.steps[b].unit;
        if (first == second || UnitsConflict(world_.platform, first, second)) follows(a);
      }
    }
  }

  const Placement* PlacementOf(InstanceId id) const {
    for (const auto& [device, arena] : plan_.memory) {
      for (const Placement& placement : arena.placements) {
        if (placement.instance == id) return &placement;
      }
    }
    return nullptr;
  }

  // The bytes of the arena that hold elements of the instance.
  Bytes BytesOfInstance(InstanceId id) const {
    const Placement* placement = PlacementOf(id);
    if (placement == nullptr) return {};
    const Instance& instance = plan_.instances[id.index()];
    const std::vector<int64_t> dims = *world_.graph.value(instance.value).type.static_dims();
    TensorLayout layout = DenseLayout(instance.form.storage, dims, instance.form.layout).value();
    if (!placement->strides.empty()) layout.strides = placement->strides;
    Bytes bytes(plan_.memory.at(instance.device).bytes, false);
    std::vector<int64_t> index(dims.size(), 0);
    const auto element = static_cast<uint64_t>(BytesOf(instance.form.storage));
    for (bool more = true; more;) {
      const uint64_t at = placement->offset + static_cast<uint64_t>(OffsetOf(layout, index)) * element;
      for (uint64_t b = at; b < at + element; ++b) {
        if (b < bytes.size()) bytes[b] = true;
      }
      more = false;
      for (size_t d = dims.size(); d-- > 0 && !more;) {
        if (++index[d] < dims[d]) {
          more = true;
        } else {
          index[d] = 0;
        }
      }
    }
    return bytes;
  }

  static bool Meet(const Bytes& a, const Bytes& b) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (a[i] && b[i]) return true;
    }
    return false;
  }

  // Step x writes bytes of the instance, other than by what reader r may do in place.
  bool Destroys(size_t x, InstanceId instance, size_t r) const {
    const DeviceId device = plan_.instances[instance.index()].device;
    const auto* group = std::get_if<RunGroup>(&plan_.steps[x].work);
    for (const auto& [arena_device, arena] : plan_.memory) {
      for (const ScratchPlacement& scratch : arena.scratch) {
        if (scratch.step.index() != x || arena_device != device) continue;
        Bytes bytes(arena.bytes, false);
        for (uint64_t b = scratch.offset; b < scratch.offset + scratch.bytes; ++b) bytes[b] = true;
        if (Meet(bytes, bytes_[instance.index()])) return true;
      }
    }
    if (elided_[x]) return false;
    const Access access = AccessOf(plan_.steps[x]);
    for (size_t o = 0; o < access.out.size(); ++o) {
      const InstanceId out = access.out[o];
      if (plan_.instances[out.index()].device != device || !Meet(bytes_[out.index()], bytes_[instance.index()]))
        continue;
      bool in_place = false;
      if (x == r && group != nullptr) {
        for (const Alias& alias : plan_.candidates[group->candidate.index()].aliases) {
          in_place |= alias.out == o && group->in[alias.in] == instance &&
                      PlacementOf(instance)->offset == PlacementOf(out)->offset;
        }
      }
      if (!in_place) return true;
    }
    return false;
  }

  const World& world_;
  const Plan& plan_;
  size_t n_;
  std::vector<std::vector<bool>> before_;
  std::vector<Bytes> bytes_;
  std::vector<bool> elided_;
};

}  // namespace

std::string FirstBrokenRead(const World& world, const Plan& plan) { return Oracle(world, plan).Run(); }

}  // namespace pt::testing
