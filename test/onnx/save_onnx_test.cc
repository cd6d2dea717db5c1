// What SaveOnnx writes is loaded again, and is the same.
#include "partitiontuner/onnx/save_onnx.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/support/file.h"
#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/same_graph.h"
#include "test/testing/test_data.h"

namespace pt::save_onnx_test {
namespace {
namespace fs = std::filesystem;

using testing::Mentions;

Graph Parsed(const std::string& text) {
  auto graph = ParseGraph(text);
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  return std::move(*graph);
}

// As the loader reads it: with types.
Graph Loaded(const std::string& bytes) {
  auto graph = testing::Load(bytes);
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  return std::move(*graph);
}

Graph SavedAndLoaded(const Graph& graph) {
  const auto bytes = SaveOnnxBytes(graph);
  INFO((bytes.ok() ? "" : ToString(bytes.error())));
  REQUIRE(bytes.ok());
  return Loaded(*bytes);
}

std::string Fault(const Graph& graph) {
  const auto bytes = SaveOnnxBytes(graph);
  return bytes.ok() ? "" : bytes.error().id + ": " + ToString(bytes.error());
}

Tensor Ramp(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) / 7);
  return Tensor::Float32({count}, values);
}

// y = x + a + b, with weights of 4000 and 400 bytes.
Graph TwoWeights() {
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  const ValueType type = StaticType(DataType::kFloat32, {100, 1000});
  const ValueId x = builder.AddInput("x", type);
  const ValueId a = builder.AddConstant("a", Ramp(1000)),
                b = builder.AddConstant("b", Tensor::Float32({100, 1}, std::vector<float>(100, 2)));
  builder.AddOutput(builder.AddOp("Add", {builder.AddOp("Add", {x, a}, type, {}, "s"), b}, type, {}, "y"));
  auto graph = builder.Build();
  REQUIRE(graph.ok());
  return std::move(*graph);
}

TEST_CASE("SaveOnnx, NetworkComesBackAsItWas", "[onnx]") {
  const Graph graph = Parsed(
      "opset 25\n"
      "input x float32[batch,3,8,8]\n"
      "const w float32[4,3,3,3] random 7\n"
      "const slope float32[1] value 0.5\n"
      "const most float32[] value 6\n"
      "c = Conv(x, w) pads=[1,1,1,1] : float32[batch,4,8,8]\n"
      "l = PRelu(c, slope) : float32[batch,4,8,8]\n"
      "r = Clip(l, _, most) : float32[batch,4,8,8]\n"
      "p, i = MaxPool(r) kernel_shape=[2,2] strides=[2,2] : float32[batch,4,4,4], int64[batch,4,4,4]\n"
      "output p\noutput i\n");
  const Graph back = SavedAndLoaded(graph);
  CHECK(testing::GraphDifference(graph, back) == "");
  CHECK(testing::GraphDifference(back, SavedAndLoaded(back)) == "");
}

TEST_CASE("SaveOnnx, SameGraphGivesTheSameBytesInTheOldestFormat", "[onnx]") {
  const Graph graph = Parsed("opset 13\ninput x float32[2]\ny = Relu(x) : float32[2]\noutput y\n");
  const auto bytes = SaveOnnxBytes(graph);
  REQUIRE(bytes.ok());
  CHECK(*bytes == *SaveOnnxBytes(graph));
  LoadReport report;
  REQUIRE(testing::Load(*bytes, {}, &report).ok());
  CHECK(report.ir_version == 7);
  CHECK(report.file_opset == 13);
  CHECK(report.unknown_fields == 0);
}

TEST_CASE("SaveOnnx, EveryElementTypeComesBack", "[onnx]") {
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  for (int number = 1; number <= static_cast<int>(DataType::kInt2); ++number) {
    const auto type = static_cast<DataType>(number);
    for (const int64_t count : {0, 1, 5, 9000}) {
      const std::string name = std::string(DataTypeName(type)) + "_" + std::to_string(count);
      Tensor tensor;
      if (type == DataType::kString) {
        tensor = Tensor::FromStrings({count},
                                     std::vector<std::string>(static_cast<size_t>(count), std::string("a\0\xff", 3)))
                     .value();
      } else {
        std::string bytes(static_cast<size_t>(TensorByteCount(type, {count}).value()), '\1');
        tensor = Tensor::FromBytes(type, {count}, std::move(bytes)).value();
      }
      builder.AddOutput(builder.AddConstant(name, std::move(tensor)));
    }
  }
  const auto graph = builder.Build();
  REQUIRE(graph.ok());
  CHECK(testing::GraphDifference(*graph, SavedAndLoaded(*graph)) == "");
}

TEST_CASE("SaveOnnx, StrangeNamesStay", "[onnx]") {
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  builder.set_name("a \"graph\"");
  const ValueType type = StaticType(DataType::kFloat32, {2});
  const std::vector<std::string> names = {
      "with space", "a/b:0", "\xc3\xa4\xe2\x82\xac", "\n\t", std::string("n\0ul", 4), "..", "\xff\xfe"};
  ValueId last = builder.AddInput(names[0], type);
  for (size_t i = 1; i < names.size(); ++i) last = builder.AddOp("Relu", {last}, type, {}, names[i]);
  builder.node(NodeId(size_t{0})).name = "node\nof \"two\" lines";
  builder.AddOutput(last);
  const auto graph = builder.Build();
  REQUIRE(graph.ok());
  const Graph back = SavedAndLoaded(*graph);
  CHECK(testing::GraphDifference(*graph, back) == "");
  CHECK(back.name() == graph->name());
}

TEST_CASE("SaveOnnx, NamelessValuesGetNamesThatNobodyHas", "[onnx]") {
  const ValueType type = StaticType(DataType::kFloat32, {2});
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  const ValueId x = builder.AddInput("value_0", type);
  const ValueId r = builder.AddOp("Relu", {x}, type), n = builder.AddOp("Neg", {r}, type);
  builder.AddOutput(n);
  const auto graph = builder.Build();
  REQUIRE(graph.ok());
  const Graph back = SavedAndLoaded(*graph);
  CHECK(testing::GraphDifference(*graph, back) == "");
  for (const Value& value : back.values()) CHECK(!value.name.empty());
}

TEST_CASE("SaveOnnx, OutputsThatOnnxDoesNotKnowAreMadeByIdentities", "[onnx]") {
  SECTION("the same value twice") {
    const Graph back = SavedAndLoaded(
        Parsed("opset 25\ninput x float32[2]\ny = Relu(x) : float32[2]\noutput y\noutput y\noutput x\n"));
    REQUIRE(back.outputs().size() == 3);
    REQUIRE(back.nodes().size() == 2);
    CHECK(back.nodes()[1].op == "Identity");
    CHECK(back.value(back.outputs()[0]).name == "y");
    CHECK(back.value(back.outputs()[1]).producer == NodeId(size_t{1}));
    CHECK(back.outputs()[2] == back.inputs()[0]);
  }
  SECTION("a branch that gives back what it captures, and a weight of the graph around it") {
    // If(c) { outer } else { w }, as passes leave it when they drop Identity nodes in branches.
    const ValueType type = StaticType(DataType::kFloat32, {2});
    const Tensor w = Tensor::Float32({2}, {1, 2});
    GraphBuilder then_branch, else_branch, main;
    for (GraphBuilder* builder : {&then_branch, &else_branch, &main}) builder->set_opset(kTargetOpset);
    then_branch.AddOutput(then_branch.AddCaptured("outer", type));
    else_branch.AddOutput(else_branch.AddConstant("w", w));
    const ValueId c = main.AddInput("c", StaticType(DataType::kBool, {})), x = main.AddInput("x", type);
    const ValueId outer = main.AddOp("Add", {x, main.AddConstant("w", w)}, type, {}, "outer");
    Node node;
    node.op = "If";
    node.inputs = {c, outer};
    node.formal_inputs = 1;
    node.subgraphs = {{"then_branch", std::make_shared<const Graph>(then_branch.Build().value()), {1}},
                      {"else_branch", std::make_shared<const Graph>(else_branch.Build().value()), {}}};
    node.outputs = {main.AddValue("y", type)};
    const ValueId y = node.outputs[0];
    main.AddNode(std::move(node));
    main.AddOutput(y);
    const auto graph = main.Build();
    REQUIRE(graph.ok());
    const Graph back = SavedAndLoaded(*graph);
    REQUIRE(back.nodes().size() == 2);
    const Node& branches = back.nodes()[1];
    for (const Subgraph& branch : branches.subgraphs) {
      REQUIRE(branch.graph->nodes().size() == 1);
      CHECK(branch.graph->nodes()[0].op == "Identity");
    }
    CHECK(branches.subgraphs[0].captures == std::vector<uint32_t>{1});
    CHECK(branches.subgraphs[1].captures.empty());  // the weight came in as a constant
    CHECK(testing::GraphDifference(back, SavedAndLoaded(back)) == "");
  }
}

TEST_CASE("SaveOnnx, NestedGraphsHideNothing", "[onnx]") {
  // Both graphs call a value "t"; ONNX allows that only once.
  const ValueType type = StaticType(DataType::kFloat32, {2});
  GraphBuilder branch, main;
  branch.set_opset(kTargetOpset);
  main.set_opset(kTargetOpset);
  const ValueId inner = branch.AddOp("Neg", {branch.AddCaptured("whatever", type)}, type, {}, "t");
  branch.AddOutput(branch.AddOp("Add", {inner, branch.AddConstant("w", Tensor::Float32({1}, {3}))}, type, {}, "out"));
  const auto graph_of_branch = std::make_shared<const Graph>(branch.Build().value());
  const ValueId c = main.AddInput("c", StaticType(DataType::kBool, {})), x = main.AddInput("x", type);
  const ValueId w = main.AddConstant("w", Tensor::Float32({1}, {4}));
  const ValueId t = main.AddOp("Add", {x, w}, type, {}, "t");
  Node node;
  node.op = "If";
  node.inputs = {c, t};
  node.formal_inputs = 1;
  node.subgraphs = {{"then_branch", graph_of_branch, {1}}, {"else_branch", graph_of_branch, {1}}};
  const ValueId y = main.AddValue("y", type);
  node.outputs = {y};
  main.AddNode(std::move(node));
  main.AddOutput(y);
  const auto graph = main.Build();
  REQUIRE(graph.ok());
  const Graph back = SavedAndLoaded(*graph);
  for (const Subgraph& branch_back : back.nodes()[1].subgraphs) {
    const Graph& inside = *branch_back.graph;
    REQUIRE(inside.nodes().size() == 2);
    CHECK(inside.value(inside.captured()[0]).name == "t");
    CHECK(inside.value(inside.nodes()[0].outputs[0]).name != "t");
    const Value& weight = inside.value(inside.nodes()[1].inputs[1]);
    REQUIRE(weight.is_constant());
    CHECK(weight.constant->values<float>()[0] == 3);
  }
}

TEST_CASE("SaveOnnx, WhatHasNoFormIsRefusedByName", "[onnx]") {
  const std::string fused = Fault(Parsed("opset 25\ninput x float32[2]\ny = OwnFusion(x) : float32[2]\noutput y\n"));
  CHECK(Mentions(fused, "onnx.no_form"));
  CHECK(Mentions(fused, "OwnFusion y (#0)"));
  const std::string older = Fault(Parsed("opset 13\ninput x float32[2,3]\ny = Gelu(x) : float32[2,3]\noutput y\n"));
  CHECK(Mentions(older, "opset 13 of ai.onnx does not have it"));
  const std::string unknown =
      Fault(Parsed("opset 25\nopset my.ops 1\ninput x float32[2]\ny = my.ops.Twist(x)\noutput y\n"));
  CHECK(Mentions(unknown, "onnx.no_type"));
  CHECK(Mentions(unknown, "output \"y\""));
  CHECK(Fault(Parsed("opset 25\nopset my.ops 1\ninput x float32[2]\ny = my.ops.Twist(x) : float32[2]\noutput y\n")) ==
        "");
  const std::string wrong = Fault(Parsed("opset 25\ninput x float32[2]\ny = Relu(x, x) : float32[2]\noutput y\n"));
  CHECK(Mentions(wrong, "onnx.check"));
  GraphBuilder none;
  none.set_opset(kTargetOpset);
  none.AddInput("x", StaticType(DataType::kFloat32, {1}));
  CHECK(Mentions(Fault(none.Build().value()), "onnx.no_outputs"));
  GraphBuilder nested;
  nested.set_opset(kTargetOpset);
  nested.AddOutput(nested.AddOp("Relu", {nested.AddCaptured("o", {})}, {}, {}, "y"));
  CHECK(Mentions(Fault(nested.Build().value()), "reads \"o\" from outside"));
}

TEST_CASE("SaveOnnx, WeightsBesideTheModelFromAGivenSizeOn", "[onnx]") {
  const testing::TemporaryFolder folder;
  const Graph graph = TwoWeights();
  const std::string path = folder.path() + "/model.onnx";
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  };
  SECTION("none by default") {
    REQUIRE(SaveOnnx(graph, path).ok());
    CHECK(files() == std::vector<std::string>{"model.onnx"});
    CHECK(*ReadFile(path, 0) == *SaveOnnxBytes(graph));
  }
  SECTION("the large one") {
    REQUIRE(SaveOnnx(graph, path, {.external_from = 4000}).ok());
    CHECK(files() == std::vector<std::string>{"model.onnx", "model.onnx.data"});
    CHECK(fs::file_size(path + ".data") == 4000);
    CHECK(fs::file_size(path) < 1500);
  }
  SECTION("none is large enough") {
    REQUIRE(SaveOnnx(graph, path, {.external_from = 4001}).ok());
    CHECK(files() == std::vector<std::string>{"model.onnx"});
  }
  const auto back = LoadOnnx(path);
  INFO((back.ok() ? "" : ToString(back.error())));
  REQUIRE(back.ok());
  CHECK(testing::GraphDifference(graph, *back) == "");
}

TEST_CASE("SaveOnnx, AFailedSaveLeavesWhatWasThere", "[onnx]") {
  const testing::TemporaryFolder folder;
  const Graph graph = TwoWeights();
  const auto files = [&] { return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()); };
  const std::string path = folder.path() + "/model.onnx";
  SECTION("no such folder") {
    const Status status = SaveOnnx(graph, folder.path() + "/none/model.onnx");
    REQUIRE(!status.ok());
    CHECK(status.error().code == ErrorCode::kInvalidInput);
    CHECK(Mentions(status.error().file, "none/model.onnx"));
    CHECK(files() == 0);
  }
  SECTION("the weights' name is taken by a folder") {
    REQUIRE(SaveOnnx(graph, path).ok());
    const std::string before = *ReadFile(path, 0);
    fs::create_directory(path + ".data");
    const Status status = SaveOnnx(graph, path, {.external_from = 0});
    REQUIRE(!status.ok());
    CHECK(status.error().file == path + ".data");
    CHECK(*ReadFile(path, 0) == before);
    CHECK(files() == 2);
  }
  SECTION("a name that no model can speak of") {
    const Status status = SaveOnnx(graph, folder.path() + "/back\\slash.onnx", {.external_from = 0});
    REQUIRE(!status.ok());
    CHECK(status.error().id == "onnx.external_path");
    CHECK(files() == 0);
    CHECK(SaveOnnx(graph, folder.path() + "/back\\slash.onnx").ok());
  }
  SECTION("no graph to save") {
    REQUIRE(!SaveOnnx(Parsed("opset 25\ninput x float32[2]\ny = OwnFusion(x) : float32[2]\noutput y\n"), path).ok());
    CHECK(files() == 0);
  }
}

TEST_CASE("SaveOnnx, ModelsBeyondProtobufsLimitKeepTheirWeightsBeside", "[onnx][slow]") {
  // Two tensors of 1.1 GB that share their bytes in memory. Not of one dim: libonnx makes an object for each element of
  // a sum of such tensors.
  const testing::TemporaryFolder folder;
  constexpr int64_t kCount = 275'000'000;
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  const auto bytes = std::make_shared<std::vector<float>>(kCount);
  const ValueType type = StaticType(DataType::kFloat32, {1, kCount});
  ValueId last = builder.AddInput("x", type);
  for (const char* name : {"a", "b"}) {
    auto tensor = Tensor::FromShared(DataType::kFloat32, {1, kCount}, bytes, std::as_bytes(std::span(*bytes)));
    REQUIRE(tensor.ok());
    last = builder.AddOp("Add", {last, builder.AddConstant(name, std::move(*tensor))}, type);
  }
  builder.AddOutput(last);
  const auto graph = builder.Build();
  REQUIRE(graph.ok());
  const auto in_one = SaveOnnxBytes(*graph);
  REQUIRE(!in_one.ok());
  CHECK(in_one.error().code == ErrorCode::kUnsupported);
  CHECK(in_one.error().id == "onnx.size");
  const std::string path = folder.path() + "/large.onnx";
  const Status too_high = SaveOnnx(*graph, path, {.external_from = uint64_t{1} << 40});
  REQUIRE(!too_high.ok());
  CHECK(too_high.error().id == "onnx.size");
  const Status saved = SaveOnnx(*graph, path);
  INFO((saved.ok() ? "" : ToString(saved.error())));
  REQUIRE(saved.ok());
  CHECK(fs::file_size(path + ".data") >= 2'200'000'000);
  CHECK(fs::file_size(path) < 10'000);
  const auto back = LoadOnnx(path);
  REQUIRE(back.ok());
  CHECK(testing::GraphDifference(*graph, *back) == "");
}

}  // namespace
}  // namespace pt::save_onnx_test
