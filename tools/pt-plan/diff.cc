// pt-plan --diff A B: what differs between two plan files.
#include "partitiontuner/plan/plan_diff.h"
#include "tools/common/prepare.h"
#include "tools/pt-plan/page.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {

Result<int> DiffPlanFiles(const PlanFlags& flags, Console&) {
  if (flags.diff.size() != 2) {
    return MakeError(ErrorCode::kUsage, "usage.value", "--diff takes two plan files", "pt-plan --diff A.json B.json");
  }
  PT_ASSIGN(const Plan a, LoadPlan(flags.diff[0]));
  PT_ASSIGN(const Plan b, LoadPlan(flags.diff[1]));
  PT_ASSIGN(const std::vector<PlanDifference> differences, DiffPlans(a, b));
  PT_CHECK_OK(WriteDiffPage(flags, a, b, differences));
  if (flags.common.json()) {
    Json json = Json::MakeObject();
    json.Set("a", flags.diff[0]);
    json.Set("b", flags.diff[1]);
    json.Set("differences", ToJson(differences));
    PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  } else {
    PT_CHECK_OK(WriteOut("A: " + flags.diff[0] + "\nB: " + flags.diff[1] + "\n" + ToText(differences)));
  }
  return 0;
}

}  // namespace pt::tools
