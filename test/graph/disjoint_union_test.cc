#include "partitiontuner/graph/disjoint_union.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt::disjoint_union_test {
namespace {

Graph Parsed(const char* text) { return ParseGraph(text).value(); }

std::vector<std::string> NamesOf(const Graph& graph, std::span<const ValueId> values) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

const char* const kScaled = R"(
    input x float32[batch,3]
    const w float32[3] value 2
    y = Mul(x, w)
    z = Relu(y)
    output z)";

// x and y, of which one is taken by a nested graph that makes values of its own.
Graph WithBranch() {
  GraphBuilder branch;
  branch.set_opset(25);
  const ValueId outer = branch.AddCaptured("x", {DataType::kFloat32, true, {{-1, "batch"}}, ""});
  branch.AddOutput(branch.AddOp("Relu", {outer}, {DataType::kFloat32, true, {{-1, "batch"}}, ""}, {}, "inner"));
  const auto graph = std::make_shared<const Graph>(branch.Build().value());
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueId condition = builder.AddInput("c", StaticType(DataType::kBool, {}));
  const ValueId x = builder.AddInput("x", {DataType::kFloat32, true, {{-1, "batch"}}, ""});
  Node node;
  node.op = "If";
  node.inputs = {condition, x};
  node.formal_inputs = 1;
  node.subgraphs = {{"then_branch", graph, {1}}, {"else_branch", graph, {1}}};
  node.source = {{"", 0, "y"}};
  node.outputs = {builder.AddValue("y", {DataType::kFloat32, true, {{-1, "batch"}}, ""})};
  builder.AddOutput(node.outputs[0]);
  builder.AddNode(std::move(node));
  return builder.Build().value();
}

TEST_CASE("DisjointUnion, EachKeepsItsOrderAndEverythingIsCalledByItsModel", "[graph]") {
  const Graph a = Parsed(kScaled), b = Parsed(R"(
    input x float32[batch]
    input k float32[]
    y = Add(x, k)
    output y
    output x)");
  const NamedGraph graphs[] = {{"left", &a}, {"right", &b}};
  const Graph both = DisjointUnion(graphs).value();
  CHECK(NamesOf(both, both.inputs()) == std::vector<std::string>{"left/x", "right/x", "right/k"});
  CHECK(NamesOf(both, both.outputs()) == std::vector<std::string>{"left/z", "right/y", "right/x"});
  REQUIRE(both.nodes().size() == 3);
  CHECK(both.nodes()[0].op == "Mul");
  CHECK(both.nodes()[2].op == "Add");
  CHECK(both.value(both.inputs()[0]).type.dims[0].name == "left/batch");
  CHECK(both.value(both.inputs()[1]).type.dims[0].name == "right/batch");
  CHECK(both.name() == "left + right");
  CHECK(both.opset() == a.opset());
}

TEST_CASE("DisjointUnion, ConstantsLieWhereTheyLay", "[graph]") {
  const Graph a = Parsed(kScaled);
  const NamedGraph graphs[] = {{"one", &a}, {"two", &a}};
  const Graph both = DisjointUnion(graphs).value();
  const std::byte* const bytes = a.value(a.find_value("w")).constant->bytes().data();
  for (const char* name : {"one/w", "two/w"}) {
    REQUIRE(both.find_value(name).valid());
    CHECK(both.value(both.find_value(name)).constant->bytes().data() == bytes);
  }
}

TEST_CASE("DisjointUnion, NestedGraphsAreRenamedWithTheDimsThatTheyShare", "[graph]") {
  const Graph a = WithBranch();
  const NamedGraph graphs[] = {{"a", &a}, {"b", &a}};
  const Graph both = DisjointUnion(graphs).value();
  REQUIRE(both.nodes().size() == 2);
  const Node& second = both.nodes()[1];
  CHECK(second.formal_inputs == 1);
  CHECK(second.source[0].first_output == "b/y");
  REQUIRE(second.subgraphs.size() == 2);
  CHECK(second.subgraphs[0].captures == std::vector<uint32_t>{1});
  CHECK(both.value(second.inputs[1]).name == "b/x");
  const Graph& inner = *second.subgraphs[0].graph;
  CHECK(inner.value(inner.outputs()[0]).name == "b/inner");
  CHECK(inner.value(inner.captured()[0]).name == "b/x");
  CHECK(inner.value(inner.outputs()[0]).type.dims[0].name == "b/batch");
}

TEST_CASE("DisjointUnion, OfOneIsThatGraphUnderItsName", "[graph]") {
  const Graph a = Parsed(kScaled);
  const NamedGraph one[] = {{"a", &a}};
  const Graph named = DisjointUnion(one).value();
  CHECK(named.nodes().size() == a.nodes().size());
  CHECK(NamesOf(named, named.inputs()) == std::vector<std::string>{"a/x"});
}

TEST_CASE("DisjointUnion, HashesTellWhichGraphIsWhich", "[graph]") {
  const Graph a = Parsed(kScaled), b = Parsed("input x float32[batch,3]\ny = Relu(x)\noutput y");
  const NamedGraph in_order[] = {{"a", &a}, {"b", &b}}, swapped[] = {{"a", &b}, {"b", &a}};
  CHECK(GraphHash(DisjointUnion(in_order).value()) != GraphHash(DisjointUnion(swapped).value()));
}

TEST_CASE("DisjointUnion, BadNamesAreRefused", "[graph]") {
  const Graph a = Parsed(kScaled);
  const auto error = [&](const std::vector<NamedGraph>& graphs) {
    const auto joined = DisjointUnion(graphs);
    REQUIRE(!joined.ok());
    CHECK(joined.error().code == ErrorCode::kInvalidInput);
    return joined.error().message;
  };
  CHECK(error({}).find("no graph") != std::string::npos);
  CHECK(error({{"a", &a}, {"a", &a}}).find("two models are called \"a\"") != std::string::npos);
  CHECK(error({{"", &a}, {"b", &a}}).find("\"\"") != std::string::npos);
  CHECK(error({{"a/b", &a}, {"b", &a}}).find("\"a/b\"") != std::string::npos);
}

TEST_CASE("DisjointUnion, OneVersionOfOperatorsIsNeeded", "[graph]") {
  const auto graph = [](int64_t opset, const std::string& domain, int64_t version, bool used) {
    GraphBuilder builder;
    builder.set_opset(opset);
    builder.set_domain(domain, version);
    Node node;
    node.op = "Binarizer";
    node.domain = used ? domain : "";
    node.inputs = {builder.AddInput("x", StaticType(DataType::kFloat32, {2}))};
    node.outputs = {builder.AddValue("y", StaticType(DataType::kFloat32, {2}))};
    builder.AddOutput(node.outputs[0]);
    builder.AddNode(std::move(node));
    return builder.Build().value();
  };
  const Graph old = graph(9, "ai.onnx.ml", 1, false), one = graph(25, "ai.onnx.ml", 1, true),
              three = graph(25, "ai.onnx.ml", 3, true), unused = graph(25, "ai.onnx.ml", 3, false);
  const auto joined = [](const Graph& a, const Graph& b) {
    const NamedGraph graphs[] = {{"a", &a}, {"b", &b}};
    return DisjointUnion(graphs);
  };
  REQUIRE(!joined(old, unused).ok());
  CHECK(joined(old, unused).error().message.find("a has 9, b has 25") != std::string::npos);
  REQUIRE(!joined(one, three).ok());
  CHECK(joined(one, three).error().message.find("ai.onnx.ml: a has 1, b has 3") != std::string::npos);
  REQUIRE(joined(one, unused).ok());
  CHECK(joined(unused, one)->domains().at("ai.onnx.ml") == 1);
}

}  // namespace
}  // namespace pt::disjoint_union_test
