#include "lib/engine/finalists.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/planner/planner_names.h"

namespace pt {
namespace {

template <typename T>
T MedianOf(std::vector<T> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Contender {
  std::string name;
  PlanOptions options;
};

// The planner asked for; then every other one that answers the same way each time, for each device where it wants one;
// then the search from other starts.
std::vector<Contender> ContendersFor(const PlanningScene& scene) {
  constexpr uint64_t kMoreSeeds = 2;
  std::vector<Contender> contenders = {{scene.options.planner, scene.options}};
  const auto add = [&](const std::string& planner, uint64_t seed, const std::string& name) {
    Contender contender{name, scene.options};
    contender.options.planner = planner;
    contender.options.seed = seed;
    contenders.push_back(std::move(contender));
  };
  for (const std::string& name : PlannerNames(scene.machine.platform(), scene.options.seed)) {
    if (!name.starts_with("random:") && name != scene.options.planner) add(name, scene.options.seed, name);
  }
  for (uint64_t i = 1; i <= kMoreSeeds; ++i) {
    const uint64_t seed = scene.options.seed + i;
    add("search", seed, "search, seed " + std::to_string(seed));
  }
  return contenders;
}

// What a plan does, whoever made it.
std::string WorkOf(const Plan& plan, const Graph& graph) {
  const Json json = ToJson(plan, graph);
  std::string text;
  for (const char* key : {"candidates", "instances", "steps"}) {
    if (const Json* part = json.find(key)) text += WriteJson(*part);
  }
  return text;
}

Result<std::vector<Finalist>> MakeFinalists(const PlanningScene& scene, uint32_t most) {
  std::vector<Finalist> finalists;
  std::set<std::string> seen;
  for (const Contender& contender : ContendersFor(scene)) {
    Result<Plan> plan =
        PlanWith(scene.model, scene.machine, scene.costs, scene.profile, contender.options, nullptr, nullptr);
    const bool asked_for = finalists.empty();
    if (!plan.ok() && (asked_for || plan.error().code == ErrorCode::kInternal)) return std::move(plan).error();
    if (!plan.ok() || !seen.insert(WorkOf(*plan, *scene.model.graph)).second) continue;
    finalists.push_back({contender.name, *std::move(plan)});
  }
  std::stable_sort(finalists.begin() + 1, finalists.end(),
                   [](const Finalist& a, const Finalist& b) { return a.plan.makespan.ns < b.plan.makespan.ns; });
  if (finalists.size() > most) finalists.erase(finalists.begin() + most, finalists.end());
  return finalists;
}

// A plan that runs.
class Runner {
 public:
  static Result<Runner> Make(const PlanningScene& scene, const Plan& plan, std::span<const Tensor> inputs) {
    Runner runner;
    PT_ASSIGN(runner.session_, Session::Create(scene.model.graph, plan, scene.machine, {}));
    PT_ASSIGN(runner.inputs_, RunBuffers::ForInputs(*runner.session_, inputs));
    PT_ASSIGN(runner.outputs_, RunBuffers::ForOutputs(*runner.session_));
    return runner;
  }

  // The first run brings weights into the caches, as they are when a plan runs alone; it does not count.
  Result<int64_t> MedianOfTurn(std::chrono::nanoseconds turn) {
    PT_ASSIGN(const int64_t first, RunOnce());
    (void)first;
    std::vector<int64_t> times;
    const auto end = std::chrono::steady_clock::now() + turn;
    do {
      PT_ASSIGN(const int64_t time, RunOnce());
      times.push_back(time);
    } while (std::chrono::steady_clock::now() < end);
    return MedianOf(std::move(times));
  }

 private:
  // On a virtual clock the makespan is the time.
  Result<int64_t> RunOnce() {
    PT_ASSIGN(const RunReport report, session_->Run(inputs_->tensors(), outputs_->tensors()));
    return std::max<int64_t>(1, report.simulated ? report.makespan_ns : report.wall_ns);
  }

  std::unique_ptr<Session> session_;
  std::optional<RunBuffers> inputs_, outputs_;
};

}  // namespace

size_t ChooseFinalist(std::span<Finalist> finalists, std::span<const std::vector<int64_t>> round_medians) {
  constexpr double kLeastGain = 0.005;
  // Of a median, from the median distance to it: for numbers that are normally distributed.
  constexpr double kStandardErrors = 2 * 1.4826 * 1.2533;
  size_t chosen = 0;
  for (size_t i = 0; i < finalists.size(); ++i) {
    const std::vector<int64_t>&own = round_medians[i], &first = round_medians[0];
    std::vector<double> quotients, distances;
    for (size_t r = 0; r < own.size(); ++r) {
      quotients.push_back(static_cast<double>(first[r]) / static_cast<double>(own[r]));
    }
    finalists[i].measured_ns = MedianOf(own);
    finalists[i].speedup = MedianOf(quotients);
    for (double quotient : quotients) distances.push_back(std::abs(quotient - finalists[i].speedup));
    finalists[i].noise = kStandardErrors * MedianOf(std::move(distances)) / std::sqrt(static_cast<double>(own.size()));
    const bool better = finalists[i].speedup - 1 > std::max(kLeastGain, finalists[i].noise);
    if (better && finalists[i].speedup > finalists[chosen].speedup) chosen = i;
  }
  return chosen;
}

Result<FinalChoice> RunFinalists(const PlanningScene& scene, const FinalistOptions& options) {
  if (options.most < 1 || options.rounds < 1) {
    return MakeError(ErrorCode::kUsage, "finalists.count", "finalists need at least one plan and one round");
  }
  FinalChoice choice;
  PT_ASSIGN(choice.finalists, MakeFinalists(scene, options.most));
  std::vector<Runner> runners;
  for (const Finalist& finalist : choice.finalists) {
    PT_ASSIGN(Runner runner, Runner::Make(scene, finalist.plan, options.inputs));
    runners.push_back(std::move(runner));
  }
  std::vector<std::vector<int64_t>> medians(runners.size());
  for (uint32_t round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < runners.size(); ++i) {
      PT_ASSIGN(const int64_t median, runners[i].MedianOfTurn(options.turn));
      medians[i].push_back(median);
    }
  }
  choice.chosen = ChooseFinalist(choice.finalists, medians);
  return choice;
}

}  // namespace pt
