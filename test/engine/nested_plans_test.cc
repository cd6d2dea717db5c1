// Plans of nested graphs: fused, by libraries that are made for it, and the same each time.
#include "lib/engine/nested_plans.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/support/json.h"
#include "test/testing/built_in.h"
#include "test/testing/host_lab.h"
#include "test/testing/real_machine.h"
#include "test/testing/run_candidate.h"

namespace pt::testing::nested_plans_test {
namespace {

ValueType Floats(std::vector<int64_t> dims) { return StaticType(DataType::kFloat32, std::move(dims)); }

GraphBuilder Fresh() {
  GraphBuilder builder;
  builder.set_opset(21);
  return builder;
}

// Relu(Conv(x, w)), then Conv(·, w) + Conv(x, w).
Graph Convolutions() {
  GraphBuilder builder = Fresh();
  const std::map<std::string, Attribute, std::less<>> pads = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  const ValueType type = Floats({1, 16, 12, 12});
  const ValueId x = builder.AddInput("x", type);
  const ValueId w = builder.AddConstant("w", RandomTensor(DataType::kFloat32, {16, 16, 3, 3}, 1));
  const ValueId first = builder.AddOp("Relu", {builder.AddOp("Conv", {x, w}, type, pads)}, type);
  const ValueId second = builder.AddOp("Conv", {first, w}, type, pads);
  builder.AddOutput(builder.AddOp("Add", {second, builder.AddOp("Conv", {x, w}, type, pads)}, type, {}, "y"));
  return builder.Build().value();
}

UnitId UnitNamed(const Platform& platform, std::string_view name) {
  for (size_t u = 0; u < platform.units.size(); ++u) {
    if (platform.units[u].name == name) return UnitId(u);
  }
  FAIL("no unit is named " << name);
  return {};
}

TEST_CASE("Nested plans, RunFusedOnTheUnitAskedFor", "[engine]") {
  if (!HasLibrary("onednn")) SKIP("built without oneDNN");
  const auto machine = MakeRealMachine(2, false);
  const Graph graph = Convolutions();
  for (const char* name : {"cpu[0]", "cpu[1]", "cpu[0-1]"}) {
    CAPTURE(name);
    const UnitId unit = UnitNamed(machine->platform(), name);
    const Result<Plan> plan = MakeNestedPlanner(*machine, false)(graph, unit, false);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    const Status legal = StatusOf(JudgePlan(graph, machine->platform(), machine->libraries(), *plan));
    if (!legal.ok()) FAIL(ToString(legal.error()));
    size_t groups = 0;
    for (const Step& step : plan->steps) {
      CHECK(step.unit == unit);
      groups += std::holds_alternative<RunGroup>(step.work) ? 1 : 0;
    }
    CHECK(groups < graph.nodes().size());
    for (const Candidate& candidate : plan->candidates) CHECK(candidate.library != "reference");
  }
}

TEST_CASE("Nested plans, AreTheSameEachTime", "[engine]") {
  const auto machine = MakeRealMachine(2, false);
  const Graph graph = Convolutions();
  const NestedPlanner planner = MakeNestedPlanner(*machine, false);
  const UnitId unit = UnitNamed(machine->platform(), "cpu[0-1]");
  const auto text = [&] { return WriteJson(ToJson(planner(graph, unit, false).value(), graph)); };
  CHECK(text() == text());
}

TEST_CASE("Nested plans, GiveWhatNodeByNodeGives", "[engine]") {
  GraphBuilder else_graph = Fresh(), builder = Fresh();
  else_graph.AddOutput(else_graph.AddCaptured("x", Floats({1, 16, 12, 12})));
  const ValueId condition = builder.AddInput("condition", StaticType(DataType::kBool, {}));
  const ValueId x = builder.AddInput("x", Floats({1, 16, 12, 12}));
  GraphBuilder with_capture = Fresh();
  {  // the same with x captured
    const Graph graph = Convolutions();
    std::vector<ValueId> values;
    for (const Value& value : graph.values()) {
      values.push_back(value.is_constant()      ? with_capture.AddConstant(value.name, *value.constant)
                       : value.producer.valid() ? with_capture.AddValue(value.name, value.type)
                                                : with_capture.AddCaptured(value.name, value.type));
    }
    for (Node node : graph.nodes()) {
      for (ValueId& input : node.inputs) input = values[input.index()];
      for (ValueId& output : node.outputs) output = values[output.index()];
      with_capture.AddNode(std::move(node));
    }
    with_capture.AddOutput(values[graph.outputs()[0].index()]);
  }
  Node node;
  node.op = "If";
  node.inputs = {condition, x};
  node.formal_inputs = 1;
  node.outputs = {builder.AddValue("y", Floats({1, 16, 12, 12}))};
  node.subgraphs = {{"then_branch", std::make_shared<const Graph>(with_capture.Build().value()), {1}},
                    {"else_branch", std::make_shared<const Graph>(else_graph.Build().value()), {1}}};
  builder.AddOutput(node.outputs[0]);
  builder.AddNode(std::move(node));
  const auto graph = Typed(builder);

  HostLab lab;  // of the reference library alone
  const auto expected_session = lab.Open(graph, 1);
  const auto machine = MakeRealMachine(2, false);
  SessionOptions options;
  options.nested_planner = MakeNestedPlanner(*machine, false);
  const Plan plan =
      MakeNestedPlanner(*machine, false)(*graph, UnitNamed(machine->platform(), "cpu[0-1]"), false).value();
  const auto session = Session::Create(graph, plan, *machine, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  const Tensor input = RandomTensor(DataType::kFloat32, {1, 16, 12, 12}, 3);
  for (const bool truth : {true, false, true}) {
    const Tensor taken = Tensor::FromBytes(DataType::kBool, {}, std::string(1, truth ? 1 : 0)).value();
    const auto expected = RunOnce(*expected_session, {taken, input}), actual = RunOnce(**session, {taken, input});
    REQUIRE(expected.ok());
    if (!actual.ok()) FAIL(ToString(actual.error()));
    CHECK(Difference((*actual)[0], (*expected)[0], 1e-5) == "");
  }
}

}  // namespace
}  // namespace pt::testing::nested_plans_test
