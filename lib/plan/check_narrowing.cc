#include "lib/plan/check_narrowing.h"

#include "lib/plan/work.h"
#include "partitiontuner/candidate/precision.h"

namespace pt {

bool KeptPrecision::is_lost_in(const Form& form) const { return !Holds(kept, made) && !Holds(kept, form); }

KeptPrecision KeptPrecision::After(const Form& form) const { return {made, Holds(form, kept) ? kept : form}; }

void CheckNarrowing(const CheckedPlan& checked, std::vector<PlanFault>& faults) {
  const Plan& plan = checked.plan;
  std::vector<KeptPrecision> precisions;
  for (const Instance& instance : plan.instances) precisions.push_back({instance.form, instance.form});
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (std::holds_alternative<RunGroup>(plan.steps[s].work)) continue;
    const InstanceId from = ReadsOf(plan.steps[s].work)[0], to = WritesOf(plan.steps[s].work)[0];
    const Instance& written = plan.instances[to.index()];
    const KeptPrecision& read = precisions[from.index()];
    if (read.is_lost_in(written.form)) {
      faults.push_back(
          {"narrowed", "step " + std::to_string(s) + " stores '" + checked.graph.value(written.value).name + "' as " +
                           std::string(DataTypeName(written.form.storage)) + " again, after it was stored as " +
                           std::string(DataTypeName(read.kept.storage)) + ", which holds less"});
    }
    precisions[to.index()] = read.After(written.form);
  }
}

}  // namespace pt
