// What CheckPlan says about values whose size is known only at run time.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/plan/check_plan.h"
#include "test/testing/host_lab.h"
#include "test/testing/test_machine.h"

namespace pt::testing::check_run_time_sizes_test {
namespace {

struct Selecting {
  HostLab lab;
  std::shared_ptr<const Graph> graph = TypedGraph(
      "input x float32[4,8]\n"
      "n = NonZero(x)\n"
      "t = Transpose(n) perm=[1,0]\n"
      "output t\n");
  Plan plan =
      MakeTestPlan(*graph, lab.machine(),
                   {FindUnit(lab.machine().platform(), "cpu[0]"), FindUnit(lab.machine().platform(), "cpu[1]")});

  // As if the library said what the plan says: it is the rules for such values that must find the fault.
  std::vector<std::string> Faults() {
    PlanDescription description;
    for (const Candidate& candidate : plan.candidates) description.candidates.push_back(candidate);
    std::vector<std::string> ids;
    for (const PlanFault& fault : CheckPlan(*graph, lab.machine().platform(), plan, description)) {
      ids.push_back(fault.id);
    }
    return ids;
  }
};

}  // namespace

TEST_CASE("CheckRunTimeSizes, ALegalPlanGivesThemNoPlace", "[plan]") {
  Selecting selecting;
  CHECK(selecting.Faults().empty());
  for (const auto& [device, arena] : selecting.plan.memory) CHECK(arena.placements.empty());
}

TEST_CASE("CheckRunTimeSizes, ReadersMustComeAfterTheWriter", "[plan]") {
  Selecting selecting;
  selecting.plan.steps[1].after.clear();
  CHECK(selecting.Faults() == std::vector<std::string>{"race"});
}

TEST_CASE("CheckRunTimeSizes, NothingIsOverwrittenNorElided", "[plan]") {
  Selecting selecting;
  Candidate& transpose = selecting.plan.candidates[1];
  transpose.elision = Elision::kViewOfInput;
  CHECK(selecting.Faults() == std::vector<std::string>{"dynamic_alias"});
  transpose.elision = Elision::kNone;
  transpose.aliases = {{0, 0, Alias::Kind::kRequired}};
  CHECK(selecting.Faults() == std::vector<std::string>{"dynamic_alias"});
}

TEST_CASE("CheckRunTimeSizes, OnlyRowMajorOnTheHost", "[plan]") {
  Selecting selecting;
  const Layout turned = LayoutFromString("ba").value();
  for (Instance& instance : selecting.plan.instances) {
    if (instance.value == selecting.graph->node(NodeId(0U)).outputs[0]) instance.form.layout = turned;
  }
  selecting.plan.candidates[0].out[0].layout = selecting.plan.candidates[1].in[0].layout = turned;
  CHECK(selecting.Faults() == std::vector<std::string>{"dynamic_form"});
}

}  // namespace pt::testing::check_run_time_sizes_test
