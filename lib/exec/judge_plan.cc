#include "partitiontuner/exec/judge_plan.h"

#include <algorithm>

#include "partitiontuner/backend/nan.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/plan/plan_precision.h"

namespace pt {
namespace {

const Library* FindLibrary(Libraries libraries, std::string_view name) {
  const auto found = std::find_if(libraries.begin(), libraries.end(),
                                  [&](const std::unique_ptr<Library>& library) { return library->name() == name; });
  return found == libraries.end() ? nullptr : found->get();
}

template <typename Lines>
std::string JoinLines(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

class Describer {
 public:
  Describer(const Graph& graph, const Platform& platform, Libraries libraries, const Plan& plan)
      : graph_(graph), platform_(platform), libraries_(libraries), plan_(plan) {}

  PlanDescription Run() {
    PlanDescription description;
    for (const std::string& name : LibrariesOf(plan_)) {
      if (!name.empty() && FindLibrary(libraries_, name) == nullptr) description.absent.insert(name);
    }
    for (const Candidate& candidate : plan_.candidates) description.candidates.push_back(Describe(candidate));
    const Result<bool> keep_nan = MustKeepNan(plan_);
    for (size_t c = 0; keep_nan.ok() && *keep_nan && c < plan_.candidates.size(); ++c) {
      const Result<Candidate>& candidate = description.candidates[c];
      const Library* library = FindLibrary(libraries_, plan_.candidates[c].library);
      if (candidate.ok() && !KeepsNan(*library, graph_, *candidate)) description.nan_droppers.insert(c);
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* reorder = std::get_if<Reorder>(&plan_.steps[s].work);
      if (reorder == nullptr) continue;
      if (std::string why = WhyNot(plan_.steps[s], *reorder); !why.empty()) {
        description.reorders.emplace(StepId(s), std::move(why));
      }
    }
    return description;
  }

 private:
  Result<Candidate> Describe(const Candidate& candidate) const {
    const Library* library = FindLibrary(libraries_, candidate.library);
    if (library == nullptr) {
      return MakeError(ErrorCode::kDeviceUnusable, "plan.library", "there is no library '" + candidate.library + "'");
    }
    const auto in_range = [&](NodeId node) { return node.index() < graph_.nodes().size(); };
    const bool ascending = std::adjacent_find(candidate.nodes.begin(), candidate.nodes.end(), std::greater_equal<>()) ==
                           candidate.nodes.end();
    if (candidate.nodes.empty() || !ascending ||
        !std::all_of(candidate.nodes.begin(), candidate.nodes.end(), in_range) ||
        candidate.unit_class.index() >= platform_.unit_classes.size()) {
      return MakeError(ErrorCode::kInvalidInput, "plan.candidate", "it names no nodes of this graph or no unit class");
    }
    if (const auto why = WhyNoCall(graph_, platform_, candidate)) {
      return MakeError(ErrorCode::kUnsupported, "plan.device_rules", *why);
    }
    return library->Describe(graph_, platform_, candidate);
  }

  // Empty when the reorder's library can do it, is absent, or when CheckPlan refuses the step anyway.
  std::string WhyNot(const Step& step, const Reorder& reorder) const {
    if (reorder.library.empty()) return "the reorder names no library";
    const Library* library = FindLibrary(libraries_, reorder.library);
    const size_t instances = plan_.instances.size();
    if (library == nullptr || step.unit.index() >= platform_.units.size() || reorder.from.index() >= instances ||
        reorder.to.index() >= instances) {
      return "";
    }
    const Instance& from = plan_.instances[reorder.from.index()];
    const Instance& to = plan_.instances[reorder.to.index()];
    if (from.value != to.value || from.value.index() >= graph_.values().size()) return "";
    const Value& value = graph_.value(from.value);
    const std::vector<int64_t> dims = value.type.static_dims().value_or(std::vector<int64_t>());
    if (library->CanReorder(platform_, platform_.unit(step.unit).unit_class, dims, from.form, to.form)) return "";
    return "the library '" + reorder.library + "' cannot reorder '" + value.name + "' from " +
           ToString(from.form.layout) + " " + std::string(DataTypeName(from.form.storage)) + " to " +
           ToString(to.form.layout) + " " + std::string(DataTypeName(to.form.storage)) + " on " +
           platform_.unit(step.unit).name;
  }

  const Graph& graph_;
  const Platform& platform_;
  Libraries libraries_;
  const Plan& plan_;
};

}  // namespace

std::map<std::string, std::string> LibraryVersions(Libraries libraries) {
  std::map<std::string, std::string> versions;
  for (const std::unique_ptr<Library>& library : libraries) {
    versions.emplace(std::string(library->name()), library->version());
  }
  return versions;
}

PlanDescription DescribePlan(const Graph& graph, const Platform& platform, Libraries libraries, const Plan& plan) {
  return Describer(graph, platform, libraries, plan).Run();
}

PlanVerdict JudgePlan(const Graph& graph, const Platform& platform, Libraries libraries, const Plan& plan) {
  PlanVerdict verdict;
  verdict.differences = PlanMismatches(graph, platform, LibraryVersions(libraries), plan);
  if (!verdict.differences.empty()) return verdict;
  const PlanDescription description = DescribePlan(graph, platform, libraries, plan);
  verdict.absent = description.absent;
  verdict.faults = description.absent.empty() ? CheckPlan(graph, platform, plan, description)
                                              : CheckPlanStructure(graph, platform, plan, description);
  return verdict;
}

Status StatusOf(const PlanVerdict& verdict) {
  if (!verdict.differences.empty()) {
    return MakeError(ErrorCode::kStale, "plan.stale",
                     "the plan does not fit this model, machine or version:" + JoinLines(verdict.differences),
                     "plan again with pt-plan");
  }
  if (!verdict.faults.empty()) {
    std::vector<std::string> lines;
    for (const PlanFault& fault : verdict.faults) lines.push_back(fault.id + ": " + fault.message);
    return MakeError(ErrorCode::kInvalidInput, "plan.illegal", "the plan is illegal:" + JoinLines(lines));
  }
  if (verdict.absent.empty()) return {};
  Error error = MakeError(ErrorCode::kDeviceUnusable, "plan.library",
                          "the plan needs libraries that are not loaded:" + JoinLines(verdict.absent),
                          "load them, or plan again with pt-plan");
  error.device = *verdict.absent.begin();
  return error;
}

}  // namespace pt
