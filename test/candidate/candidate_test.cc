#include "partitiontuner/candidate/candidate.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt::candidate_test {
namespace {

// x ─ Relu r ─┬─ Neg n ─┐
//             └─────────Add a ─ output; c is a constant
struct Diamond {
  Graph graph;
  ValueId x, r, n, a;
};
Diamond MakeDiamond(const char* middle = "Neg", std::vector<int64_t> dims = {2, 3}) {
  GraphBuilder builder;
  builder.set_opset(25);
  Diamond d;
  const ValueType type = StaticType(DataType::kFloat32, dims);
  d.x = builder.AddInput("x", type);
  d.r = builder.AddOp("Relu", {d.x}, type);
  d.n = builder.AddOp(middle, {d.r}, type);
  d.a = builder.AddOp("Add", {d.r, d.n}, type);
  builder.AddOutput(d.a);
  d.graph = builder.Build().value();
  return d;
}

NodeId ProducerOf(const Graph& graph, ValueId id) { return graph.value(id).producer; }

TEST_CASE("Group, InputsAndOutputsOfADiamond", "[candidate]") {
  const Diamond d = MakeDiamond();
  const NodeId relu = ProducerOf(d.graph, d.r), neg = ProducerOf(d.graph, d.n), add = ProducerOf(d.graph, d.a);
  const std::vector<NodeId> tail = {neg, add};
  CHECK(GroupInputs(d.graph, tail) == std::vector{d.r});
  CHECK(GroupOutputs(d.graph, tail) == std::vector{d.a});
  const std::vector<NodeId> head = {relu, neg};
  CHECK(GroupOutputs(d.graph, head) == std::vector{d.r, d.n});
  const std::vector<NodeId> all = {relu, neg, add};
  CHECK(GroupOutputs(d.graph, all) == std::vector{d.a});
}

TEST_CASE("Group, SkippingTheMiddleIsNotConvex", "[candidate]") {
  const Diamond d = MakeDiamond();
  const NodeId relu = ProducerOf(d.graph, d.r), neg = ProducerOf(d.graph, d.n), add = ProducerOf(d.graph, d.a);
  CHECK(IsConvex(d.graph, std::vector{relu, neg, add}));
  CHECK(IsConvex(d.graph, std::vector{neg, add}));
  CHECK(IsConvex(d.graph, std::vector{relu}));
  CHECK_FALSE(IsConvex(d.graph, std::vector{relu, add}));
}

TEST_CASE("Group, ConstantsAreNoInputs", "[candidate]") {
  GraphBuilder builder;
  const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {1, 2, 4, 4}));
  const ValueId w = builder.AddConstant("w", Tensor::Float32({3, 2, 1, 1}, std::vector<float>(6, 1.0F)));
  const ValueId y = builder.AddOp("Conv", {x, w}, StaticType(DataType::kFloat32, {1, 3, 4, 4}));
  builder.AddOutput(y);
  const Graph graph = builder.Build().value();
  const NodeId conv = ProducerOf(graph, y);
  CHECK(GroupInputs(graph, {&conv, 1}) == std::vector{x});
  const WorkSize size = WorkSizeOf(graph, {&conv, 1});
  CHECK(size.flops == 2.0 * 48 * 2);
  CHECK(size.bytes == 4.0 * (32 + 6 + 48));
  CHECK(HeaviestNode(graph, {&conv, 1}) == conv);
}

std::string SignatureOfAll(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return WorkSignature(graph, nodes);
}

TEST_CASE("Signature, TellsOperatorsShapesAndEdgesApart", "[candidate]") {
  const std::string plain = SignatureOfAll(MakeDiamond().graph);
  CHECK(plain == SignatureOfAll(MakeDiamond().graph));
  CHECK(plain != SignatureOfAll(MakeDiamond("Abs").graph));
  CHECK(plain != SignatureOfAll(MakeDiamond("Neg", {3, 2}).graph));
  CHECK(plain.find('\n') == std::string::npos);
}

// Two inputs of one shape: f(x, x) and f(x, y) cost differently.
TEST_CASE("Signature, RepeatedInputShows", "[candidate]") {
  const auto make = [](bool repeated) {
    GraphBuilder builder;
    const ValueType type = StaticType(DataType::kFloat32, {4});
    const ValueId x = builder.AddInput("x", type), y = builder.AddInput("y", type);
    builder.AddOutput(builder.AddOp("Mul", {x, repeated ? x : y}, type));
    return SignatureOfAll(builder.Build().value());
  };
  CHECK(make(true) != make(false));
}

TEST_CASE("Signature, SmallIntegerConstantsCountByValueFloatsDoNot", "[candidate]") {
  const auto with = [](Tensor constant) {
    GraphBuilder builder;
    const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {4}));
    const ValueId c = builder.AddConstant("c", std::move(constant));
    builder.AddOutput(builder.AddOp("Any", {x, c}, StaticType(DataType::kFloat32, {4})));
    return SignatureOfAll(builder.Build().value());
  };
  CHECK(with(Tensor::Int64({2}, {1, 2})) != with(Tensor::Int64({2}, {1, 3})));
  CHECK(with(Tensor::Int64({65}, std::vector<int64_t>(65, 1))) ==
        with(Tensor::Int64({65}, std::vector<int64_t>(65, 2))));
  CHECK(with(Tensor::Float32({2}, {1, 2})) == with(Tensor::Float32({2}, {1, 3})));
}

TEST_CASE("Signature, AttributesCountAndCannotForgeSeparators", "[candidate]") {
  const auto with = [](Attribute attribute) {
    GraphBuilder builder;
    const ValueType type = StaticType(DataType::kFloat32, {4});
    const ValueId x = builder.AddInput("x", type);
    builder.AddOutput(builder.AddOp("Any", {x}, type, {{"a", std::move(attribute)}}));
    return SignatureOfAll(builder.Build().value());
  };
  CHECK(with(int64_t{1}) != with(int64_t{2}));
  CHECK(with(1.0F) != with(1.0000001F));
  CHECK(with(std::vector<int64_t>{1, 2}) != with(std::vector<int64_t>{12}));
  CHECK(with(std::string("x | y")).find(" | ") == std::string::npos);
  CHECK(with(std::string("1\"")) != with(std::string("1\\x22")));
}

Platform TwoClasses() {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "fingerprint-a"});
  platform.unit_classes.push_back({"cpu/1", DeviceId(0U), 1});
  platform.unit_classes.push_back({"cpu/2", DeviceId(0U), 2});
  return platform;
}

TEST_CASE("Key, EveryFieldThatCostsDependOnShows", "[candidate]") {
  const Diamond d = MakeDiamond();
  const Form row{RowMajor(2), DataType::kFloat32};
  Candidate candidate;
  candidate.nodes = {ProducerOf(d.graph, d.r)};
  candidate.unit_class = UnitClassId(0U);
  candidate.library = "reference";
  candidate.in = {row};
  candidate.out = {row};
  const Platform platform = TwoClasses();
  const auto key = [&](const Candidate& c, std::string_view version = "1") {
    return CandidateKey(d.graph, platform, c, version).hash;
  };
  const Hash128 base = key(candidate);
  CHECK(base == key(candidate));
  CHECK(base != key(candidate, "2"));
  const auto changed = [&](auto&& change) {
    Candidate other = candidate;
    change(other);
    return key(other);
  };
  CHECK(base != changed([](Candidate& c) { c.unit_class = UnitClassId(1U); }));
  CHECK(base != changed([](Candidate& c) { c.variant = "blocked"; }));
  CHECK(base != changed([](Candidate& c) { c.library = "onednn"; }));
  CHECK(base != changed([](Candidate& c) { c.math = MathMode::kBf16; }));
  CHECK(base != changed([](Candidate& c) { c.in[0].storage = DataType::kBfloat16; }));
  CHECK(base != changed([](Candidate& c) { c.out[0].layout.order = {1, 0}; }));
  CHECK(base != changed([](Candidate& c) { c.aliases.push_back({0, 0, Alias::Kind::kAllowed}); }));
  Platform other = platform;
  other.devices[0].fingerprint = "fingerprint-b";
  CHECK(base != CandidateKey(d.graph, other, candidate, "1").hash);
}

}  // namespace
}  // namespace pt::candidate_test
