// Operators of old opsets: what conversion makes of them computes what the reference library makes of the old ones, and
// what their texts of that time say.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/onnx/contrib_lab.h"
#include "test/testing/function_model.h"

namespace pt::old_opsets_test {
namespace {
using namespace testing;

Result<Graph> LoadAt(const Single& single, bool convert) {
  LoadOptions options;
  options.convert_opset = convert;
  return Load(BytesOf(single), options);
}

Single Old(const std::string& op, int64_t opset, std::vector<GivenInput> inputs, std::vector<Wire> attributes = {}) {
  return {op, std::move(inputs), std::move(attributes), {"y"}, "", opset};
}

std::vector<Tensor> DataOf(const Single& single) {
  std::vector<Tensor> data;
  for (const GivenInput& operand : single.inputs) {
    if (operand.tensor.type() != DataType::kUndefined && !operand.constant) data.push_back(operand.tensor);
  }
  return data;
}

// Of the graph after conversion, which must have taken place.
Tensor Converted(const Single& single) {
  const Result<Graph> graph = LoadAt(single, true);
  INFO(single.op << " " << single.opset << (graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  CHECK(graph->opset() == kTargetOpset);
  return RunOnReference(*graph, DataOf(single))[0];
}

Tensor Ramp(std::vector<int64_t> dims) { return Cycle(std::move(dims), -2, 0.37f, 7, 23); }

}  // namespace

// As ONNX published for opset 10, and ONNX Runtime computes.
TEST_CASE("Old opsets, UpsampleAndResizeTakePixelsForPoints", "[onnx]") {
  const GivenInput x = Floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const GivenInput twice = Constant(Floats({4}, {1, 1, 2, 2}));
  const std::vector<float> linear = {1, 1.5f, 2, 2, 2, 2.5f, 3, 3, 3, 3.5f, 4, 4, 3, 3.5f, 4, 4};
  const std::vector<Wire> by_line = {StringAttribute("mode", "linear")};
  CheckNear(Converted(Old("Upsample", 9, {x, twice}, by_line)), {1, 1, 4, 4}, linear);
  CheckNear(Converted(Old("Resize", 10, {x, twice}, by_line)), {1, 1, 4, 4}, linear);
  CheckNear(Converted(Old("Upsample", 7, {x}, {by_line[0], FloatsAttribute("scales", {1, 1, 2, 2})})), {1, 1, 4, 4},
            linear);
  // Scales that only the run knows.
  const GivenInput given = Floats({4}, {1, 1, 2, 2});
  for (const char* op : {"Upsample", "Resize"}) {
    const Result<Graph> graph = LoadAt(Old(op, op[0] == 'U' ? 9 : 10, {x, given}, by_line), true);
    REQUIRE(graph.ok());
    CHECK(graph->nodes()[0].string_or("coordinate_transformation_mode", "") == "asymmetric");
  }
}

// Converted, left as it was, and with scales that only the run knows, by which it cannot be converted.
TEST_CASE("Old opsets, TheNearestOfResizeDependsOnTheScale", "[onnx]") {
  const GivenInput x = Floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto check = [&](const std::vector<float>& scales, const std::vector<int64_t>& dims,
                         const std::vector<float>& expected) {
    const std::vector<Wire> nearest = {StringAttribute("mode", "nearest")};
    const Single constant = Old("Resize", 10, {x, Constant(Floats({4}, scales))}, nearest);
    CheckNear(Converted(constant), dims, expected);
    CheckNear(RunOnReference(LoadAt(constant, false).value(), DataOf(constant))[0], dims, expected);
    const Single given = Old("Resize", 10, {x, Floats({4}, scales)}, nearest);
    const Graph unsized = LoadAt(given, true).value();
    CHECK(unsized.opset() == 10);
    GraphBuilder sized(unsized);
    sized.value(unsized.outputs()[0]).type = StaticType(DataType::kFloat32, dims);
    CheckNear(RunOnReference(sized.Build().value(), DataOf(given))[0], dims, expected);
  };
  check({1, 1, 0.6f, 0.6f}, {1, 1, 1, 2}, {1, 3});
  check({1, 1, 1, 1.7f}, {1, 1, 2, 6}, {1, 1, 2, 2, 3, 3, 5, 5, 6, 6, 7, 7});
  check({1, 1, 1.5f, 0.6f}, {1, 1, 3, 2}, {1, 3, 1, 3, 5, 7});
  check({1, 1, 2, 1}, {1, 1, 4, 4}, {1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8});
}

TEST_CASE("Old opsets, SoftmaxAndItsKinTakeAllDimsFromTheAxisOn", "[onnx]") {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    for (const int64_t opset : {1, 7, 11, 12}) {
      for (int64_t axis = -3; axis < 4; ++axis) {
        if (axis < 0 && opset < 11) continue;
        for (const bool ranked : {true, false}) {
          std::vector<Wire> attributes;
          if (axis < 3) attributes.push_back(IntAttribute("axis", axis));  // else its default
          const Single single = Old(op, opset, {GivenInput(Ramp({2, 3, 4}), false, ranked)}, attributes);
          CAPTURE(op, opset, axis, ranked);
          const Tensor made = Converted(single);
          const Result<Graph> old = LoadAt(single, false);
          REQUIRE(old.ok());
          const Result<Graph> typed = InferShapes(*old, {{}, {{"x0", {2, 3, 4}}}});
          REQUIRE(typed.ok());
          const Tensor expected = RunOnReference(*typed, DataOf(single))[0];
          CheckNear(made, expected.dims(), {expected.values<float>().begin(), expected.values<float>().end()});
        }
      }
    }
  }
}

// The dims of the second input begin at the axis.
TEST_CASE("Old opsets, BroadcastingBeginsAtTheAxis", "[onnx]") {
  const auto apply = [](const std::string& op, float a, float b) {
    return op == "Add" ? a + b : op == "Sub" ? a - b : op == "Mul" ? a * b : op == "Div" ? a / b : std::pow(a, b);
  };
  const std::vector<int64_t> dims = {2, 3, 4, 5};
  std::vector<float> a;
  for (int i = 0; i < 120; ++i) a.push_back(1 + 0.125f * static_cast<float>(i * 7 % 23));
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    for (const int64_t opset : {1, 6}) {
      for (size_t rank = 1; rank <= 3; ++rank) {
        for (size_t axis = 0; axis + rank <= 4; ++axis) {
          for (const bool from_behind : {false, true}) {
            const std::vector<int64_t> own(dims.begin() + static_cast<std::ptrdiff_t>(axis),
                                           dims.begin() + static_cast<std::ptrdiff_t>(axis + rank));
            int64_t count = 1, inner = 1;
            for (const int64_t d : own) count *= d;
            for (size_t i = axis + rank; i < 4; ++i) inner *= dims[i];
            std::vector<float> b, expected;
            for (int i = 0; i < count; ++i) b.push_back(0.5f + 0.25f * static_cast<float>(i % 7));
            for (int64_t i = 0; i < 120; ++i)
              expected.push_back(apply(op, a[static_cast<size_t>(i)], b[static_cast<size_t>(i / inner % count)]));
            const int64_t given = static_cast<int64_t>(axis) - (from_behind ? 4 : 0);
            CAPTURE(op, opset, rank, axis, from_behind);
            CheckNear(Converted(Old(op, opset, {Floats(dims, a), Constant(Floats(own, b))},
                                    {IntAttribute("broadcast", 1), IntAttribute("axis", given)})),
                      dims, expected);
          }
        }
      }
    }
  }
  // Also where a dim of 1 would take the second input elsewhere.
  CheckNear(Converted(Old("Add", 6, {Floats({1, 2, 2, 1}, {1, 2, 3, 4}), Constant(Floats({2}, {10, 20}))},
                          {IntAttribute("broadcast", 1), IntAttribute("axis", 1)})),
            {1, 2, 2, 1}, {11, 12, 23, 24});
  // Without an axis the last dims are meant.
  CheckNear(
      Converted(Old("Mul", 6, {Floats({2, 2}, {1, 2, 3, 4}), Floats({2}, {10, 20})}, {IntAttribute("broadcast", 1)})),
      {2, 2}, {10, 40, 30, 80});
}

TEST_CASE("Old opsets, SlopesOfPReluAreOfChannels", "[onnx]") {
  for (const int64_t opset : {1, 6}) {
    CheckNear(Converted(Old("PRelu", opset, {Floats({1, 2, 2}, {-1, -2, -3, -4}), Constant(Floats({2}, {0.5f, 2}))})),
              {1, 2, 2}, {-0.5f, -1, -6, -8});
    CheckNear(Converted(Old("PRelu", opset, {Floats({1, 2, 2}, {-1, -2, -3, 4}), Constant(Floats({1}, {0.5f}))})),
              {1, 2, 2}, {-0.5f, -1, -1.5f, 4});
    CheckNear(Converted(Old("PRelu", opset, {Floats({2, 2}, {-1, -2, -3, 4}), Constant(Floats({2}, {0.5f, 2}))})),
              {2, 2}, {-0.5f, -4, -1.5f, 4});
  }
  // Later they broadcast like anything else.
  CheckNear(Converted(Old("PRelu", 7, {Floats({1, 2, 2}, {-1, -2, -3, -4}), Constant(Floats({2}, {0.5f, 2}))})),
            {1, 2, 2}, {-0.5f, -4, -1.5f, -8});
}

TEST_CASE("Old opsets, SeluHadOtherDefaults", "[onnx]") {
  const Tensor y = Converted(Old("Selu", 1, {Floats({2}, {-1, 1})}));
  CHECK(y.values<float>()[0] == Catch::Approx(1.0507f * 1.6732f * (std::exp(-1.0f) - 1)).epsilon(1e-6));
  CHECK(y.values<float>()[1] == Catch::Approx(1.0507f).epsilon(1e-7));
}

TEST_CASE("Old opsets, PadsHaveAValueOfTheirDatasType", "[onnx]") {
  const std::vector<Wire> attributes = {IntsAttribute("pads", {1, 0}), FloatAttribute("value", 1.5f)};
  CheckNear(Converted(Old("Pad", 2, {Floats({2}, {1, 2})}, attributes)), {3}, {1.5f, 1, 2});
  const std::vector<double> doubles = {1, 2};
  const Tensor padded = Converted(Old("Pad", 10, {Tensor::Of<double>(DataType::kFloat64, {2}, doubles)}, attributes));
  REQUIRE(padded.type() == DataType::kFloat64);
  CHECK(padded.values<double>()[0] == 1.5);
  const std::vector<uint16_t> halves = {0x3C00, 0x4000};
  const Tensor half = Converted(Old("Pad", 10, {Tensor::Of<uint16_t>(DataType::kFloat16, {2}, halves)}, attributes));
  REQUIRE(half.type() == DataType::kFloat16);
  CHECK(reinterpret_cast<const uint16_t*>(half.bytes().data())[0] == 0x3E00);
  CheckNear(Converted(Old("Pad", 10, {Floats({3}, {1, 2, 3})},
                          {IntsAttribute("pads", {1, 0}), StringAttribute("mode", "reflect")})),
            {4}, {2, 1, 2, 3});
}

TEST_CASE("Old opsets, RoiAlignHadNoShift", "[onnx]") {
  const Single single = Old("RoiAlign", 10, {Ramp({1, 1, 8, 8}), Floats({1, 4}, {1, 1, 6, 6}), Tensor::Int64({1}, {0})},
                            {IntAttribute("output_height", 2), IntAttribute("output_width", 2)});
  const Result<Graph> old = LoadAt(single, false);
  REQUIRE(old.ok());
  const Tensor expected = RunOnReference(*old, DataOf(single))[0];
  CheckNear(Converted(single), expected.dims(), {expected.values<float>().begin(), expected.values<float>().end()});
}

// What the conversion of operators that exporters write most makes of each opset, and the reference library of the old
// operator.
TEST_CASE("Old opsets, ConvertedOperatorsComputeWhatTheOldOnesDo", "[onnx]") {
  const GivenInput image = Ramp({1, 2, 6, 6}), matrix = Ramp({3, 4});
  const std::vector<Wire> window = {IntsAttribute("kernel_shape", {3, 3}), IntsAttribute("strides", {2, 2}),
                                    IntsAttribute("pads", {1, 1, 1, 1})};
  const GivenInput ones = Constant(Floats({2}, {1, 1.5f})), small = Constant(Floats({2}, {0.25f, 0.5f}));
  const auto with = [](std::vector<Wire> attributes, Wire more) {
    attributes.push_back(std::move(more));
    return attributes;
  };
  const std::vector<Single> singles = {
      Old("AveragePool", 7, {image}, window),
      Old("AveragePool", 7, {image}, with(window, IntAttribute("count_include_pad", 1))),
      Old("AveragePool", 10, {image}, with(window, IntAttribute("ceil_mode", 1))),
      Old("MaxPool", 1, {image}, window),
      Old("MaxPool", 8, {image}, window),
      Old("MaxPool", 11, {image}, with(window, IntAttribute("ceil_mode", 1))),
      Old("LpPool", 11, {image}, window),
      Old("BatchNormalization", 7, {image, ones, small, small, ones}),
      Old("BatchNormalization", 9, {image, ones, small, small, ones}, {FloatAttribute("epsilon", 0.25f)}),
      Old("BatchNormalization", 14, {image, ones, small, small, ones}),
      Old("Concat", 1, {matrix, matrix}),
      Old("Concat", 4, {matrix, matrix}, {IntAttribute("axis", 0)}),
      Old("Clip", 6, {matrix}, {FloatAttribute("min", -1)}),
      Old("Clip", 6, {matrix}),
      Old("Gemm", 7, {matrix, Ramp({4, 2}), Constant(Floats({2}, {1, 2}))}, {FloatAttribute("alpha", 0.5f)}),
      Old("ReduceMean", 11, {image}, {IntsAttribute("axes", {2, -1})}),
      Old("ReduceMean", 11, {image}, {IntAttribute("keepdims", 0)}),
      Old("ReduceSum", 11, {image}, {IntsAttribute("axes", {1}), IntAttribute("keepdims", 0)}),
      Old("ReduceL2", 13, {image}, {IntsAttribute("axes", {0, 3})}),
      Old("Slice", 1, {matrix}, {IntsAttribute("starts", {1, -3}), IntsAttribute("ends", {3, -1})}),
      Old("Slice", 9, {matrix}, {IntsAttribute("starts", {0}), IntsAttribute("ends", {2}), IntsAttribute("axes", {1})}),
      Old("Squeeze", 1, {Ramp({1, 3, 1})}, {IntsAttribute("axes", {0})}),
      Old("Squeeze", 11, {Ramp({1, 3, 1})}),
      Old("Unsqueeze", 11, {matrix}, {IntsAttribute("axes", {0, -1})}),
      Old("Split", 2, {matrix}, {IntAttribute("axis", 1), IntsAttribute("split", {4})}),
      Old("ArgMax", 1, {matrix}),
      Old("ArgMin", 11, {matrix}, {IntAttribute("axis", -1), IntAttribute("keepdims", 0)}),
      Old("Dropout", 7, {matrix}, {FloatAttribute("ratio", 0.25f)}),
      Old("Dropout", 10, {matrix}),
      Old("Flatten", 1, {image}, {IntAttribute("axis", 2)}),
      Old("DepthToSpace", 1, {Ramp({1, 4, 2, 2})}, {IntAttribute("blocksize", 2)}),
      Old("Elu", 1, {matrix}),
      Old("HardSigmoid", 1, {matrix}),
      Old("LeakyRelu", 1, {matrix}),
      Old("InstanceNormalization", 6, {image, ones, small}),
      Old("LpNormalization", 1, {matrix}),
      Old("MeanVarianceNormalization", 9, {image}),
      Old("Scatter", 9, {matrix, Tensor::Int64({1, 2}, {0, 2}), Floats({1, 2}, {9, 8})}),
      Old("ScatterElements", 11, {matrix, Tensor::Int64({1, 2}, {0, -1}), Floats({1, 2}, {9, 8})}),
      Old("Gather", 1, {matrix, Tensor::Int64({2}, {1, 0})}),
      Old("CumSum", 11, {matrix, Constant(Tensor::Int64({}, {1}))}),
      Old("Resize", 11,
          {image, Constant(Floats({8}, {0, 0, 0, 0, 1, 1, 1, 1})), Constant(Floats({4}, {1, 1, 2, 1.5f}))},
          {StringAttribute("mode", "linear")}),
      Old("Resize", 13, {image, GivenInput(), Constant(Floats({4}, {1, 1, 0.5f, 0.75f}))},
          {StringAttribute("mode", "cubic")}),
      Old("GridSample", 16, {image, Cycle({1, 3, 3, 2}, -0.9f, 0.1f, 7, 18)}),
      Old("GridSample", 16, {image, Cycle({1, 3, 3, 2}, -0.9f, 0.1f, 7, 18)}, {StringAttribute("mode", "bicubic")}),
      Old("DFT", 17, {Ramp({2, 4, 1})}),
      Old("DFT", 17, {Ramp({2, 4, 1})}, {IntAttribute("onesided", 1)}),
      Old("QuantizeLinear", 10, {matrix, Constant(Floats({}, {0.1f})), Constant(Uint8({}, {7}))}),
      Old("DequantizeLinear", 13,
          {Uint8({2, 2}, {1, 2, 3, 4}), Constant(Floats({2}, {0.1f, 2})), Constant(Uint8({2}, {1, 2}))}),
      Old("ConvTranspose", 1, {image, Constant(Ramp({2, 1, 3, 3}))}, {IntsAttribute("strides", {2, 2})}),
      Old("Conv", 1, {image, Constant(Ramp({3, 2, 3, 3}))}, {StringAttribute("auto_pad", "SAME_UPPER")}),
      Old("Reshape", 5, {matrix, Constant(Tensor::Int64({2}, {0, -1}))}),
      Old("Shape", 13, {image}),
      Old("Cast", 6, {matrix}, {IntAttribute("to", 7)}),
      Old("OneHot", 9, {Tensor::Int64({2}, {1, 0}), Constant(Tensor::Int64({1}, {3})), Constant(Floats({2}, {0, 1}))}),
      Old("Sum", 8, {matrix, matrix}),
      Old("Max", 8, {matrix, Ramp({3, 4})}),
      Old("Sign", 9, {matrix}),
      Old("Expand", 8, {Ramp({3, 1}), Constant(Tensor::Int64({2}, {1, 4}))}),
      Old("Tile", 6, {matrix, Constant(Tensor::Int64({2}, {1, 2}))}),
      Old("Transpose", 1, {matrix}),
      Old("EyeLike", 9, {matrix}),
      Old("Softplus", 1, {matrix}),
      Old("ThresholdedRelu", 10, {matrix}),
  };
  size_t compared = 0;
  for (const Single& single : singles) {
    CAPTURE(single.op, single.opset);
    const Result<Graph> old = LoadAt(single, false), converted = LoadAt(single, true);
    INFO((old.ok() ? "" : ToString(old.error())) << (converted.ok() ? "" : ToString(converted.error())));
    REQUIRE(old.ok());
    REQUIRE(converted.ok());
    CHECK(converted->opset() == kTargetOpset);
    const Result<std::vector<Tensor>> expected = EvaluateGraph(*old, DataOf(single));
    if (!expected.ok()) {
      UNSCOPED_INFO(ToString(expected.error()));
      CHECK(single.op == "");
      continue;
    }
    const Tensor before = OutputsOf(*old, *expected)[0], after = RunOnReference(*converted, DataOf(single))[0];
    CHECK(before.type() == after.type());
    CHECK(before.dims() == after.dims());
    if (before.type() == DataType::kFloat32) {
      CheckNear(after, before.dims(), {before.values<float>().begin(), before.values<float>().end()});
    } else {
      CHECK(before.content_hash() == after.content_hash());
    }
    ++compared;
  }
  CHECK(compared == singles.size());
}

// A body asks for its opset, the model for another: also in the branches of the body, and for operators that were
// withdrawn since.
TEST_CASE("Old opsets, BodiesOfFunctionsHaveTheirOwn", "[onnx]") {
  const Tensor x = Ramp({2, 3, 4});
  const auto expect = [&](const char* op, int64_t opset) {
    return RunOnReference(LoadAt(Old(op, opset, {x}), true).value(), {{x}})[0];
  };
  for (const char* op : {"Softmax", "Hardmax", "Relu"}) {
    for (const int64_t own : {1, 11, 13, 25}) {
      for (const int64_t models : {9, 11, 12, 13, 18, 25}) {
        for (const bool branched : {false, true}) {
          FunctionParts function;
          function.domain = "local";
          function.name = "F";
          function.inputs = {"a"};
          function.outputs = {"b"};
          function.opsets = {{"", own}};
          function.nodes = {NodeBytes(op, {"a"}, {"b"})};
          if (branched) {
            const auto branch = [&](const char* inner, const std::string& out) {
              GraphParts parts;
              parts.nodes = {NodeBytes(inner, {"a"}, {out})};
              parts.outputs = {Wire().Bytes(1, out)};
              return GraphBytes(parts);
            };
            const Wire yes = RawTensor("", 9, {}, std::string(1, '\1'));
            function.nodes = {NodeBytes("Constant", {}, {"yes"}, {TensorAttribute("value", yes)}),
                              NodeBytes("If", {"yes"}, {"b"},
                                        {GraphAttribute("then_branch", branch(op, "t")),
                                         GraphAttribute("else_branch", branch("Neg", "e"))})};
          }
          GraphParts graph;
          graph.inputs = {ValueInfo("x", 1, {"2", "3", "4"})};
          graph.nodes = {NodeBytes("F", {"x"}, {"h"}, {}, "", "local"), NodeBytes(op, {"x"}, {"g"}),
                         NodeBytes("Concat", {"h", "g"}, {"y"}, {IntAttribute("axis", 0)})};
          graph.outputs = {Wire().Bytes(1, "y")};
          ModelParts model;
          model.graph = GraphBytes(graph);
          model.functions = {FunctionBytes(function)};
          model.opsets = {{"", models}, {"local", 1}};
          CAPTURE(op, own, models, branched);
          const Result<Graph> loaded = Load(ModelBytes(model));
          INFO((loaded.ok() ? "" : ToString(loaded.error())));
          REQUIRE(loaded.ok());
          const Tensor y = Interpret(ModelOf(*loaded, {{x}})).value()[0], one = expect(op, own),
                       two = expect(op, models);
          std::vector<float> both(one.values<float>().begin(), one.values<float>().end());
          both.insert(both.end(), two.values<float>().begin(), two.values<float>().end());
          CheckNear(y, {4, 3, 4}, both);
        }
      }
    }
  }
}

}  // namespace pt::old_opsets_test
