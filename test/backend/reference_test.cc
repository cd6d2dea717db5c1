// The reference library's promises beyond right numbers: typed refusals and errors, defined arithmetic, strides, order
// of summation. Its numbers are held to the ONNX node suite.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/kernel_bench.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::reference_test {
namespace {

Graph Typed(std::string_view text) {
  const Result<Graph> parsed = ParseGraph(text);
  INFO((parsed.ok() ? "" : ToString(parsed.error())));
  REQUIRE(parsed.ok());
  return InferShapes(*parsed).value();
}

Result<std::vector<Tensor>> Run(const Graph& graph, const std::vector<Tensor>& inputs, uint32_t width = 1) {
  return RunGraph(graph, MakeTestPlatform(2, false), *MakeReferenceLibrary(), inputs, width);
}

template <typename T>
Tensor Of(DataType type, std::vector<int64_t> dims, std::vector<T> values) {
  return Tensor::Of<T>(type, std::move(dims), std::span<const T>(values));
}

TEST_CASE("Reference, IndexOutOfRangeIsATypedError", "[backend]") {
  const Graph graph = Typed("input x float32[4,2]\ninput i int64[3]\ny = Gather(x, i)\noutput y\n");
  const Tensor x = RandomTensor(DataType::kFloat32, {4, 2}, 1);
  CHECK(Run(graph, {x, Tensor::Int64({3}, {0, -4, 3})}).ok());
  for (int64_t bad :
       {int64_t{4}, int64_t{-5}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    const Result<std::vector<Tensor>> result = Run(graph, {x, Tensor::Int64({3}, {0, bad, 1})});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("Reference, ScatterOutOfRangeIsATypedError", "[backend]") {
  const Graph graph =
      Typed("input x float32[4]\ninput i int64[1,1]\ninput u float32[1]\ny = ScatterND(x, i, u)\noutput y\n");
  const Tensor x = RandomTensor(DataType::kFloat32, {4}, 1), u = RandomTensor(DataType::kFloat32, {1}, 2);
  CHECK(Run(graph, {x, Tensor::Int64({1, 1}, {-4}), u}).ok());
  CHECK_FALSE(Run(graph, {x, Tensor::Int64({1, 1}, {4}), u}).ok());
}

// No trap, the same on every machine.
TEST_CASE("Reference, IntegerDivisionIsDefinedEverywhere", "[backend]") {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const Tensor a = Of<int32_t>(DataType::kInt32, {5}, {7, -7, kLeast, kLeast, 0}),
               b = Of<int32_t>(DataType::kInt32, {5}, {0, 2, -1, 0, 0});
  const Graph divide = Typed("input a int32[5]\ninput b int32[5]\ny = Div(a, b)\noutput y\n");
  CHECK(Difference((*Run(divide, {a, b}))[0], Of<int32_t>(DataType::kInt32, {5}, {0, -3, kLeast, 0, 0}), 0) == "");
  const Graph modulo = Typed("input a int32[5]\ninput b int32[5]\ny = Mod(a, b)\noutput y\n");
  CHECK(Difference((*Run(modulo, {a, b}))[0], Of<int32_t>(DataType::kInt32, {5}, {0, 1, 0, 0, 0}), 0) == "");
}

TEST_CASE("Reference, FloatsBeyondIntegersSaturateAndNanIsZero", "[backend]") {
  const Graph graph = Typed("input x float32[4]\ny = Cast(x) to=7\noutput y\n");
  const Tensor x = Tensor::Float32({4}, {std::nanf(""), 1e30F, -INFINITY, -1.9F});
  const Tensor expected =
      Tensor::Int64({4}, {0, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), -1});
  CHECK(Difference((*Run(graph, {x}))[0], expected, 0) == "");
}

TEST_CASE("Reference, NothingSummedIsZero", "[backend]") {
  const Graph product = Typed(
      "input a float32[2,0]\ninput b float32[0,3]\nconst c float32[3] value 5\n"
      "y = MatMul(a, b)\nz = Gemm(a, b, c)\noutput y\noutput z\n");
  const std::vector<Tensor> empty = {Tensor::Float32({2, 0}, {}), Tensor::Float32({0, 3}, {})};
  const Result<std::vector<Tensor>> results = Run(product, empty);
  REQUIRE(results.ok());
  CHECK(Difference((*results)[0], Tensor::Float32({2, 3}, std::vector<float>(6, 0)), 0) == "");
  CHECK(Difference((*results)[1], Tensor::Float32({2, 3}, std::vector<float>(6, 5)), 0) == "");
}

TEST_CASE("Reference, RecurrenceOverNobodyIsEmpty", "[backend]") {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    const int gates = std::string_view(op) == "LSTM" ? 4 : std::string_view(op) == "GRU" ? 3 : 1;
    const std::string rows = std::to_string(gates * 3);
    const Graph graph = Typed("input x float32[4,0,2]\nconst w float32[1," + rows + ",2] random 1\nconst r float32[1," +
                              rows + ",3] random 2\ny, h = " + op + "(x, w, r) hidden_size=3\noutput y\noutput h\n");
    const Result<std::vector<Tensor>> results = Run(graph, {Tensor::Float32({4, 0, 2}, {})});
    INFO(op << (results.ok() ? "" : ToString(results.error())));
    REQUIRE(results.ok());
    CHECK((*results)[0].dims() == std::vector<int64_t>{4, 1, 0, 3});
  }
}

// Splitting over cores never changes the order of a sum.
TEST_CASE("Reference, WidthNeverChangesABit", "[backend]") {
  const Graph graph = Typed(
      "input x float32[1,24,19,17]\nconst w float32[40,24,3,3] random 1\nconst b float32[40] random 2\n"
      "const d float32[40,1,3,3] random 3\nconst t float32[40,6,2,2] random 4\n"
      "y = Conv(x, w, b) pads=[1,1,1,1]\nz = Conv(y, d) group=40 pads=[1,1,1,1]\nu = ConvTranspose(z, t) "
      "strides=[2,2]\n"
      "s = Softmax(u)\nm = ReduceMean(s) axes=[1,2]\noutput y\noutput z\noutput u\noutput m\n");
  const std::vector<Tensor> inputs = {RandomTensor(DataType::kFloat32, {1, 24, 19, 17}, 5)};
  const Result<std::vector<Tensor>> narrow = Run(graph, inputs, 1), wide = Run(graph, inputs, 2);
  REQUIRE(narrow.ok());
  REQUIRE(wide.ok());
  for (size_t i = 0; i < narrow->size(); ++i) CHECK(Difference((*wide)[i], (*narrow)[i], 0) == "");
}

// Runs one node with its input and output as slices of bigger tensors: every other row of the innermost-but-one dim.
std::vector<float> RunStrided(const Graph& graph, const std::vector<int64_t>& in_dims,
                              const std::vector<int64_t>& out_dims, const std::vector<float>& input,
                              bool* neighbours_kept) {
  const Platform platform = MakeTestPlatform(1, false);
  const auto library = MakeReferenceLibrary();
  KernelBench bench(platform);
  const auto sliced = [](const std::vector<int64_t>& dims) {
    TensorLayout layout = DenseLayout(DataType::kFloat32, dims, RowMajor(dims.size())).value();
    for (size_t d = 0; d + 1 < dims.size(); ++d) layout.strides[d] *= 2;
    return layout;
  };
  const TensorLayout in = sliced(in_dims), out = sliced(out_dims);
  std::vector<float> in_memory(*BytesOf(in) / 4, -77.0F), out_memory(*BytesOf(out) / 4, -77.0F);
  const auto for_each = [](const TensorLayout& layout, auto&& f) {
    std::vector<int64_t> index(layout.dims.size(), 0);
    int64_t count = 1;
    for (int64_t d : layout.dims) count *= d;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      for (size_t d = index.size(); d-- > 0;) {
        index[d] = rest % layout.dims[d];
        rest /= layout.dims[d];
      }
      f(static_cast<size_t>(i), static_cast<size_t>(OffsetOf(layout, index)));
    }
  };
  for_each(in, [&](size_t i, size_t at) { in_memory[at] = input[i]; });
  const Candidate candidate = library->Candidates(graph, platform, Precision()).front();
  const auto kernel = library->Compile(graph, candidate, {&in, 1}, {&out, 1}, bench.context).value();
  const TensorView in_view{in_memory.data(), in}, out_view{out_memory.data(), out};
  REQUIRE(bench.Run(*kernel, {&in_view, 1}, {&out_view, 1}).ok());
  std::vector<float> output;
  std::vector<bool> ours(out_memory.size(), false);
  for_each(out, [&](size_t, size_t at) {
    output.push_back(out_memory[at]);
    ours[at] = true;
  });
  *neighbours_kept = true;
  for (size_t i = 0; i < out_memory.size(); ++i)
    *neighbours_kept = *neighbours_kept && (ours[i] || out_memory[i] == -77.0F);
  return output;
}

TEST_CASE("Reference, SlicesOfBiggerTensorsAreReadAndWrittenInPlace", "[backend]") {
  for (const char* node : {"Relu(x)", "Transpose(x) perm=[2,0,1]", "Softmax(x)", "Concat(x, x) axis=2"}) {
    INFO(node);
    const Graph graph = Typed(std::string("input x float32[3,4,5]\ny = ") + node + "\noutput y\n");
    const Tensor x = RandomTensor(DataType::kFloat32, {3, 4, 5}, 9);
    const Tensor expected = (*Run(graph, {x}))[0];
    bool neighbours_kept = false;
    const std::vector<float> input(x.values<float>().begin(), x.values<float>().end());
    const std::vector<float> actual = RunStrided(graph, {3, 4, 5}, expected.dims(), input, &neighbours_kept);
    CHECK(Difference(Tensor::Float32(expected.dims(), actual), expected, 0) == "");
    CHECK(neighbours_kept);
  }
}

TEST_CASE("Reference, ReshapeDoesNothingWhenPlacedOntoItsInput", "[backend]") {
  const Graph graph = Typed("input x float32[2,6]\nconst s int64[2] ints 3 4\ny = Reshape(x, s)\noutput y\n");
  const Platform platform = MakeTestPlatform(1, false);
  const std::vector<Candidate> candidates = MakeReferenceLibrary()->Candidates(graph, platform, Precision());
  REQUIRE(candidates.size() == 1);
  CHECK(candidates[0].elision == Elision::kViewOfInput);
}

TEST_CASE("Reference, OnlyOutermostConcatOffersSlices", "[backend]") {
  const Platform platform = MakeTestPlatform(1, false);
  const auto elision = [&](const char* text) {
    return MakeReferenceLibrary()->Candidates(Typed(text), platform, Precision()).front().elision;
  };
  CHECK(elision("input a float32[1,2,3]\ninput b float32[1,4,3]\ny = Concat(a, b) axis=1\noutput y\n") ==
        Elision::kSlicesOfOutput);
  CHECK(elision("input a float32[2,2,3]\ninput b float32[2,4,3]\ny = Concat(a, b) axis=1\noutput y\n") ==
        Elision::kNone);
  CHECK(elision("input a float32[1,2,3]\ny = Concat(a, a) axis=1\noutput y\n") == Elision::kNone);
  CHECK(elision("input a float32[1,2,3]\nconst b float32[1,4,3] random 1\ny = Concat(a, b) axis=1\noutput y\n") ==
        Elision::kNone);
}

TEST_CASE("Reference, WhatIsNotKnownIsRefusedByName", "[backend]") {
  const auto why_of = [](const Graph& graph) {
    return MakeReferenceLibrary()->WhyUnsupported(graph, NodeId(0U)).value_or("");
  };
  const auto why = [&](const char* text) { return why_of(Typed(text)); };
  CHECK(why("input x float32[3]\ny = NoSuchOperator(x) : float32[3]\noutput y\n").find("NoSuchOperator") !=
        std::string::npos);
  CHECK(why("input x float32[3]\ny = NonZero(x)\noutput y\n") ==
        "");  // its size is known in the run: no reason to refuse
  CHECK(why("input x complex64[3]\ny = Exp(x) : complex64[3]\noutput y\n").find("complex64") != std::string::npos);
  // What the graph says of an output never sizes a buffer against the operator's own arithmetic.
  const Result<Graph> not_inferred = ParseGraph("input x float32[3]\ny = Relu(x) : float32[4]\noutput y\n");
  REQUIRE(not_inferred.ok());
  CHECK(why_of(*not_inferred) != "");
}

// A size that comes with the data must be the planned one: nothing is written past a buffer.
TEST_CASE("Reference, SizesKnownInTheRunAreChecked", "[backend]") {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {6}));
  const ValueId s = builder.AddInput("s", StaticType(DataType::kInt64, {1})),
                e = builder.AddInput("e", StaticType(DataType::kInt64, {1}));
  builder.AddOutput(builder.AddOp("Slice", {x, s, e}, StaticType(DataType::kFloat32, {2}), {}, "y"));
  const Graph graph = builder.Build().value();
  const Tensor data = Tensor::Float32({6}, {0, 1, 2, 3, 4, 5});
  const Result<std::vector<Tensor>> fits = Run(graph, {data, Tensor::Int64({1}, {3}), Tensor::Int64({1}, {5})});
  REQUIRE(fits.ok());
  CHECK(Difference((*fits)[0], Tensor::Float32({2}, {3, 4}), 0) == "");
  const Result<std::vector<Tensor>> larger = Run(graph, {data, Tensor::Int64({1}, {0}), Tensor::Int64({1}, {6})});
  REQUIRE_FALSE(larger.ok());
  CHECK(larger.error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("Reference, FoldedSizeBombsAreRefusedBeforeAllocation", "[backend]") {
  const Graph graph = *ParseGraph("const s int64[3] ints 100000 100000 100000\ny = ConstantOfShape(s)\noutput y\n");
  const Result<std::vector<Tensor>> result =
      EvaluateNode(graph, NodeId(0U), std::vector<Tensor>{*graph.value(graph.node(NodeId(0U)).inputs[0]).constant});
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == ErrorCode::kOutOfMemory);
}

TEST_CASE("EvaluateNode, OutputsSettleThemselves", "[backend]") {
  const Graph graph = *ParseGraph(
      "const a int64[] ints 2\nconst b int64[] ints 11\nconst d int64[] ints 3\ny = Range(a, b, d)\noutput y\n");
  std::vector<Tensor> inputs;
  for (ValueId id : graph.node(NodeId(0U)).inputs) inputs.push_back(*graph.value(id).constant);
  const Result<std::vector<Tensor>> result = EvaluateNode(graph, NodeId(0U), inputs);
  REQUIRE(result.ok());
  CHECK(Difference((*result)[0], Tensor::Int64({3}, {2, 5, 8}), 0) == "");
}

// Narrow floats are computed wide and rounded once; every 16-bit pattern survives the way there and back.
TEST_CASE("Reference, SixteenBitFloatsKeepEveryPattern", "[backend]") {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    const Tensor x = Of<uint16_t>(type, {65536}, all);
    const std::string name(DataTypeName(type));
    const Graph graph = Typed("input x " + name + "[65536]\nw = Cast(x) to=1\ny = Cast(w) to=" +
                              std::to_string(static_cast<int>(type)) + "\noutput y\n");
    const Tensor y = (*Run(graph, {x}))[0];
    CHECK(Difference(y, x, 0) == "");  // NaN stays NaN, whatever its payload
  }
}

TEST_CASE("Reference, ReorderFillsThePaddingOfBlocks", "[backend]") {
  const Platform platform = MakeTestPlatform(1, false);
  const auto library = MakeReferenceLibrary();
  KernelBench bench(platform);
  const TensorLayout from = DenseLayout(DataType::kFloat32, {1, 3, 2, 2}, RowMajor(4)).value();
  const TensorLayout to = DenseLayout(DataType::kFloat32, {1, 3, 2, 2}, ChannelBlocked(4, 8)).value();
  std::vector<float> source(12), target(32, -1.0F);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i + 1);
  const auto kernel = library->CompileReorder(from, to, bench.context).value();
  const TensorView in{source.data(), from}, out{target.data(), to};
  REQUIRE(bench.Run(*kernel, {&in, 1}, {&out, 1}).ok());
  for (size_t pixel = 0; pixel < 4; ++pixel) {
    for (size_t c = 0; c < 8; ++c) CHECK(target[pixel * 8 + c] == (c < 3 ? source[c * 4 + pixel] : 0.0F));
  }
}

}  // namespace
}  // namespace pt::testing::reference_test
