// What passes do to graphs in graphs: simplified within, their loops sized and unrolled.
#include "partitiontuner/graph/graph_builder.h"
#include "test/transform/passes_lab.h"

namespace pt::testing::nested_passes_test {
namespace {

constexpr int64_t kOpset = 21;

ValueType Floats(std::vector<int64_t> dims) { return StaticType(DataType::kFloat32, std::move(dims)); }
ValueType Open(size_t rank) {
  ValueType type;
  type.type = DataType::kFloat32;
  type.ranked = true;
  type.dims.resize(rank);
  return type;
}

GraphBuilder Fresh() {
  GraphBuilder builder;
  builder.set_opset(kOpset);
  return builder;
}

std::shared_ptr<const Graph> Built(GraphBuilder& builder) {
  return std::make_shared<const Graph>(builder.Build().value());
}

Graph SimplifiedOnly(GraphBuilder& builder) {
  const Graph typed = InferShapes(builder.Build().value()).value();
  auto simple = Simplify(typed, Context());
  INFO((simple.ok() ? std::string() : ToString(simple.error())));
  REQUIRE(simple.ok());
  return *std::move(simple);
}

const Graph& NestedIn(const Graph& graph, std::string_view attribute) {
  for (const Node& node : graph.nodes()) {
    for (const Subgraph& subgraph : node.subgraphs) {
      if (subgraph.attribute == attribute) return *subgraph.graph;
    }
  }
  FAIL("no nested graph is named " << attribute);
  return graph;
}

// An If whose condition only a run knows: then Relu(Reshape(x, Concat(captured constant, Shape(x)[0:1]))), else x.
Graph BranchOnShapes() {
  GraphBuilder then_graph = Fresh(), else_graph = Fresh(), builder = Fresh();
  const ValueId then_x = then_graph.AddCaptured("x", Open(2)), first = then_graph.AddCaptured("first", {});
  const ValueId shape = then_graph.AddOp("Shape", {then_x}, {}, {{"end", int64_t{1}}});
  const ValueId dims = then_graph.AddOp("Concat", {first, shape}, {}, {{"axis", int64_t{0}}});
  const ValueId reshaped = then_graph.AddOp("Reshape", {then_x, dims});
  const ValueId relu = then_graph.AddOp("Relu", {reshaped});
  then_graph.AddOutput(then_graph.AddOp("Identity", {relu}));
  const ValueId else_x = else_graph.AddCaptured("x", Open(2));
  else_graph.AddOutput(else_graph.AddOp("Identity", {else_x}));

  const ValueId condition = builder.AddInput("condition", StaticType(DataType::kBool, {}));
  const ValueId x = builder.AddInput("x", Floats({6, 2}));
  const ValueId two = builder.AddConstant("first", Tensor::Int64({1}, {2}));
  Node node;
  node.op = "If";
  node.inputs = {condition, x, two};
  node.formal_inputs = 1;
  node.outputs = {builder.AddValue("y")};
  node.subgraphs = {{"then_branch", Built(then_graph), {1, 2}}, {"else_branch", Built(else_graph), {1}}};
  builder.AddOutput(node.outputs[0]);
  builder.AddNode(std::move(node));
  return SimplifiedOnly(builder);
}

TEST_CASE("SimplifyNested, PassesRunOnBranchesWithWhatIsKnownOutside", "[transform]") {
  const Graph graph = BranchOnShapes();
  CHECK(Operators(graph) == Ops{"If"});
  CHECK(Operators(NestedIn(graph, "then_branch")) == Ops{"Reshape", "Relu"});
  const Graph& body = NestedIn(graph, "then_branch");
  CHECK(body.value(body.outputs()[0]).type == Floats({2, 6}));
}

TEST_CASE("SimplifyNested, WhatNoBranchReadsAnyMoreIsNotCaptured", "[transform]") {
  const Graph graph = BranchOnShapes();
  const Node& node = graph.nodes()[0];
  REQUIRE(node.inputs.size() == 2);
  CHECK(graph.value(node.inputs[1]).name == "x");
  CHECK(NestedIn(graph, "then_branch").captured().size() == 1);
}

TEST_CASE("SimplifyNested, ABranchMayReturnWhatItCaptures", "[transform]") {
  const Graph graph = BranchOnShapes();
  const Graph& body = NestedIn(graph, "else_branch");
  CHECK(body.nodes().empty());
  CHECK(body.outputs()[0] == body.captured()[0]);
}

TEST_CASE("SimplifyNested, ABranchThatContradictsItselfStaysForTheRunThatTakesIt", "[transform]") {
  GraphBuilder then_graph = Fresh(), else_graph = Fresh(), builder = Fresh();
  const ValueId five = then_graph.AddConstant("five", Tensor::Float32({5}, {1, 2, 3, 4, 5}));
  const ValueId dims = then_graph.AddConstant("dims", Tensor::Int64({1}, {4}));
  then_graph.AddOutput(then_graph.AddOp("Reshape", {five, dims}, {}));
  else_graph.AddOutput(else_graph.AddConstant("zeros", Tensor::Float32({4}, {0, 0, 0, 0})));
  const ValueId condition = builder.AddInput("condition", StaticType(DataType::kBool, {}));
  Node node;
  node.op = "If";
  node.inputs = {condition};
  node.formal_inputs = 1;
  node.outputs = {builder.AddValue("y")};
  node.subgraphs = {{"then_branch", Built(then_graph), {}}, {"else_branch", Built(else_graph), {}}};
  builder.AddOutput(node.outputs[0]);
  builder.AddNode(std::move(node));
  CHECK(Operators(NestedIn(SimplifiedOnly(builder), "then_branch")) == Ops{"Reshape"});
}

struct LoopParts {
  Tensor trips = Tensor::Int64({}, {3});
  bool counted = true;   // else the trip count is an input
  bool grows = false;    // the carried value gets longer
  bool decides = false;  // the body says whether it goes on
};

// state = Tanh(state + x) or Concat(state, x), from zeros; Relu(state) is collected.
Graph Looped(const LoopParts& parts) {
  GraphBuilder body = Fresh(), builder = Fresh();
  body.AddInput("trip", StaticType(DataType::kInt64, {}));
  const ValueId go_on = body.AddInput("go_on", StaticType(DataType::kBool, {}));
  const ValueId state = body.AddInput("state", Open(1)), x = body.AddCaptured("x", Floats({4}));
  const ValueId next = parts.grows ? body.AddOp("Concat", {state, x}, {}, {{"axis", int64_t{0}}})
                                   : body.AddOp("Tanh", {body.AddOp("Add", {state, x})});
  ValueId again = go_on;
  if (parts.decides) {
    const ValueId least = body.AddOp("ReduceMin", {next}, {}, {{"keepdims", int64_t{0}}});
    again = body.AddOp("Less", {least, body.AddConstant("most", Tensor::Float32({}, {1}))});
  }
  body.AddOutput(body.AddOp("Identity", {again}));
  body.AddOutput(next);
  body.AddOutput(body.AddOp("Relu", {next}));

  const ValueId outer_x = builder.AddInput("x", Floats({4}));
  const ValueId trips = parts.counted ? builder.AddConstant("trips", parts.trips)
                                      : builder.AddInput("trips", StaticType(DataType::kInt64, {}));
  Node node;
  node.op = "Loop";
  node.inputs = {trips, ValueId(), builder.AddConstant("zeros", Tensor::Float32({4}, {0, 0, 0, 0})), outer_x};
  node.formal_inputs = 3;
  node.outputs = {builder.AddValue("last"), builder.AddValue("all")};
  node.subgraphs = {{"body", Built(body), {3}}};
  for (const ValueId output : node.outputs) builder.AddOutput(output);
  builder.AddNode(std::move(node));
  return SimplifiedOnly(builder);
}

TEST_CASE("UnrollLoops, AFewTripsStandOneBehindTheOther", "[transform]") {
  const Graph graph = Looped({});
  const Ops operators = Operators(graph);
  CHECK(std::ranges::count(operators, "Loop") == 0);
  CHECK(std::ranges::count(operators, "Tanh") == 3);
  CHECK(graph.value(graph.outputs()[0]).type == Floats({4}));
  CHECK(graph.value(graph.outputs()[1]).type == Floats({3, 4}));
  // Of x, y = tanh(x), z = tanh(y + x), tanh(z + x), and all of them cut off at 0.
  const std::vector<Tensor> results = RunOnReference(graph, {{Tensor::Float32({4}, {-1, 0, 0.5F, 1})}});
  for (size_t i = 0; i < 4; ++i) {
    const float x = std::vector<float>{-1, 0, 0.5F, 1}[i];
    float state = 0;
    for (size_t trip = 0; trip < 3; ++trip) {
      state = std::tanh(state + x);
      CHECK(std::abs(results[1].values<float>()[trip * 4 + i] - std::max(state, 0.0F)) < 1e-6F);
    }
    CHECK(std::abs(results[0].values<float>()[i] - state) < 1e-6F);
  }
}

TEST_CASE("UnrollLoops, LoopsThatARunCountsOrEndsStay", "[transform]") {
  CHECK(Operators(Looped({.counted = false})) == Ops{"Loop"});
  CHECK(Operators(Looped({.decides = true})) == Ops{"Loop"});
  CHECK(Operators(Looped({.trips = Tensor::Int64({}, {1000})})) == Ops{"Loop"});
  CHECK(Operators(Looped({.trips = Tensor::Int64({}, {0})})) == Ops{"Loop"});
}

TEST_CASE("TypeLoops, ACarriedValueThatKeepsItsSizeIsSized", "[transform]") {
  const Graph graph = Looped({.counted = false});
  const Graph& body = NestedIn(graph, "body");
  CHECK(body.value(body.inputs()[2]).type == Floats({4}));
  CHECK(graph.value(graph.outputs()[0]).type == Floats({4}));
}

TEST_CASE("TypeLoops, ACarriedValueThatGrowsIsLeftOpen", "[transform]") {
  const Graph graph = Looped({.counted = false, .grows = true});
  const Graph& body = NestedIn(graph, "body");
  CHECK(!body.value(body.inputs()[2]).type.is_static());
  CHECK(!graph.value(graph.outputs()[0]).type.is_static());
}

// As TensorFlow writes loops: a counter, its bound and a factor are carried, and the condition compares the first two.
// state = state * factor + x; state is collected. What the passes leave of it runs where it is unrolled.
struct WhileParts {
  float bound = 3;                             // of the counter, which begins at 0
  bool bound_is_constant = true;               // else an input
  std::optional<int64_t> most = std::nullopt;  // the Loop's own number of trips
  bool bound_falls = false;                    // by one a trip
};

Graph While(const WhileParts& parts) {
  GraphBuilder body = Fresh(), builder = Fresh();
  const ValueType number = StaticType(DataType::kFloat32, {});
  body.AddInput("trip", StaticType(DataType::kInt64, {}));
  body.AddInput("go_on", StaticType(DataType::kBool, {}));
  const ValueId counter = body.AddInput("counter", number), factor = body.AddInput("factor", Floats({4})),
                bound = body.AddInput("bound", number), state = body.AddInput("state", Floats({4})),
                x = body.AddCaptured("x", Floats({4})), one = body.AddConstant("one", Tensor::Float32({}, {1}));
  const ValueId next = body.AddOp("Add", {counter, one});
  const ValueId limit = parts.bound_falls ? body.AddOp("Sub", {bound, one}) : bound;
  const ValueId last = body.AddOp("Add", {body.AddOp("Mul", {state, factor}), x});
  body.AddOutput(body.AddOp("Less", {next, limit}));
  for (const ValueId output : {next, body.AddOp("Identity", {factor}), limit, last, last}) body.AddOutput(output);

  const ValueId outer_x = builder.AddInput("x", Floats({4}));
  Node node;
  node.op = "Loop";
  node.inputs = {parts.most ? builder.AddConstant("most", Tensor::Int64({}, {*parts.most})) : ValueId(),
                 builder.AddConstant("begins", Tensor::FromBytes(DataType::kBool, {}, std::string(1, 1)).value()),
                 builder.AddConstant("zero", Tensor::Float32({}, {0})),
                 builder.AddConstant("factors", Tensor::Float32({4}, {1, 2, 3, 4})),
                 parts.bound_is_constant ? builder.AddConstant("bound", Tensor::Float32({}, {parts.bound}))
                                         : builder.AddInput("bound", number),
                 builder.AddConstant("zeros", Tensor::Float32({4}, {0, 0, 0, 0})),
                 outer_x};
  node.formal_inputs = 6;
  for (const char* name : {"counted", "same", "bound_at_last", "last", "all"}) {
    node.outputs.push_back(builder.AddValue(name));
  }
  node.subgraphs = {{"body", Built(body), {6}}};
  for (const ValueId output : node.outputs) builder.AddOutput(output);
  builder.AddNode(std::move(node));
  return SimplifiedOnly(builder);
}

std::vector<float> Numbers(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

TEST_CASE("CountTrips, AConditionOnConstantsIsCountedAndTheLoopUnrolled", "[transform]") {
  const Graph graph = While({});
  CHECK(std::ranges::count(Operators(graph), "Loop") == 0);
  CHECK(graph.value(graph.outputs()[4]).type == Floats({3, 4}));
  const std::vector<Tensor> results = RunOnReference(graph, {{Tensor::Float32({4}, {1, 1, 1, 1})}});
  CHECK(Numbers(results[0]) == std::vector<float>{3});
  CHECK(Numbers(results[1]) == std::vector<float>{1, 2, 3, 4});
  CHECK(Numbers(results[2]) == std::vector<float>{3});
  CHECK(Numbers(results[3]) == std::vector<float>{3, 7, 13, 21});
  CHECK(Numbers(results[4]) == std::vector<float>{1, 1, 1, 1, 2, 3, 4, 5, 3, 7, 13, 21});
}

TEST_CASE("CountTrips, TheLoopsOwnNumberEndsItWhereItIsTheLesser", "[transform]") {
  const auto trips = [](const WhileParts& parts) {
    const Graph graph = While(parts);
    return Numbers(RunOnReference(graph, {{Tensor::Float32({4}, {1, 1, 1, 1})}})[0]);
  };
  CHECK(trips({.most = 2}) == std::vector<float>{2});
  CHECK(trips({.most = 7}) == std::vector<float>{3});
  CHECK(trips({.bound = 0}) == std::vector<float>{1});  // the condition is asked behind the first trip
  CHECK(trips({.bound = 9, .bound_falls = true}) == std::vector<float>{5});
}

TEST_CASE("CountTrips, LoopsThatARunCountsOrThatDoNotEndSoonStayAsTheyAre", "[transform]") {
  const Graph asked = While({.bound_is_constant = false});
  CHECK(std::ranges::count(Operators(asked), "Loop") == 1);
  const auto loop = [](const Graph& graph) {
    return *std::ranges::find(graph.nodes(), "Loop", [](const Node& node) { return node.op; });
  };
  CHECK_FALSE(loop(While({.bound = 1e9F})).inputs[0].valid());
  // Counted, and too long to stand there trip by trip: what it collects has a size.
  const Graph long_one = While({.bound = 500});
  CHECK(loop(long_one).inputs[0].valid());
  CHECK(long_one.value(long_one.outputs()[4]).type == Floats({500, 4}));
}

TEST_CASE("CaptureInvariants, WhatNoTripChangesIsReadFromOutside", "[transform]") {
  const Graph graph = While({.bound_is_constant = false});
  const Node& loop = *std::ranges::find(graph.nodes(), "Loop", [](const Node& node) { return node.op; });
  CHECK(loop.formal_inputs == 4);  // factor and bound are carried no more
  const Graph& body = NestedIn(graph, "body");
  CHECK(body.inputs().size() == 4);
  const Node& product = *std::ranges::find(body.nodes(), "Mul", [](const Node& node) { return node.op; });
  CHECK(std::ranges::count_if(product.inputs, [&](ValueId id) { return body.value(id).is_constant(); }) == 1);
}

// Running sums of the columns of x [2,3], last column first, results in the order of the columns.
TEST_CASE("UnrollLoops, AScanGoesAlongAxesAndDirections", "[transform]") {
  GraphBuilder body = Fresh(), builder = Fresh();
  const ValueId sum = body.AddInput("sum", Floats({2})), column = body.AddInput("column", Floats({2}));
  const ValueId next = body.AddOp("Add", {sum, column});
  body.AddOutput(next);
  body.AddOutput(body.AddOp("Identity", {next}));
  Node node;
  node.op = "Scan";
  node.inputs = {builder.AddConstant("zeros", Tensor::Float32({2}, {0, 0})), builder.AddInput("x", Floats({2, 3}))};
  node.formal_inputs = 2;
  node.attributes = {{"num_scan_inputs", int64_t{1}},
                     {"scan_input_axes", std::vector<int64_t>{-1}},
                     {"scan_input_directions", std::vector<int64_t>{1}},
                     {"scan_output_axes", std::vector<int64_t>{1}},
                     {"scan_output_directions", std::vector<int64_t>{1}}};
  node.subgraphs = {{"body", Built(body), {}}};
  node.outputs = {builder.AddValue("total"), builder.AddValue("sums")};
  for (const ValueId output : node.outputs) builder.AddOutput(output);
  builder.AddNode(std::move(node));
  const Graph graph = SimplifiedOnly(builder);
  CHECK(std::ranges::count(Operators(graph), "Scan") == 0);
  const std::vector<Tensor> results = RunOnReference(graph, {{Tensor::Float32({2, 3}, {1, 2, 3, 10, 20, 30})}});
  const auto numbers = [](const Tensor& tensor) {
    return std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end());
  };
  CHECK(numbers(results[0]) == std::vector<float>{6, 60});
  CHECK(results[1].dims() == std::vector<int64_t>{2, 3});
  CHECK(numbers(results[1]) == std::vector<float>{6, 5, 3, 60, 50, 30});
}

}  // namespace
}  // namespace pt::testing::nested_passes_test
