#include "partitiontuner/onnx/infer_shapes.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"

namespace pt::infer_shapes_test {
namespace {

std::string TypeOf(const Graph& graph, const std::string& value) {
  return ToString(graph.value(graph.find_value(value)).type);
}

Graph Parsed(const char* text) {
  auto graph = ParseGraph(text);
  INFO((graph.ok() ? "" : graph.error().message));
  REQUIRE(graph.ok());
  return std::move(*graph);
}

TEST_CASE("InferShapes, NamedDimsSpecialiseEverywhere", "[onnx]") {
  const Graph graph = Parsed(R"(
      input x float32[batch,3,8,8]
      input m float32[batch,4,8,8]
      const w float32[4,3,3,3] random 1
      y = Conv(x, w) pads=[1,1,1,1]
      z = Add(y, m)
      output z)");
  const auto symbolic = InferShapes(graph);
  REQUIRE(symbolic.ok());
  CHECK(TypeOf(*symbolic, "z") == "float32[batch,4,8,8]");
  const auto by_dim = InferShapes(graph, {{{"batch", 2}}, {}});
  REQUIRE(by_dim.ok());
  CHECK(TypeOf(*by_dim, "y") == "float32[2,4,8,8]");
  CHECK(TypeOf(*by_dim, "m") == "float32[2,4,8,8]");
  const auto by_input = InferShapes(*symbolic, {{}, {{"x", {5, 3, 8, 8}}}});
  REQUIRE(by_input.ok());
  CHECK(TypeOf(*by_input, "z") == "float32[5,4,8,8]");
  CHECK(by_input->nodes().size() == 2);
}

TEST_CASE("InferShapes, ShapeArithmeticComesOutStatic", "[onnx]") {
  const Graph graph = Parsed(R"(
      input x float32[N,3,4,5]
      const zero int64[1] ints 0
      const one int64[1] ints 1
      const minus int64[1] ints -1
      const axes int64[1] ints 0
      s = Shape(x)
      n = Slice(s, zero, one, axes)
      t = Concat(n, minus) axis=0
      y = Reshape(x, t)
      output y)");
  const auto inferred = InferShapes(graph, {{{"N", 7}}, {}});
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "y") == "float32[7,60]");
}

// libonnx's loop over the sizes that a Slice takes is one of 32-bit numbers, to which such a step adds nothing.
TEST_CASE("InferShapes, SlicesOfSizesByAnyStepEnd", "[onnx]") {
  for (const auto& [step, type] : {std::pair("4294967296", "float32[?]"), std::pair("-4294967296", "float32[]"),
                                   std::pair("4503599627370496", "float32[?]"), std::pair("4097", "float32[?]"),
                                   std::pair("4096", "float32[3]")}) {
    CAPTURE(step);
    const Graph graph = Parsed((std::string(R"(
      input x float32[2,3,4,5]
      const start int64[1] ints 1
      const end int64[1] ints 1000
      const axes int64[1] ints 0
      const step int64[1] ints )") +
                                step + R"(
      s = Shape(x)
      n = Slice(s, start, end, axes, step)
      y = ConstantOfShape(n)
      output y)")
                                   .c_str());
    const auto inferred = InferShapes(graph);
    REQUIRE(inferred.ok());
    CHECK(TypeOf(*inferred, "y") == type);
  }
}

TEST_CASE("InferShapes, SizesTakenAtAPlaceThatIsNotKnownStayOpen", "[onnx]") {
  const Graph graph = Parsed(R"(
      input x float32[2,3,4,5]
      input k float32[N]
      const end int64[1] ints 4
      s = Shape(x)
      start = Shape(k)
      n = Slice(s, start, end)
      y = ConstantOfShape(n)
      output y)");
  const auto inferred = InferShapes(graph);
  REQUIRE(inferred.ok());
  CHECK_FALSE(inferred->value(inferred->outputs()[0]).type.ranked);
}

TEST_CASE("InferShapes, LongListsOfIntegersAreNotFollowed", "[onnx]") {
  for (const auto& [count, is_followed] : {std::pair("3", true), std::pair("4097", false)}) {
    const Graph graph = Parsed((std::string("const a int64[") + count + "] ones\nconst zero int64[1] ints 0\n" +
                                "b = Add(a, a)\nc = Gather(b, zero)\ny = ConstantOfShape(c)\noutput y")
                                   .c_str());
    const auto inferred = InferShapes(graph);
    REQUIRE(inferred.ok());
    CHECK(inferred->value(inferred->outputs()[0]).type.is_static() == is_followed);
  }
}

TEST_CASE("InferShapes, OverridesThatContradictAreUsageErrors", "[onnx]") {
  const Graph graph = Parsed("input x float32[batch,3]\ninput z float32[batch,4]\ny = Relu(x)\noutput y");
  const auto message = [&](const ShapeOverrides& overrides) {
    const auto inferred = InferShapes(graph, overrides);
    REQUIRE_FALSE(inferred.ok());
    CHECK(inferred.error().code == ErrorCode::kUsage);
    return inferred.error().message;
  };
  CHECK(testing::Mentions(message({{{"bach", 1}}, {}}), "\"bach\""));
  CHECK(testing::Mentions(message({{{"batch", -2}}, {}}), "-2"));
  CHECK(testing::Mentions(message({{}, {{"nope", {1}}}}), "no such input"));
  CHECK(testing::Mentions(message({{}, {{"x", {1}}}}), "rank 2"));
  CHECK(testing::Mentions(message({{}, {{"x", {1, 4}}}}), "the model says 3"));
  CHECK(testing::Mentions(message({{}, {{"x", {1, 3}}, {"z", {2, 4}}}}), "elsewhere"));
  CHECK(testing::Mentions(message({{{"batch", 3}}, {{"x", {1, 3}}}}), "elsewhere"));
}

TEST_CASE("InferShapes, UnresolvedDimsSayTheFlag", "[onnx]") {
  const Graph graph = Parsed(
      "input x float32[batch,3,seq]\ninput z float32[batch,?,5]\ninput k float32[2]\ny = "
      "Relu(x)\noutput y");
  const std::vector<UnresolvedDim> dims = UnresolvedDims(graph);
  REQUIRE(dims.size() == 3);
  CHECK(dims[0].flag == "--dim batch=N");
  CHECK(dims[1].flag == "--dim seq=N");
  CHECK(dims[2].flag == "--shape z=NxNx5");
  CHECK(dims[2].axis == 1);
  const auto resolved = InferShapes(graph, {{{"batch", 1}, {"seq", 2}}, {{"z", {1, 9, 5}}}});
  REQUIRE(resolved.ok());
  CHECK(UnresolvedDims(*resolved).empty());
}

TEST_CASE("InferShapes, AgainAfterFolding", "[onnx]") {
  const Graph graph = Parsed("input x float32[6,4]\ninput t int64[2]\ny = Reshape(x, t)\nz = Relu(y)\noutput z");
  const auto before = InferShapes(graph);
  REQUIRE(before.ok());
  CHECK_FALSE(before->value(before->outputs()[0]).type.is_static());
  GraphBuilder builder(*before);
  builder.value(before->find_value("t")).constant = Tensor::Int64({2}, {3, -1});
  const auto after = InferShapes(builder.Build().value());
  REQUIRE(after.ok());
  CHECK(TypeOf(*after, "z") == "float32[3,8]");
}

// libonnx alone leaves it open, and with it all that follows.
TEST_CASE("InferShapes, GroupNormalizationKeepsTheTypeOfItsInput", "[onnx]") {
  const Graph graph = Parsed(R"(
      input x float16[N,6,5]
      const s float16[6] ones
      n = GroupNormalization(x, s, s) num_groups=2
      y = Relu(n)
      output y)");
  const auto inferred = InferShapes(graph, {{{"N", 3}}, {}});
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "n") == "float16[3,6,5]");
  CHECK(TypeOf(*inferred, "y") == "float16[3,6,5]");
  CHECK(inferred->nodes()[0].op == "GroupNormalization");
  CHECK(ShapeFaults(*inferred).empty());
}

TEST_CASE("InferShapes, ForeignOperatorsKeepTheirTypes", "[onnx]") {
  const Graph graph = Parsed(
      "opset com.example 1\ninput x float32[2,3]\na = com.example.Thing(x) : float32[2,3]\ny = "
      "Relu(a)\noutput y");
  const auto inferred = InferShapes(graph);
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "y") == "float32[2,3]");
}

TEST_CASE("InferShapes, ValuesWithoutNamesAreFine", "[onnx]") {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueId x = builder.AddInput("", StaticType(DataType::kFloat32, {2, 3}));
  const ValueId y = builder.AddOp("Transpose", {builder.AddOp("Relu", {x})});
  builder.AddOutput(y);
  const auto inferred = InferShapes(builder.Build().value());
  REQUIRE(inferred.ok());
  CHECK(ToString(inferred->value(inferred->outputs()[0]).type) == "float32[3,2]");
}

TEST_CASE("ShapeFaults, NameTheNodesWhoseShapesContradict", "[onnx]") {
  const Graph graph = Parsed(R"(
      input x float32[3,4]
      input y float32[5]
      a = Relu(x)
      b = MatMul(a, x)
      c = Add(x, y)
      output b
      output c)");
  const auto faults = ShapeFaults(graph);
  REQUIRE(faults.size() == 2);
  CHECK(faults.at(NodeId(1U)).find("Incompatible dimensions") != std::string::npos);
  CHECK(faults.at(NodeId(2U)).find("Incompatible dimensions") != std::string::npos);
}

TEST_CASE("ShapeFaults, NoneInASoundGraph", "[onnx]") {
  CHECK(ShapeFaults(Parsed(R"(
      input x float32[N,4]
      const w float32[4,5] random 1
      y = MatMul(x, w)
      output y)"))
            .empty());
}

// libonnx wrote to dims that are not there.
TEST_CASE("InferShapes, LayerNormalizationAlongNoAxisKeepsWhatWasKnown", "[onnx]") {
  const std::string node = "input x float32[2,3]\ninput s float32[3]\ny, m = LayerNormalization(x, s) axis=";
  for (const char* axis : {"2", "-3", "2147483648", "9223372036854775807", "-9223372036854775808"}) {
    CAPTURE(axis);
    const auto inferred = InferShapes(Parsed((node + axis + "\noutput y\noutput m\n").c_str()));
    REQUIRE(inferred.ok());
    CHECK_FALSE(inferred->value(inferred->outputs()[1]).type.is_static());
  }
  const auto inferred = InferShapes(Parsed((node + "-2\noutput y\noutput m\n").c_str()));
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "m") == "float32[1,1]");
}

// What the standard says, and kernels make, where libonnx infers another size.
TEST_CASE("InferShapes, ConvTransposeOfTheSameSizeIgnoresOutputPadding", "[onnx]") {
  const Graph graph = Parsed(R"(
      input x float32[N,2,3,W]
      const w float32[2,1,3,3] random 1
      y = ConvTranspose(x, w) auto_pad="SAME_UPPER" strides=[2,2] output_padding=[1,1]
      z = Relu(y)
      output z)");
  const auto open = InferShapes(graph);
  REQUIRE(open.ok());
  CHECK(TypeOf(*open, "z") == "float32[N,1,6,?]");
  const auto inferred = InferShapes(graph, {{{"N", 1}, {"W", 5}}, {}});
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "z") == "float32[1,1,6,10]");
  CHECK(ShapeFaults(*inferred).empty());
}

TEST_CASE("InferShapes, ConvTransposeWithoutItsWeightsHasARank", "[onnx]") {
  const auto inferred = InferShapes(Parsed(R"(
      input x float32[1,2,3,4]
      input w float32[*]
      y = ConvTranspose(x, w)
      z = ConvTranspose(x, w) kernel_shape=[2,2]
      output y
      output z)"));
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "y") == "float32[1,?,?,?]");
  CHECK(TypeOf(*inferred, "z") == "float32[1,?,4,5]");
}

TEST_CASE("InferShapes, ResizeByScalesCountsTheRegion", "[onnx]") {
  const auto inferred = InferShapes(Parsed(R"(
      input x float32[N,1,8,10]
      input r float32[8]
      const c float32[8] floats 0 0 0.25 0.2 1 1 0.75 0.9
      const s float32[4] floats 1 1 1.5 1.25
      a = Resize(x, c, s) mode="linear" coordinate_transformation_mode="tf_crop_and_resize"
      b = Resize(x, c, s) mode="linear"
      d = Resize(x, r, s) mode="linear" coordinate_transformation_mode="tf_crop_and_resize"
      output a
      output b
      output d)"));
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "a") == "float32[N,1,6,8]");
  CHECK(TypeOf(*inferred, "b") == "float32[?,1,12,12]");
  CHECK(TypeOf(*inferred, "d") == "float32[?,?,?,?]");  // only the run knows the region
}

TEST_CASE("InferShapes, StftIsOneSidedUnlessItSaysOtherwise", "[onnx]") {
  const auto inferred = InferShapes(Parsed(R"(
      input x float32[N,50331651,1]
      input u float32[2,L,1]
      const step int64[] ints 8
      const n int64[] ints 4
      const w float32[4] ones
      a = STFT(x, step, _, n)
      b = STFT(x, step, w) onesided=0
      c = STFT(u, step, w, n)
      output a
      output b
      output c)"));
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "a") == "float32[N,6291456,3,2]");
  CHECK(TypeOf(*inferred, "b") == "float32[N,6291456,4,2]");
  CHECK(TypeOf(*inferred, "c") == "float32[2,?,3,2]");
}

// libonnx read sizes that are not there.
TEST_CASE("InferShapes, SplitIntoFewerPartsThanOutputsIsAFault", "[onnx]") {
  for (const char* parts : {"1", "2", "4", "1000000000000"}) {
    const Graph graph = Parsed(
        (std::string("input x float32[6]\na, b, c = Split(x) num_outputs=") + parts + "\noutput a\noutput b\noutput c")
            .c_str());
    const auto inferred = InferShapes(graph);
    REQUIRE(inferred.ok());
    CHECK_FALSE(inferred->value(inferred->outputs()[0]).type.is_static());
    CHECK(ShapeFaults(graph).at(NodeId(0U)).find("num_outputs is ") != std::string::npos);
  }
}

// libonnx took dims that are not known for 0.
TEST_CASE("InferShapes, AttentionOfOpenDimsLeavesThemOpen", "[onnx]") {
  const auto inferred = InferShapes(Parsed(R"(
      input q float32[B,S,64]
      input k float32[B,T,H]
      input v float32[B,T,H]
      input pk float32[B,2,P,8]
      input pv float32[B,2,P,8]
      y, p, o, s = Attention(q, k, v, _, pk, pv) q_num_heads=4 kv_num_heads=2
      output y
      output p
      output s)"));
  REQUIRE(inferred.ok());
  CHECK(TypeOf(*inferred, "y") == "float32[B,S,?]");
  CHECK(TypeOf(*inferred, "p") == "float32[B,2,?,?]");
  CHECK(TypeOf(*inferred, "s") == "float32[B,4,S,?]");
  const auto static_one = InferShapes(*inferred, {{{"B", 3}, {"S", 5}, {"T", 6}, {"H", 16}, {"P", 7}}, {}});
  REQUIRE(static_one.ok());
  CHECK(TypeOf(*static_one, "y") == "float32[3,5,32]");
  CHECK(TypeOf(*static_one, "p") == "float32[3,2,13,8]");
  CHECK(TypeOf(*static_one, "s") == "float32[3,4,5,13]");
}

}  // namespace
TEST_CASE("InferShapes, EinsumBroadcastsWhatItsOperandsShare", "[onnx]") {
  const auto type = [](const std::string& equation, const std::vector<std::vector<std::string>>& operands) {
    testing::GraphParts parts;
    std::vector<std::string> inputs;
    for (const auto& dims : operands) {
      inputs.push_back("x" + std::to_string(inputs.size()));
      parts.inputs.push_back(testing::ValueInfo(inputs.back(), 1, dims));
    }
    parts.nodes = {testing::NodeBytes("Einsum", inputs, {"y"}, {testing::StringAttribute("equation", equation)})};
    parts.outputs = {testing::Wire().Bytes(1, "y")};
    const Result<Graph> graph = testing::Load(testing::ModelBytes(parts));
    return graph.ok() ? ToString(graph->value(graph->outputs()[0]).type) : ToString(graph.error());
  };
  CHECK(type("ij,jk->ik", {{"2", "3"}, {"3", "4"}}) == "float32[2,4]");
  CHECK(type("bik,bkj->bij", {{"1", "3", "4"}, {"5", "4", "6"}}) == "float32[5,3,6]");
  CHECK(type("bik,bkj->bij", {{"5", "3", "4"}, {"1", "4", "6"}}) == "float32[5,3,6]");
  CHECK(type("bik,bkj->bij", {{"n", "3", "4"}, {"1", "4", "6"}}) == "float32[n,3,6]");
  CHECK(type("bik,bkj", {{"n", "3", "4"}, {"n", "4", "6"}}) == "float32[3,6]");
  CHECK(type("ji,kj", {{"2", "3"}, {"4", "2"}}) == "float32[3,4]");
  CHECK(type("...ij,...jk->...ik", {{"7", "1", "2", "3"}, {"5", "3", "4"}}) == "float32[7,5,2,4]");
  CHECK(type("i...j->j...", {{"2", "3", "4", "5"}}) == "float32[5,3,4]");
  CHECK(type("...ii->i...", {{"3", "4", "4"}}) == "float32[4,3]");
  CHECK(type("...,...", {{"2", "1"}, {"3"}}) == "float32[2,3]");
  CHECK(type("ij->", {{"2", "3"}}) == "float32[]");
}

TEST_CASE("InferShapes, OutputsOfBranchesMayBeConstants", "[onnx]") {
  const auto branch = [](const std::string& name) {
    testing::GraphParts parts;
    parts.initializers = {testing::FloatTensor(name, {5}, {1, 2, 3, 4, 5})};
    parts.outputs = {testing::Wire().Bytes(1, name)};
    return testing::GraphBytes(parts);
  };
  testing::GraphParts parts;
  parts.inputs = {testing::ValueInfo("c", 9, {})};
  parts.nodes = {testing::NodeBytes(
      "If", {"c"}, {"y"},
      {testing::GraphAttribute("then_branch", branch("t")), testing::GraphAttribute("else_branch", branch("e"))})};
  parts.outputs = {testing::ValueInfo("y", 1, {})};
  const Result<Graph> graph = testing::Load(testing::ModelBytes(parts));
  REQUIRE(graph.ok());
  CHECK(ToString(graph->value(graph->outputs()[0]).type) == "float32[5]");
}

}  // namespace pt::infer_shapes_test
