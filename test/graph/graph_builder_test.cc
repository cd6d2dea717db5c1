#include "partitiontuner/graph/graph_builder.h"

#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "partitiontuner/graph/graph_text.h"

namespace pt::graph_builder_test {
namespace {

std::vector<std::string> Ops(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

TEST_CASE("GraphBuilder, UnsortedDagComesOutInATopologicalOrder", "[graph]") {
  const auto graph = ParseGraph(R"(
      input x float32[4]
      d = Add(b, c)
      c = Sigmoid(a)
      b = Tanh(a)
      a = Relu(x)
      output d)");
  REQUIRE(graph.ok());
  CHECK(Ops(*graph) == std::vector<std::string>{"Relu", "Tanh", "Sigmoid", "Add"});
}

TEST_CASE("GraphBuilder, SortedOrderIsKept", "[graph]") {
  const auto graph = ParseGraph(R"(
      input x float32[4]
      a = Relu(x)
      c = Sigmoid(a)
      b = Tanh(a)
      d = Add(b, c)
      output d)");
  REQUIRE(graph.ok());
  CHECK(Ops(*graph) == std::vector<std::string>{"Relu", "Sigmoid", "Tanh", "Add"});
}

TEST_CASE("GraphBuilder, CycleIsListed", "[graph]") {
  for (const char* text :
       {"input x float32[1]\na = Add(x, a)\noutput a", "input x float32[1]\na = Add(x, b)\nb = Relu(a)\noutput b"}) {
    const auto graph = ParseGraph(text);
    REQUIRE_FALSE(graph.ok());
    CHECK(graph.error().id == "graph.cycle");
    CHECK(graph.error().message.find("Add a") != std::string::npos);
  }
}

TEST_CASE("GraphBuilder, CycleOfAThousandNodesIsFound", "[graph]") {
  GraphBuilder builder;
  std::vector<ValueId> values;
  for (int i = 0; i < 1000; ++i) values.push_back(builder.AddValue("v" + std::to_string(i)));
  for (size_t i = 0; i < 1000; ++i) {
    Node node;
    node.op = "Relu";
    node.inputs = {values[i]};
    node.outputs = {values[(i + 1) % 1000]};
    builder.AddNode(node);
  }
  builder.AddOutput(values[0]);
  const auto graph = builder.Build();
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.error().message.find("cycle of 1000") != std::string::npos);
}

TEST_CASE("GraphBuilder, ChainOfFiftyThousandAndFanOutOf65536Build", "[graph]") {
  GraphBuilder builder;
  ValueId value = builder.AddInput("x", StaticType(DataType::kFloat32, {1}));
  const ValueId input = value;
  for (int i = 0; i < 50'000; ++i) value = builder.AddOp("Relu", {value});
  builder.AddOutput(value);
  for (int i = 0; i < 65'536; ++i) builder.AddOutput(builder.AddOp("Neg", {input}));
  const auto graph = builder.Build();
  REQUIRE(graph.ok());
  CHECK(graph->value(input).uses.size() == 65'537);
  CHECK(graph->nodes().size() == 115'536);
}

TEST_CASE("GraphBuilder, UsesAndProducersLinkBothWays", "[graph]") {
  const auto graph = ParseGraph("input x float32[2]\na, b = Split(x)\nc = Add(a, a)\noutput c\noutput b");
  REQUIRE(graph.ok());
  const ValueId a = graph->find_value("a"), b = graph->find_value("b");
  CHECK(graph->value(a).uses == std::vector<Use>{{NodeId(size_t{1}), 0}, {NodeId(size_t{1}), 1}});
  CHECK(graph->value(b).producer == NodeId(size_t{0}));
  CHECK(graph->value(b).producer_output == 1);
  CHECK(graph->value(b).is_graph_output);
  CHECK(graph->value(b).uses.empty());
}

TEST_CASE("GraphBuilder, TwoProducersOrNoneAreRefused", "[graph]") {
  GraphBuilder two;
  const ValueId x = two.AddInput("x", StaticType(DataType::kFloat32, {1}));
  const ValueId y = two.AddValue("y");
  for (int i = 0; i < 2; ++i) {
    Node node;
    node.op = "Relu";
    node.inputs = {x};
    node.outputs = {y};
    two.AddNode(node);
  }
  two.AddOutput(y);
  CHECK(two.Build().error().id == "graph.duplicate");

  GraphBuilder none;
  none.AddOutput(none.AddOp("Relu", {none.AddValue("lost")}));
  const auto lost = none.Build();
  CHECK(lost.error().id == "graph.missing");
  CHECK(lost.error().message.find("\"lost\"") != std::string::npos);

  GraphBuilder names;
  names.AddInput("x", {});
  names.AddInput("x", {});
  CHECK(names.Build().error().id == "graph.duplicate");
}

TEST_CASE("GraphBuilder, ReplacedUsesLeaveDeadNodesThatBuildDrops", "[graph]") {
  const auto graph =
      ParseGraph("input x float32[2]\na = Identity(x)\nb = Relu(a)\nc = Neg(a)\noutput b\noutput c\noutput a");
  REQUIRE(graph.ok());
  GraphBuilder builder(*graph);
  builder.ReplaceUses(graph->find_value("a"), graph->find_value("x"));
  const auto built = builder.Build(/*keep_dead=*/false);
  REQUIRE(built.ok());
  CHECK(Ops(*built) == std::vector<std::string>{"Relu", "Neg"});
  CHECK(built->outputs()[2] == built->inputs()[0]);
  CHECK(built->value(built->inputs()[0]).uses.size() == 2);
  CHECK_FALSE(built->find_value("a").valid());
}

TEST_CASE("GraphBuilder, ReplaceUsesSeesNodesAddedAndEditedBefore", "[graph]") {
  GraphBuilder builder;
  const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {1}));
  const ValueId y = builder.AddInput("y", StaticType(DataType::kFloat32, {1}));
  const ValueId z = builder.AddInput("z", StaticType(DataType::kFloat32, {1}));
  const ValueId a = builder.AddOp("Relu", {x});
  builder.AddOutput(a);
  builder.ReplaceUses(x, y);
  builder.node(NodeId(size_t{0})).inputs[0] = z;
  builder.ReplaceUses(z, x);
  const ValueId b = builder.AddOp("Neg", {a});
  builder.ReplaceUses(a, b);  // Neg's own input too: callers add after they replace
  CHECK(builder.graph().node(NodeId(size_t{0})).inputs[0] == x);
  CHECK(builder.graph().outputs()[0] == b);
}

TEST_CASE("GraphBuilder, InputThatBecomesConstantIsAnInputNoMore", "[graph]") {
  const auto graph = ParseGraph("input x float32[2]\ninput y float32[2]\na = Add(x, y)\noutput a");
  REQUIRE(graph.ok());
  GraphBuilder builder(*graph);
  builder.value(graph->find_value("y")).constant = Tensor::Float32({2}, {1, 2});
  const auto built = builder.Build();
  REQUIRE(built.ok());
  CHECK(built->inputs().size() == 1);
}

TEST_CASE("GraphBuilder, CapturesMustFitTheSubgraph", "[graph]") {
  GraphBuilder body;
  body.AddOutput(body.AddOp("Relu", {body.AddCaptured("outer", StaticType(DataType::kFloat32, {1}))}));
  const auto inner = std::make_shared<const Graph>(body.Build().value());
  for (uint32_t capture : {1u, 0u}) {
    GraphBuilder builder;
    const ValueId condition = builder.AddInput("c", StaticType(DataType::kBool, {}));
    const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {1}));
    Node node;
    node.op = "If";
    node.inputs = {condition, x};
    node.formal_inputs = 1;
    node.outputs = {builder.AddValue("y")};
    node.subgraphs = {{"then_branch", inner, {capture}}};
    builder.AddNode(node);
    builder.AddOutput(node.outputs[0]);
    const auto graph = builder.Build();
    CHECK(graph.ok() == (capture == 1));
    if (graph.ok()) CHECK(graph->value(x).uses.size() == 1);
  }
}

}  // namespace
}  // namespace pt::graph_builder_test
