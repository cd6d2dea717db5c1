#include "lib/plan/check_run_time_sizes.h"

#include <algorithm>

#include "lib/plan/work.h"

namespace pt {
namespace {

class RunTimeSizes {
 public:
  RunTimeSizes(const CheckedPlan& checked, std::vector<PlanFault>& faults)
      : checked_(checked), graph_(checked.graph), platform_(checked.platform), plan_(checked.plan), faults_(faults) {
    for (const Instance& instance : plan_.instances) dynamic_.push_back(HasRunTimeSize(graph_, instance));
  }

  void Run() {
    for (size_t i = 0; i < plan_.instances.size(); ++i) {
      if (dynamic_[i]) CheckForm(i);
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      if (!Touches(ReadsOf(step.work)) && !Touches(WritesOf(step.work))) continue;
      if (const auto* group = std::get_if<RunGroup>(&step.work)) {
        CheckGroup(s, *group);
      } else {
        Fault("dynamic_step", s, "copies or reorders");
      }
      if (!platform_.unit_class(platform_.unit(step.unit).unit_class).on_host()) {
        Fault("dynamic_step", s, "has an asynchronous unit for");
      }
    }
  }

 private:
  bool Touches(std::span<const InstanceId> ids) const {
    return std::any_of(ids.begin(), ids.end(), [&](InstanceId id) { return dynamic_[id.index()]; });
  }

  void Fault(std::string id, size_t step, const std::string& what) {
    faults_.push_back(
        {std::move(id), "step " + std::to_string(step) + " " + what + " a value whose size is known only at run time"});
  }

  void CheckForm(size_t i) {
    const Instance& instance = plan_.instances[i];
    const Value& value = graph_.value(instance.value);
    if (instance.device.index() == 0 && instance.form.layout.is_row_major() &&
        instance.form.storage == value.type.type) {
      return;
    }
    faults_.push_back({"dynamic_form", "instance " + std::to_string(i) + " of '" + value.name +
                                           "', whose size is known only at run time, is not row-major on the host in "
                                           "its own type"});
  }

  void CheckGroup(size_t s, const RunGroup& group) {
    const Candidate& candidate = checked_.candidate(group);
    if (candidate.elision != Elision::kNone) Fault("dynamic_alias", s, "is said to need no work for");
    for (const Alias& alias : candidate.aliases) {
      const bool touched = dynamic_[group.in[alias.in].index()] || dynamic_[group.out[alias.out].index()];
      if (touched && alias.kind == Alias::Kind::kRequired) Fault("dynamic_alias", s, "must overwrite");
    }
  }

  const CheckedPlan& checked_;
  const Graph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  std::vector<PlanFault>& faults_;
  std::vector<bool> dynamic_;  // by instance
};

}  // namespace

void CheckRunTimeSizes(const CheckedPlan& checked, std::vector<PlanFault>& faults) {
  RunTimeSizes(checked, faults).Run();
}

}  // namespace pt
