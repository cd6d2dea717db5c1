// Traces as files, read again as a viewer reads them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "partitiontuner/exec/trace.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/plan/memory_use.h"
#include "partitiontuner/support/json.h"
#include "test/testing/test_machine.h"
#include "test/testing/trace_checks.h"

namespace pt::testing::trace_json_test {
namespace {

// Each step as early as its unit and what it waits for allow, 100 ns long.
void Schedule(Plan& plan) {
  std::map<UnitId, int64_t> free_at;
  for (Step& step : plan.steps) {
    step.expected_start_ns = free_at[step.unit];
    for (const StepId before : step.after) {
      const Step& earlier = plan.steps[before.index()];
      step.expected_start_ns = std::max(step.expected_start_ns, earlier.expected_start_ns + earlier.expected_ns);
    }
    step.expected_ns = 100;
    free_at[step.unit] = step.expected_start_ns + step.expected_ns;
    plan.makespan.ns = std::max(plan.makespan.ns, free_at[step.unit]);
  }
}

// As it was expected, three times as slow.
Trace SlowRunOf(const Plan& plan) {
  Trace trace;
  trace.run_ns = 3 * plan.makespan.ns;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const int64_t start_ns = 3 * step.expected_start_ns;
    trace.events.push_back({StepId(s), step.unit, 7, start_ns, start_ns + 3 * step.expected_ns, false});
  }
  return trace;
}

TEST_CASE("TraceJson, ARunStandsBesideItsPredictionWithCopiesAndMemory", "[exec]") {
  FakeControl control;
  FakeDeviceControl device;
  const std::unique_ptr<Machine> machine = MakeFakeMachine(MakeTestPlatform(2, true), control, device);
  const Platform& platform = machine->platform();
  const Graph graph = ParseGraph(
                          "input x float32[8]\na = Mix(x) : float32[8]\nl = Mix(a) : float32[8]\n"
                          "r = Mix(a) : float32[8]\ny = Mix(l, r) : float32[8]\noutput y\n")
                          .value();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]");
  const UnitId stream = FindUnit(platform, "fake:0#0");
  REQUIRE(stream.valid());
  Plan plan = MakeTestPlan(graph, *machine, {one, stream, two, one});
  Schedule(plan);
  const TraceTally tally = CheckTraceEvents(ToTraceEventJson(SlowRunOf(plan), platform, graph, plan));
  for (const std::string process : {"predicted", "measured"}) {
    CHECK(tally.steps.at(process) == 6);              // four nodes, a to the device and l back
    CHECK(tally.arrows.at(process + ": copy") == 4);  // into both copies and out of them
    CHECK(tally.arrows.at(process + ": data") == 2);  // a to the other core, and r back
    CHECK(tally.counters.at(process + ": memory of cpu") > 1);
    CHECK(tally.counters.at(process + ": memory of fake:0") > 1);
  }
}

TEST_CASE("TraceJson, EscapesNamesAndKeepsWhatIsKnownOfAStep", "[exec]") {
  const Platform platform = MakeTestPlatform(1, false);
  const Graph graph = ParseGraph("input x float32[2]\ny = Mix(x) : float32[2]\noutput y\n").value();
  Plan plan;
  Candidate candidate;
  candidate.nodes = {NodeId(0u)};
  candidate.library = "quote \" and newline \n";
  plan.candidates.push_back(candidate);
  plan.steps.resize(1);
  plan.steps[0].unit = UnitId(0u);
  plan.steps[0].work = RunGroup{PlanCandidateId(0u), {}, {}};
  plan.steps[0].expected_ns = 1000;
  Trace trace;
  trace.run_ns = 2000;
  trace.events = {{StepId(0u), UnitId(0u), 7, 250, 1750, false}};
  const std::string text = ToTraceEventJson(trace, platform, graph, plan);
  CheckTraceEvents(text);
  const Json json = ParseJson(text, "trace").value();
  const Json::Array& events = *json.find("traceEvents")->as_array();
  const auto is_measured = [](const Json& event) {
    return *event.find("ph")->as_string() == "X" && event.find("args")->find("wait_ns") != nullptr;
  };
  const auto step = std::ranges::find_if(events, is_measured);
  REQUIRE(step != events.end());
  CHECK(step->find("ts")->as_number() == 0.25);
  CHECK(step->find("dur")->as_number() == 1.5);
  CHECK(*step->find("args")->find("library")->as_string() == candidate.library);
  CHECK(*step->find("args")->find("wait_ns")->as_int() == 7);
  CHECK(*step->find("args")->find("expected_ns")->as_int() == 1000);
}

TEST_CASE("TraceJson, VirtualClocksAreNamed", "[exec]") {
  const Platform platform = MakeTestPlatform(1, false);
  const Graph graph = ParseGraph("input x float32[2]\ny = Mix(x) : float32[2]\noutput y\n").value();
  Plan plan;
  plan.candidates.resize(1);
  plan.steps.resize(1);
  plan.steps[0].unit = UnitId(0u);
  plan.steps[0].work = RunGroup{PlanCandidateId(0u), {}, {}};
  Trace trace;
  trace.run_ns = 10;
  trace.events = {{StepId(0u), UnitId(0u), 0, 0, 10, true}};
  CHECK(CheckTraceEvents(ToTraceEventJson(trace, platform, graph, plan)).steps.contains("measured, virtual clock"));
}

}  // namespace
}  // namespace pt::testing::trace_json_test
