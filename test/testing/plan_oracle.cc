#include "test/testing/plan_oracle.h"

#include <algorithm>

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
    for (size_t i = 0; i < plan.instances.size(); ++i) {
      addresses_.push_back(AddressesOf(InstanceId(i)));
      bytes_.push_back(BytesOfInstance(InstanceId(i)));
    }
    left_out_ = ElidedSteps(world.graph, plan);
  }

  std::string Run() {
    for (size_t s = 0; s < n_; ++s) {
      if (std::string why = BrokenKernel(s); !why.empty()) return "step " + std::to_string(s) + " " + why;
    }
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
          if (IsCallersInput(plan_.instances[in.index()])) continue;
          return "step " + std::to_string(r) + " reads what nobody writes";
        }
        if (!happens_before_[w][r]) return "step " + std::to_string(r) + " does not wait for step " + std::to_string(w);
        for (size_t x = 0; x < n_; ++x) {
          if (x != w && !happens_before_[x][w] && !happens_before_[r][x] && Destroys(x, in, r)) {
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
    happens_before_.assign(n_, std::vector<bool>(n_, false));
    for (size_t b = 0; b < n_; ++b) {
      const auto follows = [&](size_t a) {
        if (happens_before_[a][b]) return;
        happens_before_[a][b] = true;
        for (size_t c = 0; c < a; ++c) {
          if (happens_before_[c][a]) happens_before_[c][b] = true;
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

  bool IsCallersInput(const Instance& instance) const {
    return !world_.graph.value(instance.value).producer.valid() && instance.device.index() == 0 &&
           instance.form.layout.is_row_major();
  }

  const Placement* PlacementOf(InstanceId id) const {
    for (const auto& [device, arena] : plan_.memory) {
      for (const Placement& placement : arena.placements) {
        if (placement.instance == id) return &placement;
      }
    }
    return nullptr;
  }

  // Where in the arena each element lies, by its row-major index; empty without a place.
  std::vector<uint64_t> AddressesOf(InstanceId id) const {
    const Placement* placement = PlacementOf(id);
    if (placement == nullptr) return {};
    const Instance& instance = plan_.instances[id.index()];
    const std::vector<int64_t> dims = *world_.graph.value(instance.value).type.static_dims();
    TensorLayout layout = DenseLayout(instance.form.storage, dims, instance.form.layout).value();
    if (!placement->strides.empty()) layout.strides = placement->strides;
    std::vector<uint64_t> addresses;
    std::vector<int64_t> index(dims.size(), 0);
    const auto element = static_cast<uint64_t>(BytesOf(instance.form.storage));
    for (bool more = true; more;) {
      addresses.push_back(placement->offset + static_cast<uint64_t>(OffsetOf(layout, index)) * element);
      more = false;
      for (size_t d = dims.size(); d-- > 0 && !more;) {
        if (++index[d] < dims[d]) {
          more = true;
        } else {
          index[d] = 0;
        }
      }
    }
    return addresses;
  }

  // The bytes of the arena that hold elements of the instance.
  Bytes BytesOfInstance(InstanceId id) const {
    if (addresses_[id.index()].empty()) return {};
    const Instance& instance = plan_.instances[id.index()];
    Bytes bytes(plan_.memory.at(instance.device).bytes, false);
    const auto element = static_cast<uint64_t>(BytesOf(instance.form.storage));
    for (uint64_t at : addresses_[id.index()]) {
      for (uint64_t b = at; b < std::min(at + element, bytes.size()); ++b) bytes[b] = true;
    }
    return bytes;
  }

  // What the world offers by that name; the plan's own copy says nothing.
  const Candidate* Offered(const RunGroup& group) const {
    const Candidate& named = plan_.candidates[group.candidate.index()];
    const auto found = std::find_if(world_.candidates.begin(), world_.candidates.end(),
                                    [&](const Candidate& candidate) { return IsSameKernel(candidate, named); });
    return found == world_.candidates.end() ? nullptr : &*found;
  }

  std::string BrokenKernel(size_t s) const {
    const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
    if (group == nullptr) return left_out_[s] ? "moves bytes and is left out" : "";
    const Candidate* offered = Offered(*group);
    if (offered == nullptr) return "runs a kernel that nobody offers";
    for (const Alias& alias : offered->aliases) {
      const std::vector<uint64_t>& in = addresses_[group->in[alias.in].index()];
      const bool same = !in.empty() && in == addresses_[group->out[alias.out].index()];
      if (alias.kind == Alias::Kind::kRequired && !same) return "does not accumulate into its input";
    }
    if (!left_out_[s]) return "";
    if (offered->elision == Elision::kNone) return "computes and is left out";
    return FindsResultInInputs(*offered, *group) ? "" : "is left out, but its result is not where its inputs are";
  }

  // Element by element: the result of a view is its input in the same order; that of a concatenation along `axis` is
  // its inputs, piece by piece.
  bool FindsResultInInputs(const Candidate& offered, const RunGroup& group) const {
    const std::vector<uint64_t>& out = addresses_[group.out[0].index()];
    if (offered.elision == Elision::kViewOfInput) return addresses_[group.in[0].index()] == out;
    const Node& node = world_.graph.node(offered.nodes[0]);
    const auto axis = static_cast<size_t>(node.int_or("axis", 0));
    std::vector<std::vector<int64_t>> dims;
    std::vector<const std::vector<uint64_t>*> in;
    const std::vector<ValueId> inputs = GroupInputs(world_.graph, offered.nodes);
    for (ValueId value : node.inputs) {
      dims.push_back(*world_.graph.value(value).type.static_dims());
      const auto at = static_cast<size_t>(std::find(inputs.begin(), inputs.end(), value) - inputs.begin());
      in.push_back(&addresses_[group.in[at].index()]);
    }
    size_t outer = 1;
    size_t inner = 1;
    for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(dims[0][d]);
    for (size_t d = axis + 1; d < dims[0].size(); ++d) inner *= static_cast<size_t>(dims[0][d]);
    std::vector<uint64_t> pieces;
    for (size_t o = 0; o < outer; ++o) {
      for (size_t i = 0; i < in.size(); ++i) {
        const size_t length = static_cast<size_t>(dims[i][axis]) * inner;
        if (in[i]->size() != outer * length) return false;
        pieces.insert(pieces.end(), in[i]->begin() + static_cast<std::ptrdiff_t>(o * length),
                      in[i]->begin() + static_cast<std::ptrdiff_t>((o + 1) * length));
      }
    }
    return pieces == out;
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
    if (left_out_[x]) return false;
    const Access access = AccessOf(plan_.steps[x]);
    for (size_t o = 0; o < access.out.size(); ++o) {
      const InstanceId out = access.out[o];
      if (plan_.instances[out.index()].device != device || !Meet(bytes_[out.index()], bytes_[instance.index()]))
        continue;
      bool in_place = false;
      if (x == r && group != nullptr) {
        for (const Alias& alias : Offered(*group)->aliases) {
          in_place |= alias.out == o && group->in[alias.in] == instance &&
                      addresses_[instance.index()] == addresses_[out.index()];
        }
      }
      if (!in_place) return true;
    }
    return false;
  }

  const World& world_;
  const Plan& plan_;
  size_t n_;
  std::vector<std::vector<bool>> happens_before_;
  std::vector<std::vector<uint64_t>> addresses_;  // by instance
  std::vector<Bytes> bytes_;                      // by instance
  std::vector<bool> left_out_;  // by step: what the executor does, which is judged here and not believed
};

}  // namespace

std::string FirstBrokenRead(const World& world, const Plan& plan) { return Oracle(world, plan).Run(); }

}  // namespace pt::testing
