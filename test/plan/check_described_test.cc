// What a plan says of its kernels against what their libraries say: the file is believed in nothing.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "partitiontuner/plan/memory_plan.h"
#include "test/testing/plan_oracle.h"

namespace pt::check_described_test {
namespace {

using testing::HasFault;
using testing::MakeWorld;
using testing::PlanOf;
using testing::World;

Placement& PlaceOf(Plan& plan, InstanceId instance) {
  for (auto& [device, arena] : plan.memory) {
    for (Placement& placement : arena.placements) {
      if (placement.instance == instance) return placement;
    }
  }
  FAIL("the instance has no place");
  throw 0;
}

// The first step whose candidate is as wanted, as its group and candidate.
std::pair<RunGroup*, Candidate*> FindKernel(Plan& plan, const std::function<bool(const Candidate&)>& wanted) {
  for (Step& step : plan.steps) {
    auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    Candidate& candidate = plan.candidates[group->candidate.index()];
    if (wanted(candidate)) return {group, &candidate};
  }
  FAIL("no such kernel in the plan");
  return {};
}

std::string MessageOf(const World& world, const Plan& plan, const std::string& id) {
  for (const PlanFault& fault : CheckPlan(world.graph, world.platform, plan, testing::DescribePlan(world, plan))) {
    if (fault.id == id) return fault.message;
  }
  return "";
}

TEST_CASE("CheckPlan, AReluMarkedAsAViewIsRefused", "[plan]") {
  const World world = MakeWorld(testing::Chain(5), {.fused = false, .blocked = false, .accelerator = false});
  Plan plan = PlanOf(world, "single", "cpu");
  const auto [group, relu] =
      FindKernel(plan, [&](const Candidate& c) { return world.graph.node(c.nodes[0]).op == "Relu"; });
  relu->elision = Elision::kViewOfInput;
  PlaceOf(plan, group->out[0]).offset = PlaceOf(plan, group->in[0]).offset;
  CHECK(HasFault(world, plan, "candidate_field"));
  CHECK(testing::FirstBrokenRead(world, plan) != "");
}

TEST_CASE("CheckPlan, ADeletedRequiredAliasIsRefused", "[plan]") {
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const World world = MakeWorld(testing::Residual(2), {.accelerator = false}, seed);
    Plan plan = PlanOf(world, "random", std::to_string(seed));
    for (Candidate& candidate : plan.candidates) {
      const auto required = [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; };
      if (std::none_of(candidate.aliases.begin(), candidate.aliases.end(), required)) continue;
      candidate.aliases.clear();
      ++found;
      INFO("seed " << seed);
      CHECK(MessageOf(world, plan, "candidate_field").find("aliases is [] in the plan") != std::string::npos);
      // Nor does it help to plan the memory anew, so that the result no longer lies on what it accumulates into.
      REQUIRE(PlanMemory(world.graph, world.platform, plan).ok());
      CHECK(HasFault(world, plan, "candidate_field"));
      break;
    }
  }
  CHECK(found > 5);
}

TEST_CASE("CheckPlan, EveryFieldOfACandidateIsHeldToItsLibrary", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(11, 24), {}, 11);
  const Plan plan = PlanOf(world, "random", "2");
  const std::vector<std::pair<std::string, std::function<void(Candidate&)>>> edits = {
      {"scratch_bytes", [](Candidate& c) { c.scratch_bytes += 64; }},
      {"constant_bytes", [](Candidate& c) { c.constant_bytes += 1; }},
      {"elision",
       [](Candidate& c) { c.elision = c.elision == Elision::kNone ? Elision::kViewOfInput : Elision::kNone; }},
      {"aliases",
       [](Candidate& c) {
         if (c.aliases.empty()) {
           c.aliases.push_back({0, 0, Alias::Kind::kAllowed});
         } else {
           c.aliases.clear();
         }
       }},
  };
  for (size_t c = 0; c < plan.candidates.size(); ++c) {
    for (const auto& [field, edit] : edits) {
      if (plan.candidates[c].in.empty() || plan.candidates[c].out.empty()) continue;
      Plan edited = plan;
      edit(edited.candidates[c]);
      INFO("candidate " << c << ", " << field);
      CHECK(MessageOf(world, edited, "candidate_field").starts_with("candidate " + std::to_string(c) + ": " + field));
    }
    for (const auto& rename : {+[](Candidate& k) { k.variant += "?"; }, +[](Candidate& k) { k.library += "?"; }}) {
      Plan edited = plan;
      rename(edited.candidates[c]);
      CHECK(HasFault(world, edited, "candidate_unknown"));
    }
  }
}

TEST_CASE("CheckPlan, AReorderThatItsLibraryCannotDoIsRefused", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(11, 24), {}, 11);
  const Plan plan = PlanOf(world, "random", "2");
  PlanDescription description = testing::DescribePlan(world, plan);
  const auto reorder = std::find_if(plan.steps.begin(), plan.steps.end(),
                                    [](const Step& s) { return std::holds_alternative<Reorder>(s.work); });
  REQUIRE(reorder != plan.steps.end());
  description.reorders.emplace(StepId(static_cast<size_t>(reorder - plan.steps.begin())), "it cannot");
  const std::vector<PlanFault> faults = CheckPlan(world.graph, world.platform, plan, description);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].id == "reorder_library");
}

TEST_CASE("CheckPlanStructure, BelievesAbsentLibrariesAndNobodyElse", "[plan]") {
  const World world = MakeWorld(testing::Chain(5), {.fused = false, .accelerator = false});
  Plan plan = PlanOf(world, "single", "cpu");
  PlanDescription description = testing::DescribePlan(world, plan);
  plan.candidates[0].constant_bytes += 1;
  CHECK(CheckPlanStructure(world.graph, world.platform, plan, description).front().id == "candidate_field");
  description.absent = {"made-up"};
  CHECK(CheckPlanStructure(world.graph, world.platform, plan, description).empty());
  CHECK(CheckPlan(world.graph, world.platform, plan, description).front().id == "library_absent");
  plan.steps.pop_back();
  CHECK_FALSE(CheckPlanStructure(world.graph, world.platform, plan, description).empty());
}

TEST_CASE("CheckPlan, APlanThatNobodyDescribedIsRefused", "[plan]") {
  const World world = MakeWorld(testing::Chain(3));
  CHECK(CheckPlan(world.graph, world.platform, PlanOf(world, "heft"), {}).front().id == "candidate_unknown");
}

}  // namespace
}  // namespace pt::check_described_test
