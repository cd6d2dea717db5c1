#include "lib/plan/buffers.h"

#include <algorithm>
#include <numeric>

#include "lib/plan/work.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {
namespace {

Error CannotAlias(const Graph& graph, const Plan& plan, StepId step, InstanceId overwritten, const std::string& why) {
  const auto* group = std::get_if<RunGroup>(&plan.steps[step.index()].work);
  Error error = MakeError(ErrorCode::kInfeasible, "plan.alias",
                          "step " + std::to_string(step.value) + " must overwrite value '" +
                              graph.value(plan.instances[overwritten.index()].value).name + "', but " + why);
  error.node = NodeLabel(graph, plan.candidates[group->candidate.index()].nodes.front());
  return error;
}

class Sharing {
 public:
  Sharing(const Graph& graph, const Plan& plan, const HappensBefore& order)
      : graph_(graph), plan_(plan), order_(order) {}

  Result<BufferPlan> Run() {
    PT_CHECK_OK(Collect());
    PT_CHECK_OK(JoinRequired());
    JoinViews();
    JoinSlices();
    JoinAllowed();
    return Finish();
  }

 private:
  // Instances that share bytes; lists stand at the root only.
  struct Set {
    uint32_t parent = 0;
    uint32_t size = 1;
    std::vector<StepId> accesses, writers;
  };

  Status Collect() {
    const size_t count = plan_.instances.size();
    sets_.resize(count);
    bytes_.assign(count, 0);
    placed_.assign(count, false);
    overwritten_.assign(count, false);
    sliced_.assign(count, false);
    copied_.assign(count, false);
    offset_.assign(count, 0);
    strides_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      sets_[i].parent = static_cast<uint32_t>(i);
      const Instance& instance = plan_.instances[i];
      placed_[i] = !IsExternal(graph_, plan_.lent_on, instance) && !IsDynamic(graph_, instance);
      if (!placed_[i]) continue;
      PT_ASSIGN(bytes_[i], InstanceBytes(graph_, instance));
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Work& work = plan_.steps[s].work;
      const bool copy = std::holds_alternative<Copy>(work);
      for (InstanceId id : ReadsOf(work)) {
        sets_[id.index()].accesses.push_back(StepId(s));
        if (copy) copied_[id.index()] = true;
      }
      for (InstanceId id : WritesOf(work)) {
        sets_[id.index()].accesses.push_back(StepId(s));
        sets_[id.index()].writers.push_back(StepId(s));
        if (copy) copied_[id.index()] = true;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (placed_[i] && sets_[i].writers.empty()) {
        return MakeError(ErrorCode::kInvalidInput, "plan.not_written",
                         "no step makes instance " + std::to_string(i) + " of value '" +
                             graph_.value(plan_.instances[i].value).name + "'");
      }
    }
    return {};
  }

  template <typename F>
  void ForEachGroup(F visit) {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work)) {
        visit(StepId(s), *group, plan_.candidates[group->candidate.index()]);
      }
    }
  }

  uint32_t Root(InstanceId id) {
    uint32_t i = id.value;
    while (sets_[i].parent != i) i = sets_[i].parent = sets_[sets_[i].parent].parent;
    return i;
  }

  void Join(InstanceId a, InstanceId b) {
    uint32_t to = Root(a);
    uint32_t from = Root(b);
    if (to == from) return;
    if (sets_[to].accesses.size() < sets_[from].accesses.size()) std::swap(to, from);
    Set& kept = sets_[to];
    Set& gone = sets_[from];
    kept.accesses.insert(kept.accesses.end(), gone.accesses.begin(), gone.accesses.end());
    kept.writers.insert(kept.writers.end(), gone.writers.begin(), gone.writers.end());
    kept.size += gone.size;
    gone.accesses = {};
    gone.writers = {};
    gone.parent = to;
  }

  bool AllBefore(const std::vector<StepId>& accesses, StepId step) const {
    return std::all_of(accesses.begin(), accesses.end(),
                       [&](StepId access) { return access == step || order_.Before(access, step); });
  }

  bool AllAfter(const std::vector<StepId>& accesses, StepId step) const {
    return std::all_of(accesses.begin(), accesses.end(),
                       [&](StepId access) { return access == step || order_.Before(step, access); });
  }

  Status JoinRequired() {
    std::vector<std::pair<InstanceId, InstanceId>> joins;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
      if (group == nullptr) continue;
      for (const Alias& alias : plan_.candidates[group->candidate.index()].aliases) {
        if (alias.kind != Alias::Kind::kRequired) continue;
        const StepId step(s);
        const InstanceId in = group->in[alias.in];
        const InstanceId out = group->out[alias.out];
        if (!placed_[in.index()]) return CannotAlias(graph_, plan_, step, in, "that is the caller's buffer");
        if (!placed_[out.index()]) return CannotAlias(graph_, plan_, step, in, "its result is the caller's buffer");
        if (bytes_[in.index()] != bytes_[out.index()]) return CannotAlias(graph_, plan_, step, in, "the sizes differ");
        if (!AllBefore(sets_[in.index()].accesses, step)) {
          return CannotAlias(graph_, plan_, step, in, "another step may still read it");
        }
        overwritten_[in.index()] = true;
        joins.emplace_back(in, out);
      }
    }
    for (const auto& [in, out] : joins) Join(in, out);
    return {};
  }

  void JoinViews() {
    ForEachGroup([&](StepId, const RunGroup& group, const Candidate& candidate) {
      if (candidate.elision != Elision::kViewOfInput || group.in.empty() || group.out.size() != 1) return;
      const InstanceId in = group.in[0];
      const InstanceId out = group.out[0];
      if (!placed_[in.index()] || !placed_[out.index()] || bytes_[in.index()] != bytes_[out.index()]) return;
      if (overwritten_[in.index()] || overwritten_[out.index()]) return;
      Join(in, out);
    });
  }

  void JoinSlices() {
    ForEachGroup([&](StepId, const RunGroup& group, const Candidate& candidate) {
      const std::optional<ConcatSlices> slices = SlicesOf(graph_, candidate);
      if (!slices) return;
      const InstanceId out = group.out[0];
      if (!placed_[out.index()] || overwritten_[out.index()] || sliced_[out.index()]) return;
      for (InstanceId in : group.in) {
        if (!placed_[in.index()] || overwritten_[in.index()] || copied_[in.index()]) return;
        if (sets_[Root(in)].size != 1) return;
      }
      const auto element_bytes = static_cast<uint64_t>(BytesOf(candidate.out[0].storage));
      for (size_t i = 0; i < group.in.size(); ++i) {
        const size_t in = group.in[i].index();
        sliced_[in] = true;
        offset_[in] = static_cast<uint64_t>(slices->offsets[i]) * element_bytes;
        strides_[in] = slices->strides;
        Join(out, group.in[i]);
      }
    });
  }

  void JoinAllowed() {
    ForEachGroup([&](StepId step, const RunGroup& group, const Candidate& candidate) {
      for (const Alias& alias : candidate.aliases) {
        if (alias.kind != Alias::Kind::kAllowed) continue;
        const InstanceId in = group.in[alias.in];
        const InstanceId out = group.out[alias.out];
        if (!placed_[in.index()] || !placed_[out.index()] || bytes_[in.index()] != bytes_[out.index()]) continue;
        if (sliced_[in.index()] || sliced_[out.index()] || Root(in) == Root(out)) continue;
        // One input only: a second one overwritten by the same result would meet the first.
        if (IsReadTwice(group, alias.in) || !AllAfter(sets_[Root(out)].accesses, step)) continue;
        if (AllBefore(sets_[Root(in)].accesses, step)) Join(in, out);
      }
    });
  }

  // Another input of the group lies in the same bytes, perhaps in another shape.
  bool IsReadTwice(const RunGroup& group, size_t in) {
    for (size_t i = 0; i < group.in.size(); ++i) {
      if (i != in && placed_[group.in[i].index()] && Root(group.in[i]) == Root(group.in[in])) return true;
    }
    return false;
  }

  Result<BufferPlan> Finish() {
    BufferPlan result;
    result.buffer.assign(plan_.instances.size(), BufferPlan::kNowhere);
    std::vector<uint32_t> of_root(plan_.instances.size(), BufferPlan::kNowhere);
    for (size_t i = 0; i < plan_.instances.size(); ++i) {
      if (!placed_[i]) continue;
      const uint32_t root = Root(InstanceId(i));
      if (of_root[root] == BufferPlan::kNowhere) {
        of_root[root] = static_cast<uint32_t>(result.buffers.size());
        result.buffers.push_back({plan_.instances[i].device, 0, sets_[root].accesses, sets_[root].writers});
      }
      result.buffer[i] = of_root[root];
      // A slice ends within the concatenation, which is dense and of full size.
      Buffer& buffer = result.buffers[of_root[root]];
      if (sliced_[i]) {
        PT_ASSIGN(bytes_[i], SliceBytes(InstanceId(i)));
      } else {
        buffer.bytes = std::max(buffer.bytes, bytes_[i]);
      }
    }
    result.offset = std::move(offset_);
    result.bytes = std::move(bytes_);
    result.strides = std::move(strides_);
    return result;
  }

  Result<uint64_t> SliceBytes(InstanceId id) const {
    const Instance& instance = plan_.instances[id.index()];
    TensorLayout layout;
    layout.type = instance.form.storage;
    layout.dims = *graph_.value(instance.value).type.static_dims();
    layout.layout = instance.form.layout;
    layout.strides = strides_[id.index()];
    return BytesOf(layout);
  }

  const Graph& graph_;
  const Plan& plan_;
  const HappensBefore& order_;
  std::vector<Set> sets_;
  std::vector<uint64_t> bytes_, offset_;
  std::vector<std::vector<int64_t>> strides_;
  std::vector<bool> placed_;
  std::vector<bool> overwritten_;  // by a required alias
  std::vector<bool> sliced_;       // lies within a concatenation
  std::vector<bool> copied_;       // read or written by a copy, which moves dense bytes
};

}  // namespace

Result<BufferPlan> ShareBuffers(const Graph& graph, const Plan& plan, const HappensBefore& order) {
  return Sharing(graph, plan, order).Run();
}

}  // namespace pt
