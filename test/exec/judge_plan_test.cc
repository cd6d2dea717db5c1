#include "partitiontuner/exec/judge_plan.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "test/exec/session_setting.h"

namespace pt::testing::judge_plan_test {
namespace {

// One node on one core, and behind it a reorder of its result, which the fake library cannot do.
struct Reordered {
  Setting setting{1, false};
  Plan plan;

  Reordered() {
    setting.graph = Parse("input x float32[4,2]\ny = Mix(x) : float32[4,2]\noutput y\n");
    const Graph& graph = *setting.graph;
    const UnitId unit = FindUnit(setting.machine->platform(), "cpu[0]");
    plan = MakeTestPlan(graph, *setting.machine, {unit});
    const auto made = static_cast<size_t>(
        std::find_if(plan.instances.begin(), plan.instances.end(),
                     [&](const Instance& instance) { return instance.value == graph.outputs()[0]; }) -
        plan.instances.begin());
    Instance turned = plan.instances[made];
    std::swap(turned.form.layout.order[0], turned.form.layout.order[1]);
    plan.instances.push_back(turned);
    plan.steps.push_back({unit, Reorder{InstanceId(made), InstanceId(plan.instances.size() - 1), "fake"}, {}, 0, 0});
  }
  Reorder& reorder() { return std::get<Reorder>(plan.steps.back().work); }
  PlanDescription Describe() const {
    return DescribePlan(*setting.graph, setting.machine->platform(), setting.machine->libraries(), plan);
  }
};

}  // namespace

TEST_CASE("JudgePlan, AReorderThatItsLibraryCannotDoIsNamed", "[exec]") {
  const PlanDescription description = Reordered().Describe();
  REQUIRE(description.reorders.size() == 1);
  CHECK(description.reorders.begin()->second.find("the library 'fake' cannot reorder 'y'") == 0);
}

// Of what an id beyond the last would name no library is asked: the checker refuses the id.
TEST_CASE("JudgePlan, IdsOneBeyondTheLastAreLeftToTheChecker", "[exec]") {
  const std::vector<std::pair<std::string, std::function<void(Reordered&)>>> edits = {
      {"value",
       [](Reordered& r) {
         const ValueId beyond(r.setting.graph->values().size());
         r.plan.instances[r.reorder().from.index()].value = beyond;
         r.plan.instances[r.reorder().to.index()].value = beyond;
       }},
      {"from", [](Reordered& r) { r.reorder().from = InstanceId(r.plan.instances.size()); }},
      {"to", [](Reordered& r) { r.reorder().to = InstanceId(r.plan.instances.size()); }},
      {"unit", [](Reordered& r) { r.plan.steps.back().unit = UnitId(r.setting.machine->platform().units.size()); }},
      {"node", [](Reordered& r) { r.plan.candidates[0].nodes = {NodeId(r.setting.graph->nodes().size())}; }},
      {"unit class",
       [](Reordered& r) {
         r.plan.candidates[0].unit_class = UnitClassId(r.setting.machine->platform().unit_classes.size());
       }},
  };
  for (const auto& [what, edit] : edits) {
    CAPTURE(what);
    Reordered reordered;
    edit(reordered);
    const PlanDescription description = reordered.Describe();
    const bool of_candidate = what == "node" || what == "unit class";
    CHECK(description.reorders.size() == (of_candidate ? 1 : 0));
    if (of_candidate) {
      REQUIRE(!description.candidates[0].ok());
      CHECK(description.candidates[0].error().message == "it names no nodes of this graph or no unit class");
    }
    const std::vector<PlanFault> faults =
        CheckPlan(*reordered.setting.graph, reordered.setting.machine->platform(), reordered.plan, description);
    REQUIRE(!faults.empty());
    for (const PlanFault& fault : faults) CHECK(fault.id == "id_range");
  }
}

}  // namespace pt::testing::judge_plan_test
