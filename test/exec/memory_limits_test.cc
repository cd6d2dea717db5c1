// Limits on what a run may take, kept by operators whose results only the run can size.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/host_lab.h"

namespace pt::testing::memory_limits_test {
namespace {

// The result of a row is this large for a large parameter, 4 GiB, and small for a small one.
constexpr const char* kLarge = "4294967296";

struct Growing {
  const char* text;  // "n" is the input that sizes the output "y"
  Tensor small, large;
};

std::vector<Growing> GrowingOperators() {
  const auto list = [](std::vector<int64_t> values) {
    return Tensor::Int64({static_cast<int64_t>(values.size())}, values);
  };
  const auto scalar = [](int64_t value) { return Tensor::Int64({}, {value}); };
  constexpr int64_t kGi = int64_t{1} << 30, kSide = int64_t{1} << 15;
  return {
      {"input n int64[1]\ny = ConstantOfShape(n)\noutput y\n", list({3}), list({kGi})},
      {"input n int64[1]\nconst x float32[1] ones\ny = Expand(x, n)\noutput y\n", list({3}), list({kGi})},
      {"input n int64[1]\nconst x float32[1] ones\ny = Tile(x, n)\noutput y\n", list({3}), list({kGi})},
      {"input n int64[]\nconst zero int64[] zeros\nconst one int64[] ones\ny = Range(zero, n, one)\noutput y\n",
       scalar(3), scalar(kGi / 2)},
      {"input n int64[2]\nconst x float32[1] ones\ny = Pad(x, n)\noutput y\n", list({1, 1}), list({0, kGi - 1})},
      {"input n int64[4]\nconst x float32[1,1,1,1] ones\ny = Resize(x, _, _, n)\noutput y\n", list({1, 1, 2, 2}),
       list({1, 1, kSide, kSide})},
      {"input n int64[]\nconst i int64[1] zeros\nconst v float32[2] ones\ny = OneHot(i, n, v)\noutput y\n", scalar(3),
       scalar(kGi)},
      {"input n int64[1]\nconst x float32[1] ones\ny = CenterCropPad(x, n)\noutput y\n", list({3}), list({kGi})},
      {"input n int64[]\ny = HannWindow(n)\noutput y\n", scalar(3), scalar(kGi)},
      {"input n int64[4]\nconst t float32[1,2,3] ones\ny = AffineGrid(t, n)\noutput y\n", list({1, 1, 2, 2}),
       list({1, 1, kSide / 2, kSide})},
  };
}

}  // namespace

TEST_CASE("MemoryLimits, WhatAnOperatorMakesBeyondItIsRefusedWithTheFigure", "[exec]") {
  HostLab lab;
  SessionOptions options;
  options.run_bytes = 1 << 16;
  for (const Growing& growing : GrowingOperators()) {
    CAPTURE(growing.text);
    const auto session = lab.Open(TypedGraph(growing.text), 1, options);
    const auto small = RunOnce(*session, {growing.small});
    if (!small.ok()) FAIL(ToString(small.error()));
    const auto large = RunOnce(*session, {growing.large});
    REQUIRE_FALSE(large.ok());
    CAPTURE(ToString(large.error()));
    CHECK(large.error().code == ErrorCode::kOutOfMemory);
    CHECK(large.error().message.find(kLarge) != std::string::npos);
    CHECK(RunOnce(*session, {growing.small}).ok());
  }
}

// More than any tensor may have is refused by the operator itself, by its dims.
TEST_CASE("MemoryLimits, WhatNoTensorMayHaveIsRefusedWithItsDims", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input n int64[1]\ny = ConstantOfShape(n)\noutput y\n"), 1);
  for (const int64_t count : {int64_t{1} << 40, INT64_MAX}) {
    const auto refused = RunOnce(*session, {Tensor::Int64({1}, {count})});
    REQUIRE_FALSE(refused.ok());
    CAPTURE(ToString(refused.error()));
    CHECK(refused.error().code == ErrorCode::kOutOfMemory);
    CHECK(refused.error().message.find(std::to_string(count)) != std::string::npos);
  }
}

TEST_CASE("MemoryLimits, ALoopThatDoublesAValueComesToTheLimit", "[exec]") {
  HostLab lab;
  GraphBuilder body, builder;
  for (GraphBuilder* graph : {&body, &builder}) graph->set_opset(21);
  ValueType any;
  any.type = DataType::kFloat32;
  body.AddInput("trip", StaticType(DataType::kInt64, {}));
  const ValueId go_on = body.AddInput("go_on", StaticType(DataType::kBool, {}));
  const ValueId held = body.AddInput("held", any);
  body.AddOutput(body.AddOp("Identity", {go_on}, StaticType(DataType::kBool, {}), {}, "again"));
  body.AddOutput(body.AddOp("Concat", {held, held}, any, {{"axis", int64_t{0}}}, "twice"));
  Node loop;
  loop.op = "Loop";
  loop.formal_inputs = 3;
  const ValueId trips = builder.AddInput("trips", StaticType(DataType::kInt64, {}));
  loop.inputs = {trips, ValueId(), builder.AddConstant("one", Tensor::Float32({1}, {1}))};
  loop.subgraphs = {{"body", std::make_shared<const Graph>(body.Build().value()), {}}};
  loop.outputs = {builder.AddValue("y", {})};
  const ValueId y = loop.outputs[0];
  builder.AddNode(std::move(loop));
  builder.AddOutput(y);
  SessionOptions options;
  options.run_bytes = 1 << 20;
  const auto session = lab.Open(Typed(builder), 1, options);
  const auto small = RunOnce(*session, {Tensor::Int64({}, {4})});
  if (!small.ok()) FAIL(ToString(small.error()));
  CHECK(small->at(0).dims() == std::vector<int64_t>{16});
  const auto large = RunOnce(*session, {Tensor::Int64({}, {62})});
  REQUIRE_FALSE(large.ok());
  CHECK(large.error().code == ErrorCode::kOutOfMemory);
  CHECK(large.error().message.find("bytes") != std::string::npos);
}

TEST_CASE("MemoryLimits, WhatANestedGraphKeepsCountsBeforeTheRun", "[exec]") {
  HostLab lab;
  GraphBuilder then_graph, else_graph, builder;
  for (GraphBuilder* graph : {&then_graph, &else_graph, &builder}) graph->set_opset(21);
  const ValueType row = StaticType(DataType::kFloat32, {1, 1000}),
                  square = StaticType(DataType::kFloat32, {1000, 1000}), scalar = StaticType(DataType::kFloat32, {});
  const ValueId inner = then_graph.AddCaptured("x", row);
  const ValueId column = then_graph.AddOp("Transpose", {inner}, StaticType(DataType::kFloat32, {1000, 1}));
  const ValueId product = then_graph.AddOp("Mul", {inner, column}, square);
  then_graph.AddOutput(then_graph.AddOp("ReduceMax", {product}, scalar, {{"keepdims", int64_t{0}}}));
  else_graph.AddOutput(else_graph.AddConstant("zero", Tensor::Float32({}, {0})));
  Node node;
  node.op = "If";
  node.inputs = {builder.AddInput("condition", StaticType(DataType::kBool, {})), builder.AddInput("x", row)};
  node.formal_inputs = 1;
  node.subgraphs = {{"then_branch", std::make_shared<const Graph>(then_graph.Build().value()), {1}},
                    {"else_branch", std::make_shared<const Graph>(else_graph.Build().value()), {}}};
  node.outputs = {builder.AddValue("y", scalar)};
  builder.AddOutput(node.outputs[0]);
  builder.AddNode(std::move(node));
  const auto graph = Typed(builder);
  const auto plan = lab.Open(graph, 1)->plan();
  SessionOptions options;
  options.run_bytes = 1 << 20;
  const auto refused = Session::Create(graph, *plan, lab.machine(), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().id == "session.memory_limit");
  options.run_bytes = 1 << 23;
  CHECK(Session::Create(graph, *plan, lab.machine(), options).ok());
}

}  // namespace pt::testing::memory_limits_test
