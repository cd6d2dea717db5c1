// If, Loop and Scan through sessions: nested graphs on the team of the step that holds them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <thread>

#include "test/testing/host_lab.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::control_flow_test {
namespace {

constexpr int64_t kOpset = 21;

ValueType Floats(std::vector<int64_t> dims) { return StaticType(DataType::kFloat32, std::move(dims)); }
ValueType AnyFloats() {
  ValueType type;
  type.type = DataType::kFloat32;
  return type;
}

GraphBuilder Body() {
  GraphBuilder builder;
  builder.set_opset(kOpset);
  return builder;
}

std::shared_ptr<const Graph> Built(GraphBuilder& builder) {
  Result<Graph> graph = builder.Build();
  if (!graph.ok()) FAIL(ToString(graph.error()));
  return std::make_shared<const Graph>(std::move(graph).value());
}

// Adds a node with nested graphs; `inputs` are its formal ones, `captured` what the graphs read from outside.
std::vector<ValueId> AddHolder(GraphBuilder& builder, std::string op, std::vector<ValueId> inputs,
                               const std::vector<ValueId>& captured, std::vector<Subgraph> nested,
                               const std::vector<std::pair<std::string, ValueType>>& outputs) {
  Node node;
  node.op = std::move(op);
  node.formal_inputs = static_cast<uint32_t>(inputs.size());
  node.inputs = std::move(inputs);
  node.inputs.insert(node.inputs.end(), captured.begin(), captured.end());
  node.subgraphs = std::move(nested);
  for (const auto& [name, type] : outputs) node.outputs.push_back(builder.AddValue(name, type));
  const std::vector<ValueId> made = node.outputs;
  builder.AddNode(std::move(node));
  return made;
}

// condition ? x + c : NonZero(x), the results of different types' sizes: then [3], else [1, n] as float.
std::shared_ptr<const Graph> Branches() {
  GraphBuilder then_graph = Body(), else_graph = Body(), builder = Body();
  const ValueId then_x = then_graph.AddCaptured("x", Floats({3}));
  const ValueId one = then_graph.AddConstant("one", Tensor::Float32({1}, {1}));
  then_graph.AddOutput(then_graph.AddOp("Add", {then_x, one}, Floats({3}), {}, "sum"));
  const ValueId else_x = else_graph.AddCaptured("x", Floats({3}));
  const ValueId found = else_graph.AddOp("NonZero", {else_x}, {}, {}, "found");
  else_graph.AddOutput(else_graph.AddOp("Cast", {found}, {}, {{"to", int64_t{1}}}, "as_float"));

  const ValueId condition = builder.AddInput("condition", StaticType(DataType::kBool, {}));
  const ValueId x = builder.AddInput("x", Floats({3}));
  const auto y =
      AddHolder(builder, "If", {condition}, {x},
                {{"then_branch", Built(then_graph), {1}}, {"else_branch", Built(else_graph), {1}}}, {{"y", {}}});
  const ValueId z = builder.AddOp("Neg", {y[0]}, {}, {}, "z");
  builder.AddOutput(y[0]);
  builder.AddOutput(z);
  return Typed(builder);
}

Tensor Truth(bool truth) { return Tensor::FromBytes(DataType::kBool, {}, std::string(1, truth ? 1 : 0)).value(); }

// (a, b) = (b, a + b) as often as asked, with every a collected; stops early when a is over `most`.
std::shared_ptr<const Graph> Fibonacci() {
  GraphBuilder body = Body(), builder = Body();
  body.AddInput("trip", StaticType(DataType::kInt64, {}));
  body.AddInput("go_on", StaticType(DataType::kBool, {}));
  const ValueId a = body.AddInput("a", Floats({1})), b = body.AddInput("b", Floats({1}));
  const ValueId most = body.AddCaptured("most", Floats({1}));
  const ValueId sum = body.AddOp("Add", {a, b}, Floats({1}), {}, "sum");
  const ValueId list = body.AddOp("LessOrEqual", {sum, most}, StaticType(DataType::kBool, {1}), {}, "list");
  const ValueId shape = body.AddConstant("shape", Tensor::Int64({0}, {}));
  body.AddOutput(body.AddOp("Reshape", {list, shape}, StaticType(DataType::kBool, {}), {}, "next"));
  body.AddOutput(b);
  body.AddOutput(sum);
  body.AddOutput(a);

  const ValueId trips = builder.AddInput("trips", StaticType(DataType::kInt64, {}));
  const ValueId limit = builder.AddInput("most", Floats({1}));
  const ValueId zero = builder.AddConstant("zero", Tensor::Float32({1}, {0}));
  const ValueId one = builder.AddConstant("one", Tensor::Float32({1}, {1}));
  ValueType all = Floats({1, 1});
  all.dims[0] = Dim();
  for (ValueId value : AddHolder(builder, "Loop", {trips, ValueId(), zero, one}, {limit}, {{"body", Built(body), {4}}},
                                 {{"last", Floats({1})}, {"following", Floats({1})}, {"all", all}})) {
    builder.AddOutput(value);
  }
  return Typed(builder);
}

// Appends x to a carried list as often as asked: a value that grows from trip to trip.
std::shared_ptr<const Graph> Growing() {
  GraphBuilder body = Body(), builder = Body();
  body.AddInput("trip", StaticType(DataType::kInt64, {}));
  const ValueId go_on = body.AddInput("go_on", StaticType(DataType::kBool, {}));
  const ValueId list = body.AddInput("list", AnyFloats());
  const ValueId x = body.AddCaptured("x", Floats({2}));
  body.AddOutput(body.AddOp("Identity", {go_on}, StaticType(DataType::kBool, {}), {}, "same"));
  body.AddOutput(body.AddOp("Concat", {list, x}, AnyFloats(), {{"axis", int64_t{0}}}, "longer"));

  const ValueId trips = builder.AddInput("trips", StaticType(DataType::kInt64, {}));
  const ValueId outer_x = builder.AddInput("x", Floats({2}));
  const ValueId empty = builder.AddConstant("empty", Tensor::Float32({0}, {}));
  builder.AddOutput(AddHolder(builder, "Loop", {trips, ValueId(), empty}, {outer_x}, {{"body", Built(body), {3}}},
                              {{"list", {}}})[0]);
  return Typed(builder);
}

// Running sums over the columns of x, last column first.
std::shared_ptr<const Graph> RunningSums() {
  GraphBuilder body = Body(), builder = Body();
  const ValueId sum = body.AddInput("sum", Floats({2})), column = body.AddInput("column", Floats({2}));
  const ValueId next = body.AddOp("Add", {sum, column}, Floats({2}), {}, "next");
  body.AddOutput(next);
  body.AddOutput(body.AddOp("Identity", {next}, Floats({2}), {}, "copy"));

  ValueType open = Floats({2, 1});
  open.dims[1] = Dim();
  const ValueId zero = builder.AddConstant("zero", Tensor::Float32({2}, {0, 0}));
  const ValueId x = builder.AddInput("x", open);
  Node node;
  node.op = "Scan";
  node.formal_inputs = 2;
  node.inputs = {zero, x};
  node.attributes = {{"num_scan_inputs", int64_t{1}},
                     {"scan_input_axes", std::vector<int64_t>{1}},
                     {"scan_input_directions", std::vector<int64_t>{1}},
                     {"scan_output_axes", std::vector<int64_t>{1}},
                     {"scan_output_directions", std::vector<int64_t>{1}}};
  node.subgraphs = {{"body", Built(body), {}}};
  node.outputs = {builder.AddValue("total"), builder.AddValue("sums")};
  builder.AddOutput(node.outputs[0]);
  builder.AddOutput(node.outputs[1]);
  builder.AddNode(std::move(node));
  return Typed(builder);
}

}  // namespace

TEST_CASE("ControlFlow, IfRunsTheBranchThatTheConditionNames", "[exec]") {
  const bool sequential = GENERATE(false, true);
  HostLab lab;
  SessionOptions options;
  options.sequential = sequential;
  const auto session = lab.Open(Branches(), 5, options);
  const Tensor x = Tensor::Float32({3}, {0, 2, 3});
  for (const bool condition : {true, false, false, true, false}) {
    const auto results = RunOnce(*session, {Truth(condition), x});
    if (!results.ok()) FAIL(ToString(results.error()));
    const Tensor expected = condition ? Tensor::Float32({3}, {1, 3, 4}) : Tensor::Float32({1, 2}, {1, 2});
    CHECK(Difference((*results)[0], expected, 0) == "");
    CHECK((*results)[1].dims() == expected.dims());
    CHECK((*results)[1].values<float>()[1] == -expected.values<float>()[1]);
  }
}

TEST_CASE("ControlFlow, EveryOutputOfABranchMayBeAConstant", "[exec]") {
  GraphBuilder then_graph = Body(), else_graph = Body(), builder = Body();
  for (int k = 0; k < 3; ++k) {
    const auto v = static_cast<float>(k + 1);
    then_graph.AddOutput(then_graph.AddConstant("t" + std::to_string(k), Tensor::Float32({2}, {v, 10 * v})));
    else_graph.AddOutput(else_graph.AddConstant("e" + std::to_string(k), Tensor::Float32({2}, {-v, -10 * v})));
  }
  const ValueId condition = builder.AddInput("condition", StaticType(DataType::kBool, {}));
  for (ValueId y : AddHolder(builder, "If", {condition}, {},
                             {{"then_branch", Built(then_graph), {}}, {"else_branch", Built(else_graph), {}}},
                             {{"a", {}}, {"b", {}}, {"c", {}}})) {
    builder.AddOutput(y);
  }
  HostLab lab;
  const auto session = lab.Open(Typed(builder), 5);
  for (const bool truth : {true, false, true}) {
    const auto results = RunOnce(*session, {Truth(truth)});
    if (!results.ok()) FAIL(ToString(results.error()));
    for (int k = 0; k < 3; ++k) {
      const float v = static_cast<float>(k + 1) * (truth ? 1.0F : -1.0F);
      CHECK(Difference((*results)[static_cast<size_t>(k)], Tensor::Float32({2}, {v, 10 * v}), 0) == "");
    }
  }
}

TEST_CASE("ControlFlow, ABranchThatContradictsItselfFailsWhereItIsTaken", "[exec]") {
  GraphBuilder then_graph = Body(), else_graph = Body(), builder = Body();
  const ValueId five = then_graph.AddCaptured("five", Floats({5})), two = then_graph.AddCaptured("two", Floats({2}));
  then_graph.AddOutput(then_graph.AddOp("Add", {five, two}, AnyFloats(), {}, "sum"));
  else_graph.AddOutput(else_graph.AddCaptured("two", Floats({2})));
  const ValueId condition = builder.AddInput("condition", StaticType(DataType::kBool, {}));
  const ValueId outer_five = builder.AddInput("five", Floats({5})), outer_two = builder.AddInput("two", Floats({2}));
  builder.AddOutput(AddHolder(builder, "If", {condition}, {outer_five, outer_two},
                              {{"then_branch", Built(then_graph), {1, 2}}, {"else_branch", Built(else_graph), {2}}},
                              {{"y", AnyFloats()}})[0]);
  HostLab lab;
  const auto session = lab.Open(Typed(builder), 1);
  const Tensor ones = Tensor::Float32({5}, {1, 1, 1, 1, 1}), few = Tensor::Float32({2}, {3, 4});
  const auto refused = RunOnce(*session, {Truth(true), ones, few});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  const auto fine = RunOnce(*session, {Truth(false), ones, few});
  if (!fine.ok()) FAIL(ToString(fine.error()));
  CHECK(Difference((*fine)[0], few, 0) == "");
}

TEST_CASE("ControlFlow, APlanOfANestedGraphIsNotBelieved", "[exec]") {
  HostLab lab;
  const auto graph = Fibonacci();
  std::mt19937 random(1);
  const Plan plan = MakeTestPlan(*graph, lab.machine(), RandomUnits(*graph, lab.machine().platform(), random));
  SessionOptions options;
  options.nested_planner = [](const Graph&, UnitId, bool) -> Result<Plan> { return Plan(); };
  const auto session = Session::Create(graph, plan, lab.machine(), options);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == ErrorCode::kStale);
}

TEST_CASE("ControlFlow, LoopEndsByTripCountOrCondition", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(Fibonacci(), 2);
  for (const auto& [trips, most] : std::vector<std::pair<int64_t, float>>{{7, 1000}, {0, 1000}, {40, 10}, {1, 1000}}) {
    CAPTURE(trips, most);
    float a = 0, b = 1;
    std::vector<float> all;
    for (int64_t trip = 0; trip < trips; ++trip) {
      all.push_back(a);
      const float sum = a + b;
      a = b;
      b = sum;
      if (!(sum <= most)) break;
    }
    const auto results = RunOnce(*session, {Tensor::Int64({}, {trips}), Tensor::Float32({1}, {most})});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK(Difference((*results)[0], Tensor::Float32({1}, {a}), 0) == "");
    CHECK(Difference((*results)[1], Tensor::Float32({1}, {b}), 0) == "");
    CHECK(Difference((*results)[2], Tensor::Float32({static_cast<int64_t>(all.size()), 1}, all), 0) == "");
  }
}

TEST_CASE("ControlFlow, ACarriedValueMayGrow", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(Growing(), 1);
  for (const int64_t trips : {3, 0, 100, 1}) {
    CAPTURE(trips);
    std::vector<float> expected;
    for (int64_t trip = 0; trip < trips; ++trip) expected.insert(expected.end(), {4, 5});
    const auto results = RunOnce(*session, {Tensor::Int64({}, {trips}), Tensor::Float32({2}, {4, 5})});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK(Difference((*results)[0], Tensor::Float32({2 * trips}, expected), 0) == "");
  }
}

TEST_CASE("ControlFlow, ALoopWithoutEndObeysDeadlineAndCancel", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(Fibonacci(), 1);
  const std::vector<Tensor> inputs = {Tensor::Int64({}, {INT64_MAX}), Tensor::Float32({1}, {HUGE_VALF})};
  CancelToken cancel;
  RunOptions options;
  options.deadline = std::chrono::milliseconds(20);
  const auto late = RunOnce(*session, inputs, options);
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().id == "run.deadline");
  options.deadline.reset();
  options.cancel = &cancel;
  std::thread canceller([&] { cancel.Cancel(); });
  const auto cancelled = RunOnce(*session, inputs, options);
  canceller.join();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().id == "run.cancelled");
  const auto after = RunOnce(*session, {Tensor::Int64({}, {1}), Tensor::Float32({1}, {10})});
  CHECK(after.ok());
}

TEST_CASE("ControlFlow, ScanGoesAlongTheAxisAndDirectionGiven", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(RunningSums(), 1);
  for (const int64_t columns : {4, 1, 6}) {
    CAPTURE(columns);
    std::vector<float> x(static_cast<size_t>(2 * columns)), sums(x.size()), total(2, 0);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 11);
    for (int64_t c = columns; c-- > 0;) {
      for (size_t r = 0; r < 2; ++r) {
        const auto at = r * static_cast<size_t>(columns) + static_cast<size_t>(c);
        total[r] += x[at];
        sums[at] = total[r];
      }
    }
    const auto results = RunOnce(*session, {Tensor::Float32({2, columns}, x)});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK(Difference((*results)[0], Tensor::Float32({2}, total), 0) == "");
    CHECK(Difference((*results)[1], Tensor::Float32({2, columns}, sums), 0) == "");
  }
}

TEST_CASE("ControlFlow, ACollectedValueOfChangingSizeIsRefused", "[exec]") {
  GraphBuilder body = Body(), builder = Body();
  const ValueId trip = body.AddInput("trip", StaticType(DataType::kInt64, {}));
  const ValueId go_on = body.AddInput("go_on", StaticType(DataType::kBool, {}));
  const ValueId zero = body.AddConstant("zero", Tensor::Int64({}, {0}));
  const ValueId one = body.AddConstant("one", Tensor::Int64({}, {1}));
  body.AddOutput(body.AddOp("Identity", {go_on}, StaticType(DataType::kBool, {}), {}, "same"));
  ValueType list;
  list.type = DataType::kInt64;
  body.AddOutput(body.AddOp("Range", {zero, trip, one}, list, {}, "range"));
  const ValueId trips = builder.AddInput("trips", StaticType(DataType::kInt64, {}));
  builder.AddOutput(AddHolder(builder, "Loop", {trips, ValueId()}, {}, {{"body", Built(body), {}}}, {{"all", {}}})[0]);
  HostLab lab;
  const auto session = lab.Open(Typed(builder), 1);
  CHECK(RunOnce(*session, {Tensor::Int64({}, {1})}).ok());
  const auto refused = RunOnce(*session, {Tensor::Int64({}, {3})});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
}

// Nothing is collected, so that only the type that the body declares says what there is none of.
TEST_CASE("ControlFlow, ALoopWithoutTripsRefusesToCollectWhatIsNoNumber", "[exec]") {
  GraphBuilder body = Body(), builder = Body();
  body.AddInput("trip", StaticType(DataType::kInt64, {}));
  const ValueId go_on = body.AddInput("go_on", StaticType(DataType::kBool, {}));
  const ValueType words = StaticType(DataType::kString, {1});
  const ValueId inner = body.AddCaptured("word", words);
  body.AddOutput(body.AddOp("Identity", {go_on}, StaticType(DataType::kBool, {}), {}, "same"));
  body.AddOutput(body.AddOp("Identity", {inner}, words, {}, "copy"));
  const ValueId trips = builder.AddInput("trips", StaticType(DataType::kInt64, {}));
  const ValueId word = builder.AddInput("word", words);
  builder.AddOutput(
      AddHolder(builder, "Loop", {trips, ValueId()}, {word}, {{"body", Built(body), {2}}}, {{"all", {}}})[0]);
  HostLab lab;
  const auto session = lab.Open(Typed(builder), 1);
  for (const int64_t count : {0, 1}) {
    const auto refused =
        RunData(*session, {Datum(Tensor::Int64({}, {count})), Datum(Tensor::FromStrings({1}, {"a"}).value())});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kUnsupported);
  }
}

}  // namespace pt::testing::control_flow_test
