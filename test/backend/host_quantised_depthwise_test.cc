// Depthwise convolutions of integers of the host library: the loops of every set of instructions against plain ones,
// and groups against the reference library, within one unit of what is quantised.
#include <algorithm>
#include <cmath>
#include <random>

#include "lib/backend/host_kernels/convolutions/quantised_depthwise_rows.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_quantised_depthwise_test {
namespace {

std::string Size(int64_t n) { return std::to_string(n); }

// ---- loops ----

// A row with data of its own. Scales are powers of two, so that real numbers are exact.
struct RowCase {
  int64_t lanes = 0, step = 0;  // step: of pixels, on both sides
  host::QuantisedDepthwiseRow row;
  std::vector<std::vector<uint8_t>> image;
  std::vector<const uint8_t*> rows;
  std::vector<int8_t> filters;
  std::vector<uint32_t> weights, words;
  std::vector<int32_t> starts;
  std::vector<float> scales, bias;

  RowCase(int64_t vector_lanes, std::mt19937& random) : lanes(vector_lanes) {
    const auto upto = [&](uint32_t most) { return static_cast<int64_t>(random() % most) + 1; };
    row = {.kernel_rows = upto(9),
           .kernel_columns = upto(7),
           .stride = upto(3),
           .dilation = upto(2),
           .from = upto(12) - 10,
           .in_pixels = upto(40),
           .zero = static_cast<uint8_t>(random()),
           .flips = random() % 2 != 0,
           .channels = upto(50),
           .low = -100,
           .high = 120,
           .result_zero = 7,
           .out_pixels = upto(30)};
    step = row.channels + upto(3) - 1;
    row.in_pixel_stride = row.out_pixel_stride = step;
    DrawImage(random);
    DrawFilters(random);
    words.resize(static_cast<size_t>(host::WordsOf(row, lanes)));
    row.words = words.data();
  }
  RowCase(const RowCase&) = delete;

  // Behind the last channel of the last pixel nothing may be read: a sanitizer would see it.
  void DrawImage(std::mt19937& random) {
    image.resize(static_cast<size_t>(row.kernel_rows));
    for (auto& line : image) {
      line.resize(static_cast<size_t>((row.in_pixels - 1) * step + row.channels));
      std::ranges::generate(line, [&] { return static_cast<uint8_t>(random()); });
      rows.push_back(random() % 4 == 0 ? nullptr : line.data());
    }
    row.rows = rows.data();
  }

  void DrawFilters(std::mt19937& random) {
    const int64_t blocks = (row.channels + lanes - 1) / lanes, quads = (row.kernel_rows + 3) / 4;
    weights.resize(static_cast<size_t>(blocks * quads * row.kernel_columns * lanes));
    starts.resize(static_cast<size_t>(blocks * lanes));
    scales.resize(starts.size());
    bias.resize(starts.size());
    std::ranges::generate(starts, [&] { return static_cast<int32_t>(random() % 1000) - 500; });
    std::ranges::generate(scales, [&] { return random() % 2 == 0 ? 0.03125F : 0.0078125F; });
    std::ranges::generate(bias, [&] { return static_cast<float>(random() % 64) - 32; });
    filters.resize(static_cast<size_t>(row.channels * row.kernel_rows * row.kernel_columns));
    std::ranges::generate(filters, [&] { return static_cast<int8_t>(random()); });
    for (size_t i = 0; i < filters.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t x = at % row.kernel_columns, y = at / row.kernel_columns % row.kernel_rows,
                    channel = at / row.kernel_columns / row.kernel_rows;
      const int64_t word = (channel / lanes * quads + y / 4) * row.kernel_columns + x;
      weights[static_cast<size_t>(word * lanes + channel % lanes)] |=
          static_cast<uint32_t>(static_cast<uint8_t>(filters[i])) << static_cast<uint32_t>(y % 4 * 8);
    }
    row.weights = weights.data();
    row.starts = starts.data();
    row.scales = scales.data();
    row.bias = bias.data();
  }

  // As it is defined.
  float Expected(int64_t pixel, int64_t channel) const {
    const auto c = static_cast<size_t>(channel);
    int64_t sum = starts[c];
    for (int64_t y = 0; y < row.kernel_rows; ++y) {
      for (int64_t x = 0; x < row.kernel_columns; ++x) {
        const int64_t at = row.from + pixel * row.stride + x * row.dilation;
        const uint8_t* line = rows[static_cast<size_t>(y)];
        const bool inside = line != nullptr && at >= 0 && at < row.in_pixels;
        const uint8_t stored = inside ? line[at * step + channel] : row.zero;
        const int64_t number = row.flips ? static_cast<int8_t>(stored) + 128 : stored;
        sum += number * filters[static_cast<size_t>((channel * row.kernel_rows + y) * row.kernel_columns + x)];
      }
    }
    return std::clamp(static_cast<float>(sum) * scales[c] + bias[c], row.low, row.high);
  }
};

void CheckRow(const host::QuantisedDepthwiseRows& loops, std::mt19937& random) {
  RowCase c(loops.lanes, random);
  host::QuantisedDepthwiseRow& row = c.row;
  INFO(row.channels << " channels, " << row.kernel_rows << "x" << row.kernel_columns << ", stride " << row.stride
                    << ", dilation " << row.dilation << ", from " << row.from << ", " << row.in_pixels << " to "
                    << row.out_pixels);
  constexpr uint8_t kFiller = 0x5A;
  std::vector<uint8_t> bytes(static_cast<size_t>(row.out_pixels * c.step), kFiller);
  std::vector<float> reals(bytes.size(), kFiller);
  row.bytes = bytes.data();
  loops.compute(row);
  row.bytes = nullptr;
  row.reals = reals.data();
  loops.compute(row);
  bool right = true;
  for (int64_t p = 0; p < row.out_pixels; ++p) {
    for (int64_t channel = 0; channel < c.step; ++channel) {
      const auto at = static_cast<size_t>(p * c.step + channel);
      const bool there = channel < row.channels;
      const float real = there ? c.Expected(p, channel) : kFiller;
      const auto integer = static_cast<int32_t>(std::nearbyint(real)) + row.result_zero;
      right = right && reals[at] == real && bytes[at] == (there ? static_cast<uint8_t>(integer) : kFiller);
    }
  }
  CHECK(right);
}

TEST_CASE("HostQuantisedDepthwise, LoopsOfEveryInstructionSetAreExact", "[host]") {
  const uint32_t seed = 20270;
  INFO("seed " << seed);
  for (const host::QuantisedDepthwiseRows& loops : host::QuantisedDepthwiseRowsOfProcessor()) {
    INFO("lanes " << loops.lanes);
    std::mt19937 random(seed);
    for (int i = 0; i < 150; ++i) CheckRow(loops, random);
  }
}

// ---- groups ----

struct Case {
  std::string x = "uint8", y = "int8";  // y: empty: float32
  int x_zero = 131, y_zero = -7;
  int batch = 1, channels = 8;
  std::string spatial = "9,9", kernel = "3,3", attributes = "pads=[1,1,1,1]", rest = "", bias = ", b";
  std::string weights = "int8", weight_zero = "0";
  bool by_channel = true;
};

std::string Text(const Case& c) {
  const std::string n = Size(c.channels);
  std::string scales = "value 0.0173", zeros = c.weights + "[] value " + c.weight_zero, axis;
  if (c.by_channel) {
    scales = "floats";
    for (int i = 0; i < c.channels; ++i) scales += " " + std::to_string(0.003 + 0.001 * (i % 13));
    zeros = c.weights + "[" + n + "] value " + c.weight_zero;
    axis = " axis=0";
  }
  const std::string result = c.rest.empty() ? "m" : "z";
  return "input x " + c.x + "[" + Size(c.batch) + "," + n + "," + c.spatial + "]\nconst w " + c.weights + "[" + n +
         ",1," + c.kernel + "] whole 1\nconst b float32[" + n +
         "] random 2\nconst s float32[] value 0.043\nconst k float32[" + (c.by_channel ? n : "") + "] " + scales +
         "\nconst zx " + c.x + "[] value " + Size(c.x_zero) + "\nconst zw " + zeros +
         "\nconst t float32[] value 0.11\nd = DequantizeLinear(x, s, zx)\nv = DequantizeLinear(w, k, zw)" + axis +
         "\nm = Conv(d, v" + c.bias + ") group=" + n + " " + c.attributes + "\n" + c.rest +
         (c.y.empty() ? "output " + result + "\n"
                      : "const zy " + c.y + "[] value " + Size(c.y_zero) + "\nq = QuantizeLinear(" + result +
                            ", t, zy)\noutput q\n");
}

// Of the whole range of bytes.
Tensor Bytes(const Graph& graph) {
  const ValueType& type = graph.value(graph.inputs()[0]).type;
  std::mt19937 random(11);
  std::string bytes(static_cast<size_t>(TensorByteCount(type.type, *type.static_dims()).value()), '\0');
  std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
  return Tensor::FromBytes(type.type, *type.static_dims(), bytes).value();
}

// Integers may be the next ones: float32 sums of the reference round before they are quantised.
void Check(const Case& c) {
  const std::string text = Text(c);
  INFO(text);
  const Graph graph = TypedText(text);
  CheckAgainstReference(graph, {Bytes(graph)}, 1e-5, true, c.y.empty() ? 0 : 1);
}

TEST_CASE("HostQuantisedDepthwise, EverySizeAroundVectorsAndTilesEqualsTheReference", "[host]") {
  for (int n = 2; n <= 36; ++n) Check({.channels = n});
  for (int n = 1; n <= 24; ++n) Check({.spatial = "5," + Size(n)});
  for (int n = 1; n <= 6; ++n) Check({.spatial = Size(n) + ",9"});
}

TEST_CASE("HostQuantisedDepthwise, EveryZeroPointAndTypeEqualsTheReference", "[host]") {
  for (const int zero : {0, 1, 127, 128, 254, 255}) {
    Check({.x_zero = zero, .y_zero = zero - 128, .channels = 19});
    Check({.x = "int8", .y = "uint8", .x_zero = zero - 128, .y_zero = zero, .channels = 19, .bias = ""});
    Check({.x = "int8", .y = "", .x_zero = zero - 128, .channels = 19, .by_channel = false});
  }
  Check({.weights = "uint8", .weight_zero = "128"});
  Check({.weights = "uint8", .weight_zero = "128", .by_channel = false});
}

TEST_CASE("HostQuantisedDepthwise, EveryKernelAndStrideEqualsTheReference", "[host]") {
  for (const int kernel : {1, 2, 3, 4, 5, 7, 9}) {
    for (const char* more : {"strides=[1,1]", "strides=[2,2]", "strides=[3,1]", "strides=[1,3]", "dilations=[2,2]",
                             "strides=[2,2] dilations=[1,2]"}) {
      const std::string pad = Size(kernel / 2), pads = "pads=[" + pad + "," + pad + "," + pad + "," + pad + "] ";
      Check(
          {.channels = 19, .spatial = "17,33", .kernel = Size(kernel) + "," + Size(kernel), .attributes = pads + more});
    }
  }
  Check({.kernel = "1,3", .attributes = "pads=[0,1,0,1]"});
  Check({.kernel = "5,3", .attributes = "pads=[2,1,2,1]"});
}

TEST_CASE("HostQuantisedDepthwise, UnevenAndMissingPadsEqualTheReference", "[host]") {
  for (const char* pads :
       {"pads=[0,0,0,0]", "pads=[0,1,2,3]", "pads=[2,0,0,2]", "auto_pad=\"SAME_UPPER\" strides=[2,2]",
        "auto_pad=\"SAME_LOWER\" strides=[2,2]", "auto_pad=\"VALID\""}) {
    Check({.x = "int8", .x_zero = -128, .channels = 17, .attributes = pads});
    Check({.batch = 3, .channels = 17, .spatial = "12,10", .attributes = pads, .bias = ""});
  }
  // Pads as wide as the image.
  Check({.spatial = "2,2", .kernel = "5,5", .attributes = "pads=[4,4,4,4]"});
}

TEST_CASE("HostQuantisedDepthwise, SequencesEqualTheReference", "[host]") {
  for (const char* attributes : {"pads=[2,2]", "pads=[0,3] strides=[2]", "pads=[4,0] dilations=[2]"}) {
    Check({.channels = 21, .spatial = "50", .kernel = "5", .attributes = attributes});
    Check({.batch = 2, .channels = 40, .spatial = "1500", .kernel = "5", .attributes = attributes});  // in stretches
  }
}

TEST_CASE("HostQuantisedDepthwise, RandomShapesEqualTheReference", "[host]") {
  const uint32_t seed = 20271;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 40; ++i) {
    const int kernel = upto(7);
    const std::string p = Size(upto(4) - 1), s = Size(upto(3));
    Check({.x_zero = upto(256) - 1,
           .y_zero = upto(256) - 129,
           .batch = upto(2),
           .channels = upto(70) + 1,
           .spatial = Size(upto(20) + kernel) + "," + Size(upto(40) + kernel),
           .kernel = Size(kernel) + "," + Size(kernel),
           .attributes = "pads=[" + p + "," + p + "," + p + "," + p + "] strides=[" + s + "," + s + "]",
           .by_channel = upto(2) == 1});
  }
}

TEST_CASE("HostQuantisedDepthwise, KeepsResultsWithinTheirActivation", "[host]") {
  const std::string bounds = "const lo float32[] value -0.25\nconst hi float32[] value 0.5\n";
  const std::string far = "const lo float32[] value 50\nconst hi float32[] value 60\n";  // beyond what y can hold
  for (const char* y : {"int8", ""}) {
    Check({.y = y, .channels = 20, .rest = "z = Relu(m)\n"});
    Check({.y = y, .channels = 20, .rest = bounds + "z = Clip(m, lo, hi)\n"});
    Check({.y = y, .channels = 20, .rest = bounds + "z = Clip(m, lo)\n"});
    Check({.y = y, .channels = 20, .rest = bounds + "z = Clip(m, _, hi)\n"});
    Check({.y = y, .channels = 20, .rest = far + "z = Clip(m, lo, hi)\n"});
  }
}

// Halfway between two integers both sides are exact: scales are powers of two.
TEST_CASE("HostQuantisedDepthwise, HalvesAreRoundedToEven", "[host]") {
  std::string text = Text({.y_zero = 1, .bias = "", .by_channel = false});
  for (const auto& [from, to] : {std::pair("0.043", "0.5"), std::pair("0.0173", "0.25"), std::pair("0.11", "16")}) {
    text.replace(text.find(from), std::string(from).size(), to);
  }
  INFO(text);
  const Graph graph = TypedText(text);
  CheckAgainstReference(graph, {Bytes(graph)}, 0);
}

size_t CountCandidates(const std::string& text) {
  const Graph graph = TypedText(text);
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision()).size();
}

TEST_CASE("HostQuantisedDepthwise, WhatDoesNotFitIsNotOffered", "[host]") {
  CHECK(CountCandidates(Text({})) > 0);
  CHECK(CountCandidates(Text({.rest = "z = Tanh(m)\n"})) == 0);
  CHECK(CountCandidates(Text({.rest = "z = Relu(m)\noutput m\n"})) == 0);
  CHECK(CountCandidates(Text({}) + "output d\n") == 0);
  // Weights less their zero points do not fit into int8.
  CHECK(CountCandidates(Text({.weight_zero = "100"})) == 0);
  CHECK(CountCandidates(Text({.kernel = "200,200", .attributes = "pads=[200,200,200,200]"})) == 0);
}

TEST_CASE("HostQuantisedDepthwise, GroupsAreOfferedAsFarAsTheyReach", "[host]") {
  const Platform platform = MakeTestPlatform(2, false);
  for (const auto& [rest, nodes] :
       {std::pair("", 4U), std::pair("z = Relu(m)\n", 5U), std::pair("z = Tanh(m)\n", 3U)}) {
    const Graph graph = TypedText(Text({.rest = rest}));
    const std::vector<Candidate> candidates = HostLibrary()->Candidates(graph, platform, Precision());
    CHECK(std::ranges::any_of(candidates, [&](const Candidate& c) { return c.nodes.size() == nodes; }));
  }
}

}  // namespace
}  // namespace pt::testing::host_quantised_depthwise_test
