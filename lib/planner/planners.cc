// The table of planners. A planner is a file with a Solve function and a row here.
#include <algorithm>
#include <array>

#include "lib/planner/schedule/assemble.h"
#include "lib/planner/schedule/mend_devices.h"
#include "lib/planner/solve.h"
#include "partitiontuner/support/closest_word.h"

namespace pt {

Result<Solved> SolveCriticalPath(const Space&, std::string_view);
Result<Solved> SolveDuet(const Space&, std::string_view);
Result<Solved> SolveEstf(const Space&, std::string_view);
Result<Solved> SolveExact(const Space&, std::string_view);
Result<Solved> SolveHeft(const Space&, std::string_view);
Result<Solved> SolveIos(const Space&, std::string_view);
Result<Solved> SolveOperator(const Space&, std::string_view);
Result<Solved> SolvePartitionTuner(const Space&, std::string_view);
Result<Solved> SolvePath(const Space&, std::string_view);
Result<Solved> SolvePeft(const Space&, std::string_view);
Result<Solved> SolvePerOp(const Space&, std::string_view);
Result<Solved> SolveRandom(const Space&, std::string_view);
Result<Solved> SolveRnnPipeline(const Space&, std::string_view);
Result<Solved> SolveSearch(const Space&, std::string_view);
Result<Solved> SolveSingle(const Space&, std::string_view);
Result<Solved> SolveStaticType(const Space&, std::string_view);
Result<Solved> SolveThroughput(const Space&, std::string_view);
Result<Solved> SolveTunedOps(const Space&, std::string_view);
Result<Solved> SolveWavefront(const Space&, std::string_view);

namespace {

// Whatever a planner says of the plan that it did not get to make.
Result<Solved> SolveOrSayInterrupted(const Space& space, SolveFunction solve) {
  Result<Solved> solved = solve(space, space.problem().argument);
  const bool has_plan = solved.ok() && (!solved->order.empty() || space.graph().nodes().empty());
  if (has_plan || !space.deadline().IsInterrupted()) return solved;
  return MakeError(ErrorCode::kInterrupted, "planner.interrupted", "interrupted before there was a plan");
}

Result<Plan> MakePlan(const PlanningProblem& problem, Explanations* explanations, SolveFunction solve);

template <SolveFunction solve>
constexpr Solver Row(std::string_view name, std::string_view summary,
                     Solver::Baseline baseline = Solver::Baseline::kYes, bool scales = false,
                     std::string_view variant = {}) {
  return {{name, summary, [](const PlanningProblem& p, Explanations* e) { return MakePlan(p, e, solve); }, variant},
          solve,
          baseline,
          scales};
}

constexpr std::array kSolvers = {
    Row<SolveSearch>("search", "cover, forms, placement, order and widths together: the best of all others, improved",
                     Solver::Baseline::kNo),
    Row<SolveSingle>("single", "everything on one device (single:DEVICE), groups by dynamic programming",
                     Solver::Baseline::kPerDevice, true),
    Row<SolveStaticType>("static-type", "convolutions and matrix products on the accelerator, the rest on the host"),
    Row<SolvePerOp>("per-op", "each node on its fastest device, copies ignored"),
    Row<SolveTunedOps>(
        "tuned-ops",
        "fused by rules over operator classes, each group its fastest kernel, one stream (tuned-ops:DEVICE)"),
    Row<SolveOperator>("operator", "the next ready operator goes to the free unit that ends it soonest"),
    Row<SolvePath>("path", "the longest ready path between forks and joins goes to the free unit that ends it soonest"),
    Row<SolvePartitionTuner>("partitiontuner",
                             "branch by branch, dynamic programming over groups and devices (partitiontuner:paper: as "
                             "published, with barriers between levels)",
                             Solver::Baseline::kYes, false, "paper"),
    Row<SolveHeft>("heft", "list scheduling of groups by upward rank with insertion", Solver::Baseline::kYes, true),
    Row<SolveDuet>("duet", "phase by phase, whole paths to devices, corrected by moving and swapping them"),
    Row<SolvePeft>("peft", "list scheduling by an optimistic table of what follows"),
    Row<SolveEstf>("estf", "what can start earliest next, on streams that contend for their device (estf:DEVICE)"),
    Row<SolveWavefront>("wavefront", "streams by data, launched in waves, least demand first (wavefront:DEVICE)"),
    Row<SolveIos>("ios", "stages of parts side by side, by dynamic programming over endings (ios:DEVICE)"),
    Row<SolveCriticalPath>("critical-path", "a greedy placement, corrected along its critical path"),
    Row<SolveRnnPipeline>("rnn-pipeline", "recurrent layers as stages over slices of time (--rewrite time-slices=N)"),
    Row<SolveThroughput>("throughput", "several requests (--rewrite requests=N), whole or as stages, one a unit"),
    Row<SolveExact>("exact", "branch and bound to the proven best plan, for models of some 16 operators",
                    Solver::Baseline::kNo),
    Row<SolveRandom>("random", "any legal plan (random:SEED), for tests", Solver::Baseline::kNo),
};

constexpr std::array kPlanners = [] {
  std::array<Planner, kSolvers.size()> planners{};
  for (size_t i = 0; i < kSolvers.size(); ++i) planners[i] = kSolvers[i].planner;
  return planners;
}();

// Most planners know nothing of device rules: their plans are mended. One that was told a device stays on it.
// Stages do not outlive that.
Status KeepDeviceRules(const Space& space, const Planner& planner, Solved& solved) {
  const DeviceRules rules(space);
  const Status kept = rules.Check(solved.order);
  if (kept.ok()) return {};
  const std::string_view argument = space.problem().argument;
  if (planner.name == "single" || (!argument.empty() && FindDevice(space.platform(), argument).valid())) return kept;
  PT_ASSIGN(solved.order, MendDevices(space, rules, solved.order));
  solved.barriers.clear();
  return {};
}

Result<Plan> MakePlan(const PlanningProblem& problem, Explanations* explanations, SolveFunction solve) {
  const auto row = std::find_if(kSolvers.begin(), kSolvers.end(), [&](const Solver& s) { return s.solve == solve; });
  PT_ASSIGN(const Space space, Space::Make(problem));
  PT_ASSIGN(Solved solved, SolveOrSayInterrupted(space, solve));
  PT_CHECK_OK(KeepDeviceRules(space, row->planner, solved));
  PT_ASSIGN(Plan plan,
            Assemble(space, solved.order, PlannerName(row->planner.name, problem), explanations, solved.barriers));
  plan.report.stopped_by = space.deadline().IsInterrupted() ? "interrupted" : solved.stopped_by;
  return plan;
}

}  // namespace

std::span<const Solver> Solvers() { return kSolvers; }

std::vector<std::string_view> BaselineArguments(const Solver& solver, const Platform& platform) {
  std::vector<std::string_view> arguments;
  switch (solver.baseline) {
    case Solver::Baseline::kNo:
      break;
    case Solver::Baseline::kYes:
      arguments.emplace_back();
      if (!solver.planner.variant.empty()) arguments.push_back(solver.planner.variant);
      break;
    case Solver::Baseline::kPerDevice:
      for (const Device& device : platform.devices) arguments.emplace_back(device.name);
      break;
  }
  return arguments;
}

std::span<const Planner> Planners() { return kPlanners; }

Result<const Planner*> FindPlanner(std::string_view name) {
  const std::string_view wanted = name.substr(0, name.find(':'));
  std::string known;
  std::vector<std::string_view> names;
  for (const Planner& planner : kPlanners) {
    if (planner.name == wanted) return &planner;
    names.push_back(planner.name);
    known += (known.empty() ? "" : ", ") + std::string(planner.name);
  }
  const std::string_view closest = ClosestWord(wanted, names);
  return MakeError(ErrorCode::kUsage, "planner.unknown",
                   "unknown planner '" + std::string(wanted) + "'" +
                       (closest.empty() ? std::string() : "; did you mean '" + std::string(closest) + "'?"),
                   "planners: " + known);
}

}  // namespace pt
