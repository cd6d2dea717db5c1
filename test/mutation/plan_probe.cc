// Makes plans of many shapes by many planners and asks CheckPlan. test/mutation/run.py builds it with one line of the
// planner changed at a time: what made a plan illegal must be refused.
//
// Exit codes: 0 every plan is legal; 10 CheckPlan refuses one (named on standard output); 11 none is refused, but some
// planner made no plan.
#include <cstdio>
#include <string>
#include <vector>

#include "test/testing/planning_world.h"

namespace pt {
namespace {

using testing::MakeWorld;
using testing::World;

constexpr int kRefused = 10, kNoPlan = 11;

// Every third input and output lies on the accelerator.
World WithLentValues(World world) {
  for (const std::span<const ValueId> values : {world.graph.inputs(), world.graph.outputs()}) {
    for (const ValueId value : values) {
      if (value.value % 3 != 0 || !LendingFault(world.graph, world.platform, value, DeviceId(1u)).empty()) continue;
      world.constraints.lent_on[value] = DeviceId(1u);
    }
  }
  return world;
}

std::vector<World> Worlds() {
  std::vector<World> worlds;
  worlds.push_back(MakeWorld(testing::Chain(8)));
  worlds.push_back(MakeWorld(testing::Inception(2)));
  worlds.push_back(MakeWorld(testing::Residual(3)));
  worlds.push_back(MakeWorld(testing::TwoConcatenations()));
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    worlds.push_back(MakeWorld(testing::RandomGraph(seed, 6 + 2 * seed), {}, seed));
    if (seed % 4 == 0) worlds.push_back(WithLentValues(worlds.back()));
  }
  return worlds;
}

std::vector<std::string> PlannerNames() {
  std::vector<std::string> names = {"single:cpu", "single:acc:0",         "per-op",
                                    "heft",       "partitiontuner:paper", "wavefront"};
  for (int seed = 1; seed <= 8; ++seed) names.push_back("random:" + std::to_string(seed));
  return names;
}

int Probe() {
  int code = 0;
  const std::vector<World> worlds = Worlds();
  for (size_t w = 0; w < worlds.size(); ++w) {
    for (const std::string& name : PlannerNames()) {
      PlanningProblem problem = worlds[w].problem();
      const size_t colon = name.find(':');
      if (colon != std::string::npos) problem.argument = std::string_view(name).substr(colon + 1);
      const Result<Plan> plan = FindPlanner(name).value()->make_plan(problem, nullptr);
      if (!plan.ok()) {
        std::printf("world %zu, %s: no plan: %s\n", w, name.c_str(), ToString(plan.error()).c_str());
        code = kNoPlan;
        continue;
      }
      const std::string faults = testing::FaultText(worlds[w], *plan);
      if (faults.empty()) continue;
      std::printf("world %zu, %s: %s", w, name.c_str(), faults.c_str());
      return kRefused;
    }
  }
  return code;
}

}  // namespace
}  // namespace pt

int main() { return pt::Probe(); }
