// What the rules `operator` and `path` leave to the run: complete, legal whatever is decided, and the planners' own
// decisions where everything takes the time that was predicted.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <map>
#include <random>
#include <set>

#include "lib/exec/dispatch_queue.h"
#include "partitiontuner/planner/dispatch.h"
#include "test/testing/planning_world.h"

namespace pt::dispatch_plan_test {
namespace {

using testing::World;

DispatchPlan DispatchOf(const World& world, DispatchRule rule) {
  Result<DispatchPlan> dispatch = MakeDispatchPlan(world.problem(), rule);
  if (!dispatch.ok()) FAIL(ToString(dispatch.error()));
  const Status checked = CheckDispatchPlan(world.platform, *dispatch);
  if (!checked.ok()) FAIL(ToString(checked.error()));
  return std::move(dispatch).value();
}

// Of units that run one step at a time, nothing overwritten: what the rules choose from.
void KeepNarrow(World& world) {
  std::erase_if(world.candidates, [&](const Candidate& candidate) {
    const bool overwrites =
        std::ranges::any_of(candidate.aliases, [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; });
    return overwrites || world.platform.unit_class(candidate.unit_class).cores > 1;
  });
}

using Placed = std::map<std::vector<NodeId>, UnitId>;

void Note(const Plan& plan, const Step& step, Placed& placed) {
  if (const auto* group = std::get_if<RunGroup>(&step.work)) {
    placed[plan.candidates[group->candidate.index()].nodes] = step.unit;
  }
}

// A run in which every task takes what was predicted and nothing has to be moved.
Placed RunAsPredicted(const World& world, const DispatchPlan& dispatch) {
  DispatchQueue queue(dispatch.table, world.platform.units.size());
  queue.Begin();
  queue.Decide(0);
  std::multimap<int64_t, uint32_t> ends;  // by time
  std::vector<int64_t> free_at(world.platform.units.size(), 0);
  Placed placed;
  for (int64_t now = 0; !queue.is_done();) {
    for (uint32_t u = 0; u < free_at.size(); ++u) {
      for (uint32_t task = queue.Take(UnitId(u)); task != DispatchQueue::kNoTask; task = queue.Take(UnitId(u))) {
        const DispatchPlacement& placement = queue.placement(task);
        free_at[u] = std::max(free_at[u], now) + placement.expected_ns;
        ends.emplace(free_at[u], task);
        for (StepId step : placement.steps) Note(dispatch.plan, dispatch.plan.steps[step.index()], placed);
      }
    }
    now = ends.begin()->first;
    while (!ends.empty() && ends.begin()->first == now) {
      queue.Finish(ends.begin()->second, now);
      ends.erase(ends.begin());
    }
    queue.Decide(now);
  }
  return placed;
}

void CheckTwin(World world) {
  KeepNarrow(world);
  for (const auto& [rule, name] :
       {std::pair(DispatchRule::kOperator, "operator"), std::pair(DispatchRule::kPath, "path")}) {
    CAPTURE(name);
    const Plan plan = testing::PlanOf(world, name);
    Placed planned;
    for (const Step& step : plan.steps) Note(plan, step, planned);
    CHECK(RunAsPredicted(world, DispatchOf(world, rule)) == planned);
  }
}

TEST_CASE("DispatchPlan, WhatIsDecidedAsPredictedIsThePlannersPlan", "[planner]") {
  const uint64_t seed = GENERATE(range(1, 21));
  CAPTURE(seed);
  // The planners' clock knows moves and hand-overs, which the run meets as they come: here there are none.
  testing::WorldOptions options;
  options.elided = options.blocked = options.accelerator = false;
  options.cores = 4;
  World world = testing::MakeWorld(testing::RandomGraph(seed, 24), options, seed);
  for (size_t from = 0; from < world.platform.unit_classes.size(); ++from) {
    for (size_t to = 0; to < world.platform.unit_classes.size(); ++to) {
      world.costs.SetWait(UnitClassId(from), UnitClassId(to), 0);
      world.costs.SetFetch(UnitClassId(from), UnitClassId(to), 0);
    }
  }
  CheckTwin(std::move(world));
}

TEST_CASE("DispatchPlan, EveryDecisionIsALegalPlan", "[planner]") {
  const uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  const World world = testing::MakeWorld(testing::RandomGraph(seed, 20), {}, seed);
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (const DispatchRule rule : {DispatchRule::kOperator, DispatchRule::kPath}) {
    const DispatchPlan dispatch = DispatchOf(world, rule);
    for (int i = 0; i < 8; ++i) {
      std::vector<uint32_t> choices;
      for (const DispatchTask& task : dispatch.table.tasks) {
        choices.push_back(static_cast<uint32_t>(random() % task.placements.size()));
      }
      const Result<Plan> plan = StaticPlanOf(world.graph, world.platform, dispatch, choices);
      if (!plan.ok()) FAIL(ToString(plan.error()));
      CHECK(testing::FaultText(world, *plan) == "");
    }
  }
}

TEST_CASE("DispatchPlan, EveryTaskHasEveryCoreAndTheAcceleratorAndNoWideUnit", "[planner]") {
  const World world = testing::MakeWorld(testing::Diamond());
  const DispatchPlan dispatch = DispatchOf(world, DispatchRule::kOperator);
  for (const DispatchTask& task : dispatch.table.tasks) {
    std::set<std::string> units;
    for (const DispatchPlacement& placement : task.placements) {
      units.insert(world.platform.unit(placement.unit).name);
      CHECK(placement.steps.size() == 1);
    }
    CHECK(units == std::set<std::string>{"acc:0#0", "cpu[0]", "cpu[1]"});
  }
}

TEST_CASE("DispatchPlan, APathIsAllBetweenForkAndJoin", "[planner]") {
  // A chain is one task; of a diamond the branches are.
  const World chain = testing::MakeWorld(testing::Chain(6), {.fused = false});
  CHECK(DispatchOf(chain, DispatchRule::kPath).table.tasks.size() == 1);
  CHECK(DispatchOf(chain, DispatchRule::kOperator).table.tasks.size() == chain.graph.nodes().size());
  const World diamond = testing::MakeWorld(testing::Diamond(), {.fused = false});
  CHECK(DispatchOf(diamond, DispatchRule::kPath).table.tasks.size() == 4);
}

TEST_CASE("DispatchPlan, APathEndsWhereOtherUnitsCanGoOn", "[planner]") {
  World world = testing::MakeWorld(testing::Chain(4), {.fused = false});
  std::erase_if(world.candidates, [&](const Candidate& candidate) {
    return candidate.nodes == std::vector{NodeId(2u)} && !world.platform.unit_class(candidate.unit_class).on_host();
  });
  const DispatchPlan dispatch = DispatchOf(world, DispatchRule::kPath);
  REQUIRE(dispatch.table.tasks.size() == 3);
  CHECK(dispatch.table.tasks[0].placements[0].steps.size() == 2);
  CHECK(dispatch.table.tasks[1].placements.size() == 2);  // the cores alone
}

TEST_CASE("DispatchPlan, WhatCannotBeDecidedInTheRunIsRefused", "[planner]") {
  World world = testing::MakeWorld(testing::Diamond());
  world.constraints.total_memory_cap = 1;
  const auto capped = MakeDispatchPlan(world.problem(), DispatchRule::kOperator);
  REQUIRE_FALSE(capped.ok());
  CHECK(capped.error().code == ErrorCode::kOutOfMemory);
  world.constraints.total_memory_cap.reset();
  std::erase_if(world.candidates, [&](const Candidate& candidate) {
    const UnitClass& unit_class = world.platform.unit_class(candidate.unit_class);
    return unit_class.on_host() && unit_class.cores == 1;
  });
  std::erase_if(world.candidates, [&](const Candidate& candidate) {
    return candidate.nodes == std::vector{NodeId(1u)} && !world.platform.unit_class(candidate.unit_class).on_host();
  });
  const auto wide = MakeDispatchPlan(world.problem(), DispatchRule::kOperator);
  REQUIRE_FALSE(wide.ok());
  CHECK(wide.error().code == ErrorCode::kInfeasible);
  CHECK(DispatchRuleNamed("path").value() == DispatchRule::kPath);
  CHECK(DispatchRuleNamed("heft").error().code == ErrorCode::kUsage);
}

TEST_CASE("DispatchPlan, DamageIsFound", "[planner]") {
  const World world = testing::MakeWorld(testing::Diamond());
  const DispatchPlan good = DispatchOf(world, DispatchRule::kOperator);
  const auto fault = [&](auto damage) {
    DispatchPlan damaged = good;
    damage(damaged);
    const Status status = CheckDispatchPlan(world.platform, damaged);
    return status.ok() ? std::string() : status.error().id;
  };
  CHECK(fault([](DispatchPlan&) {}) == "");
  CHECK(fault([](DispatchPlan& d) { d.table.tasks[0].readers.pop_back(); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.table.tasks[0].readers.push_back(99); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { ++d.table.tasks[1].makers; }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.table.tasks[1].placements.clear(); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.table.tasks[1].placements[0].steps = {StepId(99999u)}; }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.table.tasks[1].placements[0].steps = d.table.tasks[0].placements[0].steps; }) ==
        "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.plan.steps[0].unit = UnitId(1u); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.plan.steps[0].unit = UnitId(9999u); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { std::get<RunGroup>(d.plan.steps[0].work).in[0] = InstanceId(9999u); }) ==
        "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.table.routes[0].moves.clear(); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.table.routes[0].moves = {9999}; }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { std::swap(d.table.routes[0], d.table.routes[1]); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) {
          const auto route = std::ranges::find_if(d.table.routes, [](const auto& r) { return r.moves.size() > 1; });
          REQUIRE(route != d.table.routes.end());
          const InstanceId middle = d.table.moves[route->moves[0]].to;
          d.plan.instances[middle.index()].form.storage = DataType::kBfloat16;
        }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.table.moves[0].steps.clear(); }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) {
          auto& placements = d.plan.memory.at(kHostDevice).placements;
          REQUIRE(placements.size() > 1);
          placements[1].offset = placements[0].offset;
        }) == "dispatch.fault");
  CHECK(fault([](DispatchPlan& d) { d.plan.memory.at(kHostDevice).bytes = 1; }) == "dispatch.fault");
}

}  // namespace
}  // namespace pt::dispatch_plan_test
