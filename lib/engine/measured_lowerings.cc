#include "lib/engine/measured_lowerings.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/engine/make_plan.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"

namespace pt {
namespace {

bool IsLowered(const Candidate& candidate) { return candidate.math != MathMode::kFp32; }

double Typical(const std::vector<double>& errors) {
  const double squares = std::inner_product(errors.begin(), errors.end(), errors.begin(), 0.0);
  return std::sqrt(squares / static_cast<double>(errors.size()));
}

Error Interrupted() {
  return MakeError(ErrorCode::kInterrupted, "budget.interrupted", "interrupted while trying plans");
}

bool IsInterruption(const Error& error) { return error.code == ErrorCode::kInterrupted; }

// How many steps run a group, and how many of these in lower precision.
std::pair<uint64_t, uint64_t> CountGroups(const Plan& plan) {
  uint64_t groups = 0, lowered = 0;
  for (const Step& step : plan.steps) {
    const auto* run = std::get_if<RunGroup>(&step.work);
    if (run == nullptr) continue;
    ++groups;
    lowered += IsLowered(plan.candidates[run->candidate.index()]);
  }
  return {groups, lowered};
}

Status CheckBudget(const ErrorBudget& budget) {
  if (!(budget.max_error > 0) || !std::isfinite(budget.max_error)) {
    return MakeError(ErrorCode::kUsage, "budget.max_error", "an error budget must be a number above zero");
  }
  if (budget.calibration.empty() || budget.confirmation.empty()) {
    return MakeError(ErrorCode::kUsage, "budget.data",
                     "an error budget needs data to choose by and other data to confirm");
  }
  return {};
}

}  // namespace

bool HasRealOutput(const Graph& graph) {
  return std::ranges::any_of(graph.outputs(), [&](ValueId output) {
    return RelativeTolerance(MathMode::kFp32, graph.value(output).type.type) > 0;
  });
}

Result<std::unique_ptr<MeasuredLowerings>> MeasuredLowerings::Make(const PlanningContext& context,
                                                                   const ErrorBudget& budget) {
  std::unique_ptr<MeasuredLowerings> trials(new MeasuredLowerings(context, budget));
  PT_CHECK_OK(trials->MakeEnds());
  trials->MakeParts();
  return trials;
}

// The two plans between which all others lie. Where nothing can be lowered, or there is no time left for it, there is
// one, and nothing to run.
Status MeasuredLowerings::MakeEnds() {
  const uint64_t effort = context_.options.effort;
  PT_ASSIGN(fp32_.plan, MakePlan(context_.model, AllNodes(), effort, context_.options.watch));
  if (!std::ranges::any_of(context_.model.candidates, IsLowered) || !HasRealOutput(*context_.model.graph)) return {};
  Result<Plan> lowest = MakeTrialPlan(context_.model, context_.options.constraints.in_fp32, effort);
  if (!lowest.ok()) return IsInterruption(lowest.error()) ? Status() : Status(std::move(lowest).error());
  free_.plan = std::move(lowest).value();
  if (free_.plan.makespan.ns >= fp32_ns() - noise_ns()) return {};
  const Status wanted = MakeWanted();
  if (wanted.ok() || !IsInterruption(wanted.error())) return wanted;
  free_.session.reset();
  return {};
}

// What other plans are compared with.
Status MeasuredLowerings::MakeWanted() {
  PT_ASSIGN(fp32_, Compiled(std::move(fp32_.plan)));
  PT_ASSIGN(free_, Compiled(std::move(free_.plan)));
  PT_ASSIGN(wanted_calibration_, OutputsOf(*fp32_.session, budget_.calibration, ends()));
  PT_ASSIGN(wanted_confirmation_, OutputsOf(*fp32_.session, budget_.confirmation, ends()));
  return {};
}

void MeasuredLowerings::MakeParts() {
  if (free_.session == nullptr) return;
  std::vector<const Candidate*> lowered;
  for (const Candidate& candidate : free_.plan.candidates) {
    if (IsLowered(candidate)) lowered.push_back(&candidate);
  }
  std::ranges::sort(lowered, {}, [](const Candidate* candidate) { return candidate->nodes; });
  parts_.resize(std::min(lowered.size(), kMostParts));
  for (size_t i = 0; i < lowered.size(); ++i) {
    Part& part = parts_[i * parts_.size() / lowered.size()];
    part.nodes.insert(lowered[i]->nodes.begin(), lowered[i]->nodes.end());
    part.saved_ns += SavedBy(*lowered[i]);
  }
}

// Against the fastest way to run the same nodes in fp32 on units of the same class: as one group, or one by one.
int64_t MeasuredLowerings::SavedBy(const Candidate& lowered) const {
  const auto fastest = [&](std::span<const NodeId> nodes) {
    std::optional<int64_t> ns;
    for (const Candidate& candidate : context_.model.candidates) {
      if (IsLowered(candidate) || candidate.unit_class != lowered.unit_class) continue;
      if (!std::ranges::equal(candidate.nodes, nodes)) continue;
      const std::optional<Estimate> cost = context_.costs.OfStep(candidate).run;
      if (cost && (!ns || cost->ns < *ns)) ns = cost->ns;
    }
    return ns;
  };
  std::optional<int64_t> singly = 0;
  for (const NodeId& node : lowered.nodes) {
    const std::optional<int64_t> alone = fastest({&node, 1});
    singly = singly && alone ? std::optional(*singly + *alone) : std::nullopt;
  }
  const std::optional<int64_t> fused = fastest(lowered.nodes);
  const std::optional<Estimate> own = context_.costs.OfStep(lowered).run;
  if (!own || (!singly && !fused)) return 0;
  return std::min(singly.value_or(INT64_MAX), fused.value_or(INT64_MAX)) - own->ns;
}

std::set<NodeId> MeasuredLowerings::AllNodes() const {
  std::set<NodeId> nodes;
  for (size_t n = 0; n < context_.model.graph->nodes().size(); ++n) nodes.insert(NodeId(n));
  return nodes;
}

Result<Plan> MeasuredLowerings::MakePlan(const Model& model, std::set<NodeId> in_fp32, uint64_t effort,
                                         PlanningWatch* watch) {
  ++plans_made_;
  PlanOptions options = context_.options;
  options.effort = effort;
  options.watch = watch;
  options.constraints.in_fp32 = std::move(in_fp32);
  return MakeModelPlan(model, context_.machine, context_.costs, context_.profile, options, nullptr, nullptr);
}

Result<Plan> MeasuredLowerings::MakeTrialPlan(const Model& model, std::set<NodeId> in_fp32, uint64_t effort) {
  if (trial_watch_.ends()) return Interrupted();
  Result<Plan> plan = MakePlan(model, std::move(in_fp32), effort, &trial_watch_);
  if (trial_watch_.ends()) return Interrupted();
  return plan;
}

Result<MeasuredLowerings::Kept> MeasuredLowerings::Compiled(Plan plan) const {
  PT_ASSIGN(std::unique_ptr<Session> session,
            Session::Create(context_.model.graph, plan, context_.machine, context_.session_options()));
  return Kept{std::move(plan), std::move(session)};
}

Result<MeasuredLowerings::Outputs> MeasuredLowerings::OutputsOf(Session& session, const Outputs& inputs,
                                                                const Ends& ends) const {
  const RunOptions options = context_.limits.run_options(*session.plan());
  Outputs outputs;
  for (const std::vector<Tensor>& set : inputs) {
    if (ends && ends()) return Interrupted();
    PT_ASSIGN(std::vector<Tensor> made, RunTensors(session, set, options));
    outputs.push_back(std::move(made));
  }
  return outputs;
}

Result<std::vector<double>> MeasuredLowerings::ErrorsOf(Session& session, const Outputs& inputs, const Outputs& wanted,
                                                        const Ends& ends) const {
  PT_ASSIGN(const Outputs outputs, OutputsOf(session, inputs, ends));
  std::vector<double> errors;
  for (size_t set = 0; set < outputs.size(); ++set) errors.push_back(RelativeError(wanted[set], outputs[set]));
  return errors;
}

// No fp32 candidate of the part's nodes is left to the planner, and none but those of all others: so the part is
// lowered even where changes of form around it cost more than it saves. How fast the plan is does not matter.
Result<double> MeasuredLowerings::ErrorAlone(size_t part) {
  const std::set<NodeId>& lowered = parts_[part].nodes;
  Model forced = context_.model;
  std::erase_if(forced.candidates, [&](const Candidate& candidate) {
    return !IsLowered(candidate) &&
           std::ranges::any_of(candidate.nodes, [&](NodeId node) { return lowered.contains(node); });
  });
  std::set<NodeId> others = AllNodes();
  std::erase_if(others, [&](NodeId node) { return lowered.contains(node); });
  constexpr uint64_t kLeastEffort = 1;
  Result<Plan> plan = MakeTrialPlan(forced, std::move(others), kLeastEffort);
  if (!plan.ok() && plan.error().code == ErrorCode::kInfeasible) return HUGE_VAL;
  if (!plan.ok()) return std::move(plan).error();
  PT_ASSIGN(const Kept made, Compiled(std::move(plan).value()));
  PT_ASSIGN(const std::vector<double> errors,
            ErrorsOf(*made.session, budget_.calibration, wanted_calibration_, ends()));
  return Typical(errors);
}

Result<LoweringTrials::Outcome> MeasuredLowerings::Try(const Lowering& lowering) {
  if (std::ranges::all_of(lowering, [](bool lowered) { return lowered; })) {
    PT_ASSIGN(const auto errors, ErrorsOf(*free_.session, budget_.calibration, wanted_calibration_, ends()));
    return Outcome{std::ranges::max(errors), Typical(errors), free_.plan.makespan.ns};
  }
  std::set<NodeId> in_fp32 = AllNodes();
  for (size_t part = 0; part < lowering.size(); ++part) {
    if (!lowering[part]) continue;
    std::erase_if(in_fp32, [&](NodeId node) { return parts_[part].nodes.contains(node); });
  }
  Result<Plan> plan = MakeTrialPlan(context_.model, std::move(in_fp32), context_.options.effort);
  if (!plan.ok() && plan.error().code == ErrorCode::kInfeasible) return Outcome{HUGE_VAL, HUGE_VAL, fp32_ns()};
  if (!plan.ok()) return std::move(plan).error();
  PT_ASSIGN(Kept made, Compiled(std::move(plan).value()));
  PT_ASSIGN(const std::vector<double> errors,
            ErrorsOf(*made.session, budget_.calibration, wanted_calibration_, ends()));
  const Outcome outcome{std::ranges::max(errors), Typical(errors), made.plan.makespan.ns};
  tried_.insert_or_assign(lowering, std::move(made.plan));
  return outcome;
}

// To the end, interrupted or not: no plan is given that was not confirmed.
Result<double> MeasuredLowerings::Confirm(const Lowering& lowering) {
  PT_ASSIGN(const Kept made, Compiled(plan(lowering)));
  PT_ASSIGN(const std::vector<double> errors, ErrorsOf(*made.session, budget_.confirmation, wanted_confirmation_, {}));
  return std::ranges::max(errors);
}

const Plan& MeasuredLowerings::plan(const Lowering& lowering) const {
  const auto lowers = [](bool lowered) { return lowered; };
  if (std::ranges::none_of(lowering, lowers)) return fp32_.plan;
  return std::ranges::all_of(lowering, lowers) ? free_.plan : tried_.at(lowering);
}

Result<Plan> PlanWithin(const PlanningContext& context, const ErrorBudget& budget) {
  PT_CHECK_OK(CheckBudget(budget));
  PT_ASSIGN(const std::unique_ptr<MeasuredLowerings> trials, MeasuredLowerings::Make(context, budget));
  PT_ASSIGN(const LoweringChoice choice, ChooseLowering(*trials, budget.max_error));
  Plan plan = trials->plan(choice.lowering);
  if (IsInterrupted(context.options.watch)) plan.report.stopped_by = "interrupted";
  const auto [groups, lowered] = CountGroups(plan);
  BudgetReport& report = plan.report.budget.emplace();
  report.max_error = budget.max_error;
  report.calibration_error = choice.outcome.largest;
  report.confirmation_error = choice.confirmed;
  if (trials->parts() > 0) {  // else nothing was run
    report.calibration_sets = budget.calibration.size();
    report.confirmation_sets = budget.confirmation.size();
  }
  report.groups = groups;
  report.lowered_groups = lowered;
  report.fp32_ns = trials->fp32_ns();
  report.plans = trials->plans_made();
  return plan;
}

}  // namespace pt
