// Convolutions and matrix products of every library against nested loops, over random shapes and their edges.
#include "test/testing/plain_math.h"

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/support/dims_text.h"
#include "partitiontuner/support/random.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::plain_math_test {
namespace {

// Of the largest sum of magnitudes behind an element: single precision over the deepest sums made here. Terms may
// cancel out, so the elements themselves say too little.
constexpr double kTolerance = 1e-6;

using Dims = std::vector<int64_t>;

// One node whose output is y, of the operands; those after the first are constants if `constants`.
Graph OneNode(Node node, const std::vector<Tensor>& operands, bool constants) {
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    node.inputs.push_back(constants && i > 0
                              ? builder.AddConstant(name, operands[i])
                              : builder.AddInput(name, StaticType(operands[i].type(), operands[i].dims())));
  }
  node.formal_inputs = static_cast<uint32_t>(node.inputs.size());
  const ValueId y = builder.AddValue("y");
  node.outputs = {y};
  builder.AddNode(std::move(node));
  builder.AddOutput(y);
  return InferShapes(builder.Build().value()).value();
}

double Largest(const Tensor& tensor) {
  double largest = 0;
  for (const float x : tensor.values<float>()) largest = std::max(largest, std::fabs(static_cast<double>(x)));
  return largest;
}

std::vector<Tensor> Magnitudes(const std::vector<Tensor>& operands) {
  std::vector<Tensor> magnitudes;
  for (const Tensor& operand : operands) {
    std::vector<float> values(operand.values<float>().begin(), operand.values<float>().end());
    for (float& x : values) x = std::fabs(x);
    magnitudes.push_back(Tensor::Float32(operand.dims(), values));
  }
  return magnitudes;
}

// Every candidate of every library that computes it, on one core and on two. plain: the loops over such operands.
template <typename Plain>
void CheckAll(const Graph& graph, const std::vector<Tensor>& operands, Plain plain,
              std::map<std::string, int>& checked) {
  const Tensor expected = plain(operands);
  REQUIRE(graph.value(graph.outputs()[0]).type.static_dims() == expected.dims());
  const double largest = std::max(Largest(expected), 1e-30);
  const double tolerance = kTolerance * Largest(plain(Magnitudes(operands))) / largest;
  const Platform platform = MakeTestPlatform(2, false);
  const NodeId node(0u);
  std::map<ValueId, Tensor> given;
  for (size_t i = 0; i < operands.size(); ++i) given[graph.node(node).inputs[i]] = operands[i];
  std::vector<Tensor> inputs;
  for (ValueId id : GroupInputs(graph, {&node, 1})) inputs.push_back(given.at(id));
  for (const LibraryRow& row : BuiltInLibraries()) {
    const std::unique_ptr<Library> library = row.make();
    for (const Candidate& candidate : library->CandidatesFor(graph, platform, {&node, 1}, Precision())) {
      const uint32_t width = platform.unit_class(candidate.unit_class).cores;
      INFO(candidate.library << " " << candidate.variant << " on " << width << " cores");
      const auto results = RunCandidate(graph, platform, *library, candidate, inputs, width);
      INFO((results.ok() ? "" : ToString(results.error())));
      REQUIRE(results.ok());
      CHECK(Difference((*results)[0], expected, tolerance) == "");
      ++checked[candidate.library];
    }
  }
}

struct Draw {
  Random random;
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random.Below(static_cast<uint64_t>(most - least + 1)));
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }
};

auto Convolution(const ConvolutionSettings& settings) {
  return [settings](const std::vector<Tensor>& of) {
    return PlainConvolution(of[0], of[1], of.size() > 2 ? &of[2] : nullptr, settings);
  };
}

void CheckConvolution(uint64_t seed, std::map<std::string, int>& checked) {
  Draw draw{Random(seed)};
  const int64_t rank = draw.Between(1, 3);
  ConvolutionSettings s;
  s.group = draw.OneIn(2) ? 1 : draw.Between(2, 4);
  // Few channels and some that fill or just miss a vector; one a group makes the depthwise kernels, others those of
  // groups.
  const auto channels = [&] { return draw.OneIn(3) ? draw.Between(15, 17) : draw.Between(1, 5); };
  const int64_t takes = channels(), makes = channels();
  Dims x = {draw.OneIn(10) ? 0 : draw.Between(1, 2), takes * s.group}, w = {makes * s.group, takes}, ends;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t kernel = draw.Between(1, rank == 3 ? 3 : 4), dilation = draw.OneIn(3) ? draw.Between(2, 3) : 1;
    const int64_t reach = (kernel - 1) * dilation + 1, begin = draw.Between(0, reach - 1),
                  end = draw.Between(0, reach - 1);
    x.push_back(std::max<int64_t>(1, reach - begin - end) + draw.Between(0, rank == 3 ? 4 : 9));
    w.push_back(kernel);
    s.strides.push_back(draw.OneIn(3) ? draw.Between(2, 3) : 1);
    s.dilations.push_back(dilation);
    s.pads.push_back(begin);
    ends.push_back(end);
  }
  s.pads.insert(s.pads.end(), ends.begin(), ends.end());
  std::vector<Tensor> operands = {RandomTensor(DataType::kFloat32, x, seed),
                                  RandomTensor(DataType::kFloat32, w, seed + 1)};
  if (draw.OneIn(2)) operands.push_back(RandomTensor(DataType::kFloat32, {w[0]}, seed + 2));
  Node node;
  node.op = "Conv";
  node.attributes = {{"strides", s.strides}, {"dilations", s.dilations}, {"pads", s.pads}, {"group", s.group}};
  INFO("seed " << seed << ": x " << DimsText(x) << ", w " << DimsText(w) << ", strides " << DimsText(s.strides)
               << ", dilations " << DimsText(s.dilations) << ", pads " << DimsText(s.pads) << ", group " << s.group
               << ", bias " << (operands.size() > 2));
  CheckAll(OneNode(std::move(node), operands, draw.OneIn(2)), operands, Convolution(s), checked);
}

void CheckMatMul(uint64_t seed, std::map<std::string, int>& checked) {
  Draw draw{Random(seed)};
  const auto extent = [&] { return draw.OneIn(12) ? 0 : draw.OneIn(3) ? draw.Between(15, 70) : draw.Between(1, 8); };
  const int64_t depth = extent();
  Dims a, b, batch;
  const int64_t batches = draw.Between(0, 3);
  for (int64_t d = 0; d < batches; ++d) batch.push_back(draw.Between(1, 3));
  // Some leading dims missing, some 1, in either operand.
  const auto lead = [&](Dims& dims) {
    dims.assign(batch.begin() + draw.Between(0, batches), batch.end());
    for (int64_t& dim : dims) dim = draw.OneIn(3) ? 1 : dim;
  };
  if (!draw.OneIn(8)) {
    lead(a);
    a.push_back(extent());
  }
  a.push_back(depth);
  const bool vector = draw.OneIn(8);
  if (!vector) lead(b);
  b.push_back(depth);
  if (!vector) b.push_back(extent());
  const std::vector<Tensor> operands = {RandomTensor(DataType::kFloat32, a, seed),
                                        RandomTensor(DataType::kFloat32, b, seed + 1)};
  INFO("seed " << seed << ": a " << DimsText(a) << ", b " << DimsText(b));
  Node node;
  node.op = "MatMul";
  const auto plain = [](const std::vector<Tensor>& of) { return PlainMatMul(of[0], of[1]); };
  CheckAll(OneNode(std::move(node), operands, draw.OneIn(2)), operands, plain, checked);
}

// Every library of this build that has convolutions and products of static sizes for the host has been compared often.
void CheckLibraries(std::map<std::string, int>& checked) {
  for (const LibraryRow& row : BuiltInLibraries()) {
    INFO(row.name);
    if (row.name != "simulated" && row.name != "host" && row.name != "recurrent" && row.name != "run_time")
      CHECK(checked[std::string(row.name)] > 100);
  }
}

TEST_CASE("PlainMath, ConvolutionOfEveryLibraryEqualsNestedLoops", "[conformance]") {
  std::map<std::string, int> checked;
  const uint64_t first = uint64_t{Catch::getSeed()} << 16;
  for (uint64_t i = 0; i < 120; ++i) CheckConvolution(first + i, checked);
  CheckLibraries(checked);
}

// A way into channels-last left the result of a single output channel unwritten.
TEST_CASE("PlainMath, ConvolutionToOneChannelEqualsNestedLoops", "[conformance]") {
  const std::vector<Tensor> operands = {RandomTensor(DataType::kFloat32, {2, 15, 3, 3}, 1),
                                        RandomTensor(DataType::kFloat32, {1, 15, 1, 1}, 2)};
  const ConvolutionSettings plain{{1, 1}, {1, 1}, {0, 0, 0, 0}, 1};
  Node node;
  node.op = "Conv";
  std::map<std::string, int> checked;
  CheckAll(OneNode(std::move(node), operands, true), operands, Convolution(plain), checked);
  CHECK(checked["reference"] > 0);
}

// A stride along the rows of a single channel, channels-last, into a single column took the wrong elements.
TEST_CASE("PlainMath, StridedConvolutionOfOneChannelIntoOneColumnEqualsNestedLoops", "[conformance]") {
  std::map<std::string, int> checked;
  const auto check = [&](const Dims& x, const Dims& w, const ConvolutionSettings& settings) {
    INFO("x " << DimsText(x) << ", w " << DimsText(w));
    const std::vector<Tensor> operands = {RandomTensor(DataType::kFloat32, x, 1),
                                          RandomTensor(DataType::kFloat32, w, 2)};
    Node node;
    node.op = "Conv";
    node.attributes = {{"strides", settings.strides}, {"pads", settings.pads}};
    CheckAll(OneNode(std::move(node), operands, true), operands, Convolution(settings), checked);
  };
  check({1, 1, 9, 2}, {4, 1, 3, 2}, {{1, 2}, {1, 1}, {1, 1, 0, 0}, 1});
  check({2, 1, 4, 3}, {16, 1, 1, 3}, {{1, 3}, {1, 1}, {0, 0, 0, 0}, 1});
  check({1, 1, 1, 3, 3}, {17, 1, 1, 2, 2}, {{3, 1, 3}, {1, 1, 1}, {0, 0, 0, 0, 1, 0}, 1});
  CHECK(checked["reference"] > 0);
}

TEST_CASE("PlainMath, MatMulOfEveryLibraryEqualsNestedLoops", "[conformance]") {
  std::map<std::string, int> checked;
  const uint64_t first = uint64_t{Catch::getSeed()} << 16;
  for (uint64_t i = 0; i < 120; ++i) CheckMatMul(first + i, checked);
  CheckLibraries(checked);
}

// The loops themselves, on numbers worked out by hand.
TEST_CASE("PlainMath, HandWorkedNumbers", "[conformance]") {
  const Tensor x = Tensor::Float32({1, 1, 3}, {1, 2, 3}), w = Tensor::Float32({1, 1, 2}, {10, 1});
  const Tensor bias = Tensor::Float32({1}, {100});
  const Tensor y = PlainConvolution(x, w, &bias, {{1}, {1}, {1, 0}, 1});
  CHECK(y.dims() == Dims{1, 1, 3});
  CHECK(Difference(y, Tensor::Float32({1, 1, 3}, {101, 112, 123}), 0) == "");
  const Tensor a = Tensor::Float32({2, 2}, {1, 2, 3, 4}), v = Tensor::Float32({2}, {1, 10});
  CHECK(Difference(PlainMatMul(a, v), Tensor::Float32({2}, {21, 43}), 0) == "");
  CHECK(Difference(PlainMatMul(v, a), Tensor::Float32({2}, {31, 42}), 0) == "");
}

}  // namespace
}  // namespace pt::testing::plain_math_test
