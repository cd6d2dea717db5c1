// What a plan may compute in and store is what it was allowed: nothing but fp32 unless it says so.
#include "partitiontuner/plan/plan_precision.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "lib/plan/check_narrowing.h"
#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/plan_json.h"
#include "test/testing/planning_world.h"

namespace pt::plan_precision_test {
namespace {

using testing::HasFault;
using testing::MakeWorld;
using testing::World;

Plan ChainPlan(const World& world) { return testing::PlanOf(world, "single", "cpu"); }

bool Holds(const std::vector<InstanceId>& ids, InstanceId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What one group makes and only groups read.
InstanceId Between(const Plan& plan) {
  for (size_t i = 0; i < plan.instances.size(); ++i) {
    const InstanceId id(i);
    bool made = false, read = false, moved = false;
    for (const Step& step : plan.steps) {
      if (const auto* group = std::get_if<RunGroup>(&step.work)) {
        made |= Holds(group->out, id);
        read |= Holds(group->in, id);
      } else if (const auto* reorder = std::get_if<Reorder>(&step.work)) {
        moved |= reorder->from == id || reorder->to == id;
      }
    }
    if (made && read && !moved) return id;
  }
  FAIL("no instance lies between two groups");
  return {};
}

// That instance is stored as bf16, by candidates on both of its sides that the world offers from then on.
Plan NarrowPlan(World& world) {
  Plan plan = ChainPlan(world);
  const InstanceId between = Between(plan);
  plan.instances[between.index()].form.storage = DataType::kBfloat16;
  for (Step& step : plan.steps) {
    if (!std::holds_alternative<RunGroup>(step.work)) continue;
    RunGroup& group = std::get<RunGroup>(step.work);
    Candidate candidate = plan.candidates[group.candidate.index()];
    for (size_t i = 0; i < group.in.size(); ++i) {
      if (group.in[i] == between) candidate.in[i].storage = DataType::kBfloat16;
    }
    for (size_t i = 0; i < group.out.size(); ++i) {
      if (group.out[i] == between) candidate.out[i].storage = DataType::kBfloat16;
    }
    if (candidate.in == plan.candidates[group.candidate.index()].in &&
        candidate.out == plan.candidates[group.candidate.index()].out) {
      continue;
    }
    candidate.math = MathMode::kBf16;
    candidate.aliases.clear();
    group.candidate = PlanCandidateId(plan.candidates.size());
    world.candidates.push_back(candidate);
    plan.candidates.push_back(std::move(candidate));
  }
  plan.made_for.settings["precision"] = "fp32,bf16";
  REQUIRE(PlanMemory(world.graph, world.platform, plan).ok());
  return plan;
}

TEST_CASE("PlanPrecision, NarrowStorageNeedsThePrecisionAndTheMath", "[plan]") {
  World world = MakeWorld(testing::Chain(4), {.fused = false, .accelerator = false});
  const Plan narrow = NarrowPlan(world);
  CHECK(testing::FaultText(world, narrow) == "");
  CHECK(LoosestMath(narrow) == MathMode::kBf16);
  CHECK(LoosestMath(ChainPlan(world)) == MathMode::kFp32);

  Plan fp32 = narrow;
  fp32.made_for.settings["precision"] = "fp32";
  CHECK(HasFault(world, fp32, "precision"));
  Plan unsaid = narrow;
  unsaid.made_for.settings.erase("precision");
  CHECK(HasFault(world, unsaid, "precision"));
  Plan unknown = narrow;
  unknown.made_for.settings["precision"] = "fp31";
  CHECK(HasFault(world, unknown, "precision"));
  Plan wrong_math = narrow;
  for (Candidate& candidate : wrong_math.candidates) candidate.math = MathMode::kFp32;
  CHECK(HasFault(world, wrong_math, "form"));
}

// A detour over narrow storage loses digits without any candidate that says so.
TEST_CASE("PlanPrecision, InstancesAreHeldToThePlansPrecision", "[plan]") {
  const World world = MakeWorld(testing::Chain(4), {.fused = false, .accelerator = false});
  Plan plan = ChainPlan(world);
  Instance detour = plan.instances[Between(plan).index()];
  detour.form.storage = DataType::kBfloat16;
  plan.instances.push_back(detour);
  CHECK(HasFault(world, plan, "form"));
  plan.made_for.settings["precision"] = "bf16";
  CHECK_FALSE(HasFault(world, plan, "form"));
}

// An input lent as `made`, then stored as each of `on`, one after the other.
std::vector<std::string> FaultsOfWay(DataType made, const std::vector<DataType>& on) {
  const World world = MakeWorld(testing::Chain(1), {.fused = false, .accelerator = false});
  Plan plan;
  Instance at{world.graph.inputs()[0], DeviceId(0u), RowMajorForm(world.graph.value(world.graph.inputs()[0]).type)};
  at.form.storage = made;
  plan.instances.push_back(at);
  for (DataType storage : on) {
    at.form.storage = storage;
    plan.instances.push_back(at);
    plan.steps.push_back({});
    plan.steps.back().work = Reorder{InstanceId(plan.instances.size() - 2), InstanceId(plan.instances.size() - 1), ""};
  }
  std::vector<PlanFault> faults;
  CheckNarrowing({world.graph, world.platform, plan, {}}, faults);
  std::vector<std::string> ids;
  for (const PlanFault& fault : faults) ids.push_back(fault.id);
  return ids;
}

TEST_CASE("PlanPrecision, WhatWasStoredInLessIsNeverTakenForTheValue", "[plan]") {
  const DataType wide = DataType::kFloat32, narrow = DataType::kBfloat16, other = DataType::kFloat16;
  const std::vector<std::string> fault = {"narrowed"};
  CHECK(FaultsOfWay(wide, {narrow}).empty());
  CHECK(FaultsOfWay(wide, {wide, wide}).empty());
  CHECK(FaultsOfWay(wide, {wide, narrow, narrow}).empty());
  CHECK(FaultsOfWay(narrow, {wide, wide, narrow, wide}).empty());
  CHECK(FaultsOfWay(wide, {narrow, wide}) == fault);
  CHECK(FaultsOfWay(wide, {narrow, narrow, wide}) == fault);
  CHECK(FaultsOfWay(wide, {wide, narrow, wide, wide}) == std::vector<std::string>{"narrowed", "narrowed"});
  // Neither holds the other.
  CHECK(FaultsOfWay(wide, {narrow, other}) == fault);
  CHECK(FaultsOfWay(narrow, {other, wide}) == fault);
}

TEST_CASE("PlanPrecision, NarrowStorageHalvesTheBytes", "[plan]") {
  World world = MakeWorld(testing::Chain(4), {.fused = false, .accelerator = false});
  const Plan wide = ChainPlan(world), narrow = NarrowPlan(world);
  const InstanceId between = Between(wide);
  const auto bytes = [&](const Plan& plan) {
    for (const Placement& placement : plan.memory.at(DeviceId(0u)).placements) {
      if (placement.instance == between) return placement.bytes;
    }
    return uint64_t{0};
  };
  Plan placed = wide;
  REQUIRE(PlanMemory(world.graph, world.platform, placed).ok());
  CHECK(bytes(placed) > 0);
  CHECK(bytes(narrow) * 2 == bytes(placed));
}

TEST_CASE("PlanPrecision, PlansThatKeepNanAreHeldToWhatTheLibrariesSay", "[plan]") {
  const World world = MakeWorld(testing::Chain(4), {.fused = false, .accelerator = false});
  Plan plan = ChainPlan(world);
  PlanDescription description = testing::DescribePlan(world, plan);
  description.nan_droppers = {0};
  CHECK(MustKeepNan(plan).value() == false);
  CHECK(CheckPlan(world.graph, world.platform, plan, description).empty());

  plan.made_for.settings[std::string(kNanSetting)] = kKeepNan;
  CHECK(MustKeepNan(plan).value());
  const std::vector<PlanFault> faults = CheckPlan(world.graph, world.platform, plan, description);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].id == "nan");
  CHECK(faults[0].message.find("may lose NaN") != std::string::npos);
  description.nan_droppers.clear();
  CHECK(CheckPlan(world.graph, world.platform, plan, description).empty());
  const Result<Plan> again = PlanFromJson(ToJson(plan, world.graph), "plan");
  REQUIRE(again.ok());
  CHECK(MustKeepNan(*again).value());

  plan.made_for.settings[std::string(kNanSetting)] = "lose";
  CHECK(MustKeepNan(plan).error().code == ErrorCode::kInvalidInput);
  CHECK(HasFault(world, plan, "nan"));
}

TEST_CASE("PlanPrecision, QuantisationsAreCarriedAndChecked", "[plan]") {
  const World world = MakeWorld(testing::Chain(4), {.fused = false, .accelerator = false});
  Plan plan = ChainPlan(world);
  const Quantisation quantisation{Quantisation::kWholeTensor, {0.1F}, {-3}};
  plan.quantisations[IdOf(quantisation)] = quantisation;
  Instance quantised = plan.instances[Between(plan).index()];
  quantised.form = {quantised.form.layout, DataType::kInt8, IdOf(quantisation)};
  plan.instances.push_back(quantised);

  const Json json = ToJson(plan, world.graph);
  const Result<Plan> again = PlanFromJson(json, "plan");
  INFO((again.ok() ? "" : ToString(again.error())));
  REQUIRE(again.ok());
  CHECK(again->quantisations == plan.quantisations);
  CHECK(again->instances == plan.instances);
  CHECK(ToJson(*again, world.graph) == json);

  // No precision admits integers yet.
  CHECK(HasFault(world, plan, "form"));
  CHECK_FALSE(HasFault(world, plan, "quantisation"));
  Plan unknown = plan;
  unknown.quantisations.clear();
  CHECK(HasFault(world, unknown, "quantisation"));
  Plan changed = plan;
  changed.quantisations.begin()->second.scales[0] = 0.2F;
  CHECK(HasFault(world, changed, "quantisation"));
  CHECK_FALSE(PlanFromJson(ToJson(changed, world.graph), "plan").ok());
}

}  // namespace
}  // namespace pt::plan_precision_test
