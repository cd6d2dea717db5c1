// Every kind of fault, one by one, and every field of plans changed one at a time: what CheckPlan lets pass must be
// harmless by the oracle.
#include "partitiontuner/plan/check_plan.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <limits>

#include "lib/plan/check_rules.h"
#include "lib/plan/work.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/plan_json.h"
#include "test/testing/plan_oracle.h"
#include "test/testing/rounds.h"

namespace pt::check_plan_test {
namespace {

using testing::HasFault;
using testing::MakeWorld;
using testing::PlanOf;
using testing::World;

template <typename T>
size_t FirstStep(const Plan& plan) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [](const Step& s) { return std::holds_alternative<T>(s.work); });
  REQUIRE(found != plan.steps.end());
  return static_cast<size_t>(found - plan.steps.begin());
}

// Steps that the checker takes for elided and the executor does not, or the other way round.
std::vector<size_t> DisagreesOn(const World& world, const Plan& plan) {
  const PlanDescription description = testing::DescribePlan(world, plan);
  CheckedPlan checked{world.graph, world.platform, plan, {}};
  for (const Result<Candidate>& candidate : description.candidates) checked.candidates.push_back(&*candidate);
  const std::vector<Elided> elisions = ElisionsOf(checked, PlacementsOf(plan));
  const std::vector<bool> left_out = ElidedSteps(world.graph, plan);
  std::vector<size_t> steps;
  for (size_t s = 0; s < left_out.size(); ++s) {
    if (left_out[s] != (elisions[s] != Elided::kNo)) steps.push_back(s);
  }
  return steps;
}

TEST_CASE("CheckPlan, TakesThoseStepsForElidedThatTheExecutorLeavesOut", "[plan]") {
  size_t elided = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 8 + seed % 30), {}, seed);
    const Plan plan = PlanOf(world, "random", std::to_string(seed));
    INFO("seed " << seed);
    CHECK(DisagreesOn(world, plan).empty());
    for (const bool left_out : ElidedSteps(world.graph, plan)) elided += left_out;
  }
  CHECK(elided > 20);
}

// A plan with copies, reorders, waits and shared memory.
struct Base {
  World world = MakeWorld(testing::RandomGraph(11, 24), {}, 11);
  Plan plan = PlanOf(world, "random", "2");
};

TEST_CASE("CheckPlan, FindsEveryKindOfFault", "[plan]") {
  const Base base;
  const World& world = base.world;
  REQUIRE(testing::FaultText(world, base.plan) == "");
  const size_t copy = FirstStep<Copy>(base.plan);
  const size_t reorder = FirstStep<Reorder>(base.plan);
  const size_t run = FirstStep<RunGroup>(base.plan);
  Arena& arena = const_cast<Plan&>(base.plan).memory.at(DeviceId(0u));
  REQUIRE(arena.placements.size() > 3);

  const auto group = [&](Plan& p) -> RunGroup& { return std::get<RunGroup>(p.steps[run].work); };
  const auto placements = [](Plan& p) -> std::vector<Placement>& { return p.memory.at(DeviceId(0u)).placements; };
  struct Case {
    const char* id;
    std::function<void(Plan&)> damage;
  };
  const std::vector<Case> cases = {
      {"id_range", [&](Plan& p) { p.steps[run].unit = UnitId(99u); }},
      {"id_range", [&](Plan& p) { p.steps[run].unit = UnitId(); }},
      {"id_range", [&](Plan& p) { group(p).candidate = PlanCandidateId(9999u); }},
      {"id_range", [&](Plan& p) { group(p).out[0] = InstanceId(9999u); }},
      {"id_range", [&](Plan& p) { std::get<Copy>(p.steps[copy].work).link = LinkId(7u); }},
      {"id_range", [&](Plan& p) { p.instances[0].value = ValueId(9999u); }},
      {"id_range", [&](Plan& p) { p.instances[0].device = DeviceId(5u); }},
      {"id_range", [&](Plan& p) { p.candidates[0].nodes = {NodeId(9999u)}; }},
      {"id_range", [&](Plan& p) { p.candidates[0].unit_class = UnitClassId(77u); }},
      {"id_range", [&](Plan& p) { p.memory[DeviceId(9u)] = {}; }},
      {"id_range", [&](Plan& p) { placements(p)[0].instance = InstanceId(9999u); }},
      {"id_range", [&](Plan& p) { p.report.critical_path = {StepId(9999u)}; }},
      {"wait_order", [&](Plan& p) { p.steps[run].after = {StepId(run)}; }},
      {"wait_order", [&](Plan& p) { p.steps[0].after = {StepId(p.steps.size() - 1)}; }},
      {"number", [&](Plan& p) { p.steps[run].expected_ns = -1; }},
      {"number", [&](Plan& p) { p.steps[run].expected_start_ns = std::numeric_limits<int64_t>::min(); }},
      {"number", [&](Plan& p) { p.makespan.ns = -5; }},
      {"number", [&](Plan& p) { p.makespan.relative_error = std::numeric_limits<double>::quiet_NaN(); }},
      {"number", [&](Plan& p) { p.lower_bound_ns = -1; }},
      {"number", [&](Plan& p) { p.report.gap = std::numeric_limits<double>::infinity(); }},
      {"number", [&](Plan& p) { p.report.busy["cpu[0]"] = std::numeric_limits<double>::quiet_NaN(); }},
      {"candidate_nodes", [&](Plan& p) { p.candidates[0].nodes.clear(); }},
      {"candidate_nodes", [&](Plan& p) { p.candidates[0].nodes.push_back(p.candidates[0].nodes[0]); }},
      {"form", [&](Plan& p) { p.candidates[0].out.clear(); }},
      {"form", [&](Plan& p) { p.candidates[0].out[0].storage = DataType::kBfloat16; }},
      {"form", [&](Plan& p) { p.candidates[0].out[0].layout = RowMajor(3); }},
      {"form", [&](Plan& p) { p.instances[0].form.layout = RowMajor(2); }},
      {"alias",
       [&](Plan& p) {
         p.candidates[0].aliases.push_back({9, 0, Alias::Kind::kAllowed});
       }},
      {"instance_repeated", [&](Plan& p) { p.instances[1] = p.instances[0]; }},
      {"instance_constant",
       [&](Plan& p) {
         for (size_t v = 0; v < world.graph.values().size(); ++v) {
           if (world.graph.values()[v].is_constant())
             p.instances[0] = {ValueId(v), DeviceId(0u), {RowMajor(1), DataType::kFloat32}};
         }
       }},
      {"node_missing",
       [&](Plan& p) {
         for (Step& step : p.steps) {
           if (std::holds_alternative<RunGroup>(step.work)) p.steps[run].work = step.work;
         }
       }},
      {"node_repeated", [&](Plan& p) { p.steps.push_back(p.steps[run]); }},
      {"unit_class",
       [&](Plan& p) {
         const UnitId now = p.steps[run].unit;
         p.steps[run].unit = UnitId(now == UnitId(2u) ? 0u : 2u);
       }},
      {"step_instances", [&](Plan& p) { group(p).out.push_back(group(p).out[0]); }},
      {"step_instances", [&](Plan& p) { group(p).out[0] = InstanceId(group(p).out[0].index() == 0 ? 1u : 0u); }},
      {"copy",
       [&](Plan& p) { std::swap(std::get<Copy>(p.steps[copy].work).from, std::get<Copy>(p.steps[copy].work).to); }},
      {"copy",
       [&](Plan& p) {
         std::get<Copy>(p.steps[copy].work).link = LinkId(1 - std::get<Copy>(p.steps[copy].work).link.value);
       }},
      {"copy", [&](Plan& p) { p.steps[copy].unit = UnitId(0u); }},
      {"copy",  // to where its outermost positions lie twice as far apart
       [&](Plan& p) {
         const InstanceId to = std::get<Copy>(p.steps[copy].work).to;
         std::vector<Placement>& there = p.memory.at(p.instances[to.index()].device).placements;
         const auto place = std::ranges::find(there, to, &Placement::instance);
         const Form& form = p.instances[to.index()].form;
         const std::vector<int64_t> dims = *world.graph.value(p.instances[to.index()].value).type.static_dims();
         TensorLayout layout = DenseLayout(form.storage, dims, form.layout).value();
         layout.strides[0] *= 2;
         place->strides = layout.strides;
         place->bytes = BytesOf(layout).value();
       }},
      {"reorder",
       [&](Plan& p) { std::get<Reorder>(p.steps[reorder].work).to = std::get<Reorder>(p.steps[reorder].work).from; }},
      {"reorder", [&](Plan& p) { p.steps[reorder].unit = UnitId(p.steps[reorder].unit == UnitId(3u) ? 0u : 3u); }},
      {"memory_missing", [&](Plan& p) { placements(p).pop_back(); }},
      {"memory_missing", [&](Plan& p) { p.memory.clear(); }},
      {"memory_repeated", [&](Plan& p) { placements(p).push_back(placements(p)[0]); }},
      {"memory_bounds", [&](Plan& p) { placements(p)[0].offset = uint64_t{1} << 40; }},
      {"memory_bounds", [&](Plan& p) { placements(p)[0].offset = UINT64_MAX - 63; }},
      {"memory_bounds", [&](Plan& p) { p.memory.at(DeviceId(0u)).bytes = 64; }},
      {"memory_size", [&](Plan& p) { placements(p)[0].bytes -= 4; }},
      {"memory_extra",
       [&](Plan& p) {
         for (size_t i = 0; i < p.instances.size(); ++i) {
           if (IsExternal(world.graph, p.lent_on, p.instances[i])) placements(p).push_back({InstanceId(i), 0, 64, {}});
         }
       }},
      {"memory_alignment",
       [&](Plan& p) {
         const auto dense = std::find_if(placements(p).begin(), placements(p).end(),
                                         [](const Placement& x) { return x.strides.empty(); });
         REQUIRE(dense != placements(p).end());
         dense->offset += 4;
         p.memory.at(DeviceId(0u)).bytes += 64;
       }},
      {"memory_device",
       [&](Plan& p) {
         p.memory[DeviceId(1u)].placements.push_back(placements(p).back());
         p.memory[DeviceId(1u)].bytes += uint64_t{1} << 20;
         placements(p).pop_back();
       }},
      {"memory_strides",
       [&](Plan& p) {
         placements(p)[0].strides = {1, 2};
       }},
      {"memory_overlap",
       [&](Plan& p) {
         for (Placement& x : placements(p)) {
           if (x.strides.empty()) x.offset = 0;
         }
       }},
  };
  for (const Case& c : cases) {
    Plan damaged = base.plan;
    c.damage(damaged);
    INFO(c.id << ", case " << (&c - cases.data()) << ": " << testing::FaultText(world, damaged));
    CHECK(HasFault(world, damaged, c.id));
  }
}

TEST_CASE("CheckPlan, EveryLostWaitIsARace", "[plan]") {
  size_t waits = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 30), {}, seed);
    const Plan plan = PlanOf(world, "random", std::to_string(seed));
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      for (size_t a = 0; a < plan.steps[s].after.size(); ++a) {
        Plan damaged = plan;
        damaged.steps[s].after.erase(damaged.steps[s].after.begin() + static_cast<std::ptrdiff_t>(a));
        INFO("seed " << seed << ", step " << s);
        CHECK(HasFault(world, damaged, "race"));
        ++waits;
      }
    }
  }
  CHECK(waits > 50);
}

TEST_CASE("CheckPlan, LosingAnOutputIsFound", "[plan]") {
  const World world = MakeWorld(testing::Chain(3), {.accelerator = false});
  Plan plan = PlanOf(world, "single", "cpu");
  // The last result stays in another form than the caller's.
  plan.instances.push_back(plan.instances.back());
  Instance& moved = plan.instances[plan.instances.size() - 2];
  if (!IsExternal(world.graph, plan.lent_on, moved)) std::swap(moved, plan.instances.back());
  for (Instance& instance : plan.instances) {
    if (!world.graph.value(instance.value).is_graph_output) continue;
    instance.form.layout = ChannelsLast(4);
  }
  CHECK_FALSE(testing::FaultText(world, plan).empty());
}

// Calls visit on every integer of the JSON's tree, which may change it for the time of the call.
void ForEachNumber(Json& json, const std::string& path, const std::function<void(Json&, const std::string&)>& visit) {
  if (json.as_int() != nullptr) return visit(json, path);
  if (const Json::Array* array = json.as_array()) {
    auto& items = const_cast<Json::Array&>(*array);
    for (size_t i = 0; i < items.size(); ++i) ForEachNumber(items[i], path + "[" + std::to_string(i) + "]", visit);
  } else if (const Json::Object* object = json.as_object()) {
    for (auto& [key, value] : const_cast<Json::Object&>(*object)) {
      if (key != "made_for" && key != "report") ForEachNumber(value, path + "." + key, visit);
    }
  }
}

TEST_CASE("CheckPlan, EveryChangedNumberIsRefusedOrHarmless", "[plan]") {
  size_t changed = 0;
  size_t passed = 0;
  for (uint64_t seed = 1; seed <= testing::Rounds(20); ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 10), {}, seed);
    Json json = ToJson(PlanOf(world, "random", std::to_string(seed)), world.graph);
    ForEachNumber(json, "", [&](Json& number, const std::string& path) {
      const int64_t was = *number.as_int();
      for (int64_t delta : {-1, 1, 64}) {
        number = Json(was + delta);
        const Result<Plan> plan = PlanFromJson(json, "damaged");
        ++changed;
        if (plan.ok() && testing::FaultText(world, *plan).empty()) {
          ++passed;
          INFO("seed " << seed << ", " << path << ": " << was << " became " << was + delta);
          CHECK(testing::FirstBrokenRead(world, *plan) == "");
          CHECK(DisagreesOn(world, *plan).empty());
        }
      }
      number = Json(was);
    });
  }
  CHECK(changed > 250 * testing::Rounds(20));
  INFO(passed << " of " << changed << " changes are harmless");
  CHECK(passed < changed / 3);
}

}  // namespace
}  // namespace pt::check_plan_test
