// One suite for every planner of the table on many shapes: legal, complete, deterministic, predicted as scheduled.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/transform/rewrites.h"
#include "test/testing/planning_world.h"
#include "test/testing/rounds.h"

namespace pt::planners_test {
namespace {

using testing::MakeWorld;
using testing::World;
using testing::WorldOptions;

struct NamedWorld {
  std::string name;
  World world;
};

std::vector<NamedWorld> Worlds() {
  std::vector<NamedWorld> worlds;
  worlds.push_back({"one node", MakeWorld(testing::Chain(1))});
  worlds.push_back({"chain", MakeWorld(testing::Chain(12))});
  worlds.push_back({"diamond", MakeWorld(testing::Diamond())});
  worlds.push_back({"inception", MakeWorld(testing::Inception(3))});
  worlds.push_back({"residual", MakeWorld(testing::Residual(4))});
  worlds.push_back({"residual on the host", MakeWorld(testing::Residual(4), {.accelerator = false})});
  worlds.push_back({"three requests", MakeWorld(RepeatRequests(testing::Inception(1), 3).value())});
  worlds.push_back({"inception with contention", MakeWorld(testing::Inception(2), {.contention = true})});
  worlds.push_back({"inception with segments", MakeWorld(testing::Inception(2), {.captures = true})});
  for (uint64_t seed = 1; seed <= testing::Rounds(12); ++seed) {
    worlds.push_back({"random " + std::to_string(seed), MakeWorld(testing::RandomGraph(seed, 5 + seed * 4), {}, seed)});
    // The same where every third input and output lies on the accelerator.
    World lent = worlds.back().world;
    for (const std::span<const ValueId> values : {lent.graph.inputs(), lent.graph.outputs()}) {
      for (const ValueId value : values) {
        const bool chosen = (value.value + seed) % 3 == 0;
        if (!chosen || !LendingFault(lent.graph, lent.platform, value, DeviceId(1u)).empty()) continue;
        lent.constraints.lent_on[value] = DeviceId(1u);
      }
    }
    worlds.push_back({"random " + std::to_string(seed) + " with values lent on the device", std::move(lent)});
  }
  return worlds;
}

Result<Plan> PlanBy(const World& world, const std::string& name, Explanations* explanations = nullptr) {
  PT_ASSIGN(const Planner* planner, FindPlanner(name));
  PlanningProblem problem = world.problem();
  const size_t colon = name.find(':');
  if (colon != std::string::npos) problem.argument = std::string_view(name).substr(colon + 1);
  return planner->make_plan(problem, explanations);
}

// For graphs of several requests, or with recurrent layers, alone.
bool IsFor(const World& world, std::string_view planner) {
  if (planner != "throughput" && planner != "rnn-pipeline") return true;
  const Result<Plan> plan = PlanBy(world, std::string(planner));
  return plan.ok() || (plan.error().id != "planner.one_request" && plan.error().id != "planner.no_layers");
}

std::vector<std::string> Names(const World& world) {
  std::vector<std::string> names;
  for (const Planner& planner : Planners()) {
    if (!IsFor(world, planner.name)) continue;
    if (planner.name == "single") {
      for (const Device& device : world.platform.devices) names.push_back("single:" + device.name);
    } else if (planner.name == "random") {
      for (int seed = 1; seed <= 10; ++seed) names.push_back("random:" + std::to_string(seed));
    } else if (planner.name != "exact") {  // takes small models only: exact_test.cc
      names.emplace_back(planner.name);
      if (!planner.variant.empty()) names.push_back(names.back() + ":" + std::string(planner.variant));
    }
  }
  return names;
}

// Made once for all tests that only look at it.
const Result<Plan>& KnownPlan(const NamedWorld& named, const std::string& name) {
  static std::map<std::pair<std::string, std::string>, Result<Plan>> plans;
  const auto known = plans.find({named.name, name});
  if (known != plans.end()) return known->second;
  return plans.emplace(std::pair(named.name, name), PlanBy(named.world, name)).first->second;
}

TEST_CASE("EveryPlanner, MakesLegalCompletePlans", "[planner]") {
  for (const NamedWorld& named : Worlds()) {
    for (const std::string& name : Names(named.world)) {
      INFO(named.name << ", " << name);
      const Result<Plan>& plan = KnownPlan(named, name);
      INFO((plan.ok() ? "" : ToString(plan.error())));
      REQUIRE(plan.ok());
      CHECK(testing::FaultText(named.world, *plan) == "");
      CHECK(plan->planner == name);
      CHECK(plan->makespan.ns > 0);
    }
  }
}

TEST_CASE("EveryPlanner, PlansValuesInMoreThan64PlacesAndForms", "[planner]") {
  // Whatever the form, some candidate makes it and some takes it; one pair is far cheaper than all others.
  World world = MakeWorld(testing::Chain(3));
  Layout layout = RowMajor(4);
  Form cheap;
  const std::vector<Candidate> before = world.candidates;
  size_t forms = 0;
  do {
    for (const bool blocked : {false, true}) {
      layout.blocks.clear();
      if (blocked) layout.blocks.push_back({1, 8});
      ++forms;
      for (const Candidate& candidate : before) {
        const bool makes = candidate.nodes == std::vector{NodeId(0u)};
        if ((!makes && candidate.nodes != std::vector{NodeId(1u)}) || candidate.unit_class != UnitClassId(0u)) continue;
        if (candidate.in.size() != 1 || candidate.out.size() != 1 || candidate.elision != Elision::kNone) continue;
        Candidate other = candidate;
        other.aliases.clear();
        other.variant = "form " + std::to_string(forms) + " of " + candidate.variant;
        (makes ? other.out : other.in)[0].layout = layout;
        cheap = (makes ? other.out : other.in)[0];
        world.costs.SetRunOf(other, forms == 48 ? 1 : 1'000'000);
        world.candidates.push_back(std::move(other));
      }
    }
  } while (std::next_permutation(layout.order.begin(), layout.order.end()));
  REQUIRE(forms == 48);  // on two devices
  for (const std::string& name : Names(world)) {
    INFO(name);
    const Result<Plan> plan = PlanBy(world, name);
    INFO((plan.ok() ? "" : ToString(plan.error())));
    REQUIRE(plan.ok());
    CHECK(testing::FaultText(world, *plan) == "");
    if (name != "search") continue;
    CHECK(std::any_of(plan->instances.begin(), plan->instances.end(),
                      [&](const Instance& instance) { return instance.form == cheap; }));
  }
}

TEST_CASE("EveryPlanner, CopiesNothingThatIsLentWhereItIsUsed", "[planner]") {
  // All on the accelerator: with inputs and outputs there as well, no copy is left.
  World world = MakeWorld(testing::Chain(6));
  for (size_t node = 0; node < world.graph.nodes().size(); ++node) {
    for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) {
      if (world.platform.unit_classes[c].device != DeviceId(1u)) {
        world.constraints.forbid.emplace_back(NodeId(node), UnitClassId(c));
      }
    }
  }
  const auto copies = [](const Plan& plan) {
    return std::ranges::count_if(plan.steps, [](const Step& step) { return std::holds_alternative<Copy>(step.work); });
  };
  for (const std::string& name : Names(world)) {
    if (name == "single:cpu") continue;
    INFO(name);
    world.constraints.lent_on = {};
    const Plan from_host = PlanBy(world, name).value();
    for (const std::span<const ValueId> values : {world.graph.inputs(), world.graph.outputs()}) {
      for (const ValueId value : values) world.constraints.lent_on[value] = DeviceId(1u);
    }
    const Plan in_place = PlanBy(world, name).value();
    CHECK(testing::FaultText(world, in_place) == "");
    CHECK(in_place.lent_on == world.constraints.lent_on);
    CHECK(copies(from_host) >= 2);
    if (!name.starts_with("random")) CHECK(copies(in_place) == 0);
    CHECK(PlanFromJson(ToJson(in_place, world.graph), "plan")->lent_on == in_place.lent_on);
  }
}

TEST_CASE("EveryPlanner, StoresNothingInLessOnTheWay", "[planner]") {
  // Every second candidate has a twin that reads and makes bfloat16, and every change of form is cheap
  // that begins or ends there: two of them through bfloat16 take less time than one that keeps float32.
  World world = MakeWorld(testing::Residual(4));
  const std::vector<Candidate> exact = world.candidates;
  for (size_t c = 0; c < exact.size(); c += 2) {
    Candidate lower = exact[c];
    lower.math = MathMode::kBf16;
    lower.variant += " in bf16";
    lower.aliases.clear();
    for (Form& form : lower.in) form.storage = DataType::kBfloat16;
    for (Form& form : lower.out) form.storage = DataType::kBfloat16;
    if (lower.elision != Elision::kNone) continue;
    world.costs.SetRunOf(lower, world.costs.OfStep(exact[c]).run.value().ns);
    world.candidates.push_back(std::move(lower));
  }
  world.costs.SetReorder([](std::span<const int64_t>, const Form& from, const Form& to, UnitClassId) {
    return from.storage == DataType::kFloat32 && to.storage == DataType::kFloat32 ? 100'000 : 10;
  });
  for (const std::string& name : Names(world)) {
    INFO(name);
    Plan plan = PlanBy(world, name).value();
    plan.made_for.settings["precision"] = "fp32,bf16";
    CHECK(testing::FaultText(world, plan) == "");
  }
}

TEST_CASE("EveryPlanner, ComputesInFp32WhatMustBe", "[planner]") {
  // Every candidate has a twin in bf16 that takes a tenth of the time.
  World world = MakeWorld(testing::Residual(4));
  const std::vector<Candidate> exact = world.candidates;
  for (const Candidate& candidate : exact) {
    Candidate lower = candidate;
    lower.math = MathMode::kBf16;
    lower.variant += " in bf16";
    world.costs.SetRunOf(lower, world.costs.OfStep(candidate).run.value().ns / 10);
    world.candidates.push_back(std::move(lower));
  }
  for (size_t node = 0; node < world.graph.nodes().size(); ++node) {
    if (node % 5 < 2) world.constraints.in_fp32.insert(NodeId(node));
  }
  for (const std::string& name : Names(world)) {
    INFO(name);
    Plan plan = PlanBy(world, name).value();
    plan.made_for.settings["precision"] = "fp32,bf16";
    CHECK(testing::FaultText(world, plan) == "");
    size_t lowered = 0;
    for (const Candidate& candidate : plan.candidates) {
      if (candidate.math == MathMode::kFp32) continue;
      ++lowered;
      for (const NodeId node : candidate.nodes) CHECK_FALSE(world.constraints.in_fp32.contains(node));
    }
    if (!name.starts_with("random")) CHECK(lowered > 0);
  }
}

TEST_CASE("Planner, RefusesToPlanForValuesThatCannotBeLentThere", "[planner]") {
  World world = MakeWorld(testing::Chain(3));
  const ValueId between = world.graph.nodes()[0].outputs[0];
  world.constraints.lent_on = {{between, DeviceId(1u)}};
  const Result<Plan> refused = PlanBy(world, "heft");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUsage);
  CHECK(refused.error().message.find("is neither an input nor an output of the model") != std::string::npos);
}

TEST_CASE("EveryPlanner, IsDeterministic", "[planner]") {
  for (const NamedWorld& named : Worlds()) {
    for (const std::string& name : Names(named.world)) {
      INFO(named.name << ", " << name);
      const Plan& first = KnownPlan(named, name).value();
      const Plan second = PlanBy(named.world, name).value();
      CHECK(WriteJson(ToJson(first, named.world.graph)) == WriteJson(ToJson(second, named.world.graph)));
    }
  }
}

TEST_CASE("Search, IsNeverBehindAnyOther", "[planner]") {
  for (const NamedWorld& named : Worlds()) {
    const int64_t search = KnownPlan(named, "search").value().makespan.ns;
    for (const std::string& name : Names(named.world)) {
      INFO(named.name << ", " << name);
      CHECK(search <= KnownPlan(named, name).value().makespan.ns);
    }
  }
}

TEST_CASE("EveryBound, IsBelowEveryPlan", "[planner]") {
  for (const NamedWorld& named : Worlds()) {
    const std::vector<Bound> bounds = LowerBounds(named.world.problem());
    REQUIRE(bounds.size() == 8);
    for (const std::string& name : Names(named.world)) {
      const int64_t makespan = KnownPlan(named, name).value().makespan.ns;
      for (const Bound& bound : bounds) {
        INFO(named.name << ", " << name << ", " << bound.name);
        CHECK(bound.ns <= makespan);
      }
    }
    for (const Bound& bound : bounds) CHECK(bound.ns > 0);
  }
}

TEST_CASE("PathBound, LaunchesThatAQueueHidesAreNotInIt", "[planner]") {
  // Everything must go to the accelerator and change its form there twice: the queue launches the second reorder while
  // the first still runs.
  World world = MakeWorld(testing::Chain(1), {.fused = false, .elided = false});
  const UnitClassId queue = world.platform.unit(FindUnit(world.platform, "acc:0#0")).unit_class;
  std::erase_if(world.candidates, [&](const Candidate& c) { return c.unit_class != queue || c.variant != "blocked"; });
  world.costs.SetReorder([&](std::span<const int64_t>, const Form&, const Form&, UnitClassId unit_class) {
    return unit_class == queue ? std::optional<int64_t>(5000) : std::nullopt;
  });
  for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) world.costs.SetOverhead(UnitClassId(c), 1000);
  const int64_t makespan = PlanBy(world, "single:acc:0").value().makespan.ns;
  for (const Bound& bound : LowerBounds(world.problem())) {
    INFO(bound.name);
    CHECK(bound.ns <= makespan);
  }
}

TEST_CASE("RandomPlanner, UsesEveryUnitAndForm", "[planner]") {
  const World world = MakeWorld(testing::RandomGraph(5, 40));
  std::set<UnitId> units;
  std::set<std::string> variants;
  size_t fused = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    const Plan plan = PlanBy(world, "random:" + std::to_string(seed)).value();
    for (const Step& step : plan.steps) {
      units.insert(step.unit);
      if (const auto* group = std::get_if<RunGroup>(&step.work)) {
        variants.insert(plan.candidates[group->candidate.index()].variant);
        fused += plan.candidates[group->candidate.index()].nodes.size() > 1;
      }
    }
  }
  CHECK(units.size() == world.platform.units.size());
  CHECK(variants.size() == 2);
  CHECK(fused > 0);
}

TEST_CASE("Explanations, TellOfEveryNode", "[planner]") {
  const World world = MakeWorld(testing::Inception(1));
  Explanations explanations;
  const Plan with = PlanBy(world, "search", &explanations).value();
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) {
    const auto lines = explanations.of(NodeId(n));
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].find("step ") == 0);
    CHECK(lines[1].find("slack ") != std::string::npos);
    CHECK(lines[3].find("alternatives: ") == 0);
    CHECK(lines[3].find(" by made-up ") != std::string::npos);
  }
  const Plan without = PlanBy(world, "search").value();
  CHECK(WriteJson(ToJson(with, world.graph)) == WriteJson(ToJson(without, world.graph)));
}

TEST_CASE("Planner, NamesTheNodeThatNothingRuns", "[planner]") {
  World world = MakeWorld(testing::Chain(4));
  std::erase_if(world.candidates, [](const Candidate& c) {
    return std::find(c.nodes.begin(), c.nodes.end(), NodeId(2u)) != c.nodes.end();
  });
  const Result<Plan> plan = PlanBy(world, "search");
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().code == ErrorCode::kInfeasible);
  CHECK(plan.error().node.find("Conv") != std::string::npos);
}

TEST_CASE("Planner, UnknownNameListsTheKnownOnes", "[planner]") {
  const Result<const Planner*> planner = FindPlanner("fastest");
  REQUIRE_FALSE(planner.ok());
  CHECK(planner.error().code == ErrorCode::kUsage);
  CHECK(planner.error().hint.find("partitiontuner") != std::string::npos);
  const World world = MakeWorld(testing::Chain(2));
  CHECK(PlanBy(world, "single:gpu").error().code == ErrorCode::kUsage);
  CHECK(PlanBy(world, "random:x").error().code == ErrorCode::kUsage);
}

TEST_CASE("Planner, KeepsPinsAndForbids", "[planner]") {
  World world = MakeWorld(testing::Residual(3));
  PlanningProblem problem = world.problem();
  const UnitClassId narrow(0u);
  problem.constraints.pin = {{NodeId(3u), narrow}};
  problem.constraints.forbid = {{NodeId(0u), UnitClassId(1u)}, {NodeId(0u), UnitClassId(2u)}};
  const Plan plan = FindPlanner("search").value()->make_plan(problem, nullptr).value();
  CHECK(testing::FaultText(world, plan) == "");
  for (const Candidate& candidate : plan.candidates) {
    for (NodeId node : candidate.nodes) {
      if (node == NodeId(3u) || node == NodeId(0u)) CHECK(candidate.unit_class == narrow);
    }
  }
}

}  // namespace
}  // namespace pt::planners_test
