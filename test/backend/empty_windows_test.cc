// Convolutions some of whose windows meet nothing of the input: they lie in the padding alone, or step over what there
// is. oneDNN has kernels that call a null pointer there, so trials run in child processes. And convolutions of few
// elements in much padding, of which it computes some wrongly.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <random>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/platform/discover.h"
#include "test/testing/built_in.h"
#include "test/testing/forked_trials.h"
#include "test/testing/run_candidate.h"

namespace pt::testing::empty_windows_test {
namespace {

// A host of two cores with this processor's instructions.
Platform Host() {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "test"});
  platform.devices[0].isa = DiscoverHost().value().devices[0].isa;
  platform.unit_classes.push_back({"cpu/1", DeviceId(0U), 1});
  platform.unit_classes.push_back({"cpu/2", DeviceId(0U), 2});
  return platform;
}

std::string Text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

// Windows of which some meet nothing along some dim.
struct DrawnWindows {
  std::vector<int64_t> in, kernel, strides, dilations, pads;
};

bool MeetsSomething(int64_t at, int64_t in, int64_t kernel, int64_t dilation) {
  for (int64_t k = 0; k < kernel; ++k) {
    if (at + k * dilation >= 0 && at + k * dilation < in) return true;
  }
  return false;
}

DrawnWindows DrawWindows(std::mt19937& random, size_t rank, bool some_miss) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (;;) {
    DrawnWindows drawn;
    std::vector<int64_t> ends;
    bool misses = false, has_results = true;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t in = draw(1, 6), kernel = draw(1, 7), dilation = draw(1, 2), stride = draw(1, 4);
      const int64_t extent = (kernel - 1) * dilation + 1, begin = draw(0, extent + 2), end = draw(0, extent + 2);
      const int64_t out = (in + begin + end - extent) / stride + 1;
      has_results = has_results && in + begin + end >= extent;
      for (int64_t o = 0; o < out; ++o) misses = misses || !MeetsSomething(o * stride - begin, in, kernel, dilation);
      drawn.in.push_back(in);
      drawn.kernel.push_back(kernel);
      drawn.strides.push_back(stride);
      drawn.dilations.push_back(dilation);
      drawn.pads.push_back(begin);
      ends.push_back(end);
    }
    if (misses != some_miss || !has_results) continue;
    drawn.pads.insert(drawn.pads.end(), ends.begin(), ends.end());
    return drawn;
  }
}

// An input x and weights w of those dims, in float32, or from integers.
std::string OperandsText(bool quantised, const std::vector<int64_t>& x, const std::vector<int64_t>& w) {
  if (!quantised) return "input x float32" + Text(x) + "\nconst w float32" + Text(w) + " random 1\n";
  return "input q uint8" + Text(x) + "\nconst qs float32[] value 0.02\nconst qz uint8[] ints 128\n" +
         "x = DequantizeLinear(q, qs, qz)\nconst v int8" + Text(w) +
         " whole 3\nconst vs float32[] value 0.01\nconst vz int8[] ints 0\nw = DequantizeLinear(v, vs, vz)\n";
}

std::string DrawConvolution(std::mt19937& random, bool some_miss) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const DrawnWindows windows = DrawWindows(random, static_cast<size_t>(draw(1, 3)), some_miss);
  constexpr int64_t kChannels[] = {1, 2, 3, 8, 16, 17, 32};
  const bool depthwise = draw(0, 2) == 0, quantised = draw(0, 3) == 0;
  const int64_t in = kChannels[draw(0, 6)], groups = depthwise ? in : 1, out = depthwise ? in : kChannels[draw(0, 6)];
  std::vector<int64_t> x{draw(0, 3) == 0 ? 16 : draw(1, 2), in}, w{out, in / groups};
  x.insert(x.end(), windows.in.begin(), windows.in.end());
  w.insert(w.end(), windows.kernel.begin(), windows.kernel.end());
  std::string text = OperandsText(quantised, x, w);
  text += "const b float32[" + std::to_string(out) + "] random 2\nc = Conv(x, w" + (draw(0, 1) == 0 ? ", b" : "") +
          ") group=" + std::to_string(groups) + " strides=" + Text(windows.strides) +
          " dilations=" + Text(windows.dilations) + " pads=" + Text(windows.pads) + "\n";
  return text + "y = Relu(c)\noutput y\n";
}

// Alone, with an activation, or between integers: what is computed by phases is a convolution for each.
std::string DrawTransposed(std::mt19937& random) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  constexpr int64_t kChannels[] = {1, 2, 3, 8, 16, 17, 32};
  const bool grouped = draw(0, 3) == 0, quantised = draw(0, 1) == 0;
  const int64_t in = kChannels[draw(0, 6)], out = kChannels[draw(0, 6)], groups = grouped ? in : 1;
  std::vector<int64_t> x{draw(1, 3), in}, w{in, grouped ? 1 : out}, strides, dilations, begins, ends, more;
  for (int64_t rank = draw(1, 3); rank > 0; --rank) {
    const int64_t size = draw(1, 6), kernel = draw(1, 5), dilation = draw(0, 3) == 0 ? 2 : 1, stride = draw(1, 4);
    const int64_t extent = (kernel - 1) * dilation + 1, begin = draw(0, extent - 1), end = draw(0, extent - 1);
    const int64_t added = draw(0, stride - 1);
    if ((size - 1) * stride + extent + added - begin - end < 1) return DrawTransposed(random);
    x.push_back(size);
    w.push_back(kernel);
    strides.push_back(stride);
    dilations.push_back(dilation);
    begins.push_back(begin);
    ends.push_back(end);
    more.push_back(added);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  std::string text = OperandsText(quantised, x, w);
  text += "const b float32[" + std::to_string(grouped ? in : out) + "] random 2\nc = ConvTranspose(x, w" +
          (draw(0, 1) == 0 ? ", b" : "") + ") group=" + std::to_string(groups) + " strides=" + Text(strides) +
          " dilations=" + Text(dilations) + " pads=" + Text(begins) + " output_padding=" + Text(more) + "\n";
  if (draw(0, 1) == 0) return text + "output c\n";
  if (!quantised || draw(0, 1) == 0) return text + "y = Relu(c)\noutput y\n";
  return text + "const ys float32[] value 0.05\ny = QuantizeLinear(c, ys, qz)\noutput y\n";
}

// Windows that reach far into the padding, each of which meets something: what of nothing is, is another question.
std::string DrawPool(std::mt19937& random) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const DrawnWindows windows = DrawWindows(random, static_cast<size_t>(draw(1, 3)), false);
  const bool ceil = draw(0, 1) == 0;
  const size_t rank = windows.in.size();
  for (size_t d = 0; d < rank; ++d) {
    if (std::max(windows.pads[d], windows.pads[rank + d]) >= windows.kernel[d]) return DrawPool(random);  // refused
  }
  for (size_t d = 0; ceil && d < rank; ++d) {
    const int64_t extent = (windows.kernel[d] - 1) * windows.dilations[d] + 1;
    const int64_t whole = windows.in[d] + windows.pads[d] + windows.pads[rank + d] - extent;
    const int64_t last = (whole + windows.strides[d] - 1) / windows.strides[d];
    const int64_t at = last * windows.strides[d] - windows.pads[d];
    if (!MeetsSomething(at, windows.in[d], windows.kernel[d], windows.dilations[d])) return DrawPool(random);
  }
  constexpr int64_t kChannels[] = {1, 3, 8, 16, 17};
  constexpr const char* kOperators[] = {"MaxPool", "AveragePool", "LpPool"};
  std::vector<int64_t> x{draw(1, 2), kChannels[draw(0, 4)]};
  x.insert(x.end(), windows.in.begin(), windows.in.end());
  const std::string op = kOperators[draw(0, 2)];
  std::string text = "input x float32" + Text(x) + "\ny = " + op + "(x) kernel_shape=" + Text(windows.kernel) +
                     " strides=" + Text(windows.strides) + " dilations=" + Text(windows.dilations) +
                     " pads=" + Text(windows.pads) + " ceil_mode=" + (ceil ? "1" : "0");
  if (op == "AveragePool") text += " count_include_pad=" + std::to_string(draw(0, 1));
  if (op == "LpPool") text += " p=" + std::to_string(draw(1, 3));
  return text + "\noutput y\n";
}

double LargestOf(const Tensor& tensor) {
  double largest = 1e-3;
  if (tensor.type() != DataType::kFloat32) return 1;
  for (const float x : tensor.values<float>()) largest = std::max(largest, std::fabs(static_cast<double>(x)));
  return largest;
}

constexpr const char* kNothingRuns = "nothing but the reference library runs it";

// What is wrong with the first candidate that is not right; empty where all are.
std::string FaultOf(const std::string& text, uint64_t seed) {
  const Graph graph = InferShapes(*ParseGraph(text)).value();
  const Platform platform = Host();
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs())
    inputs.push_back(RandomTensor(graph.value(id).type.type, *graph.value(id).type.static_dims(), seed));
  std::map<ValueId, Tensor> values;
  const std::unique_ptr<Library> oracle = MakeReferenceLibrary();
  if (const auto ran = RunGraph(graph, platform, *oracle, inputs, 1, &values); !ran.ok()) return ToString(ran.error());
  for (size_t i = 0; i < inputs.size(); ++i) values.insert_or_assign(graph.inputs()[i], inputs[i]);
  int count = 0;
  for (const LibraryRow& row : BuiltInLibraries()) {
    if (row.name == "reference") continue;
    std::vector<std::unique_ptr<Library>> libraries;
    libraries.push_back(row.make());
    for (const Candidate& candidate : EnumerateCandidates(graph, platform, libraries, EveryPrecision())) {
      std::vector<Tensor> given;
      for (const ValueId id : GroupInputs(graph, candidate.nodes)) {
        given.push_back(graph.value(id).is_constant() ? *graph.value(id).constant : values.at(id));
      }
      const std::string label = std::string(row.name) + " " + candidate.variant + ": ";
      const auto results = RunCandidate(graph, platform, *libraries[0], candidate, given,
                                        platform.unit_class(candidate.unit_class).cores);
      if (!results.ok()) return label + ToString(results.error());
      const ValueId output = GroupOutputs(graph, candidate.nodes)[0];
      // Sums that cancel keep the rounding of what is summed, numbers of about 1.
      const double tolerance =
          RelativeTolerance(candidate.math, DataType::kFloat32) / std::min(1.0, LargestOf(values.at(output)));
      const std::string difference = Difference((*results)[0], values.at(output), tolerance, 1);
      if (!difference.empty()) return label + difference;
      ++count;
    }
  }
  return count > 0 ? "" : kNothingRuns;
}

// draw(random): the text of a graph. Half of them at most may run on the reference library alone.
template <typename Draw>
void CheckDrawn(Draw draw) {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int i = 0; i < 400; ++i) texts.push_back(draw(random));
  const auto faults = RunForked(texts.size(), [&](size_t i) { return FaultOf(texts[i], seed + i); });
  for (size_t i = 0; i < texts.size(); ++i) {
    INFO(texts[i]);
    if (faults[i] != kNothingRuns) CHECK(faults[i] == "");
  }
  CHECK(std::ranges::count(faults, kNothingRuns) < 200);
}

TEST_CASE("Convolutions, WhoseWindowsMeetNothingAreRightInEveryLibrary", "[backend]") {
  CheckDrawn([](std::mt19937& random) { return DrawConvolution(random, true); });
}

TEST_CASE("Convolutions, OfFewElementsInMuchPaddingAreRightInEveryLibrary", "[backend]") {
  CheckDrawn([](std::mt19937& random) { return DrawConvolution(random, false); });
}

// oneDNN takes the padding of such integers for something else, and makes NaN of a single bfloat16.
TEST_CASE("Convolutions, OfShortVolumesAreRightInEveryLibrary", "[backend]") {
  const std::string of_one_slice = OperandsText(true, {2, 8, 1, 5, 2}, {8, 1, 2, 1, 4}) +
                                   "c = Conv(x, w) group=8 dilations=[2,1,1] pads=[2,0,3,0,0,0]\noutput c\n";
  const std::string transposed =
      OperandsText(true, {2, 8, 1, 5, 2}, {8, 1, 2, 5, 4}) +
      "c = ConvTranspose(x, w) group=8 strides=[1,3,1] dilations=[2,2,1] pads=[0,3,0,2,6,3]\noutput c\n";
  const std::string of_one_row =
      OperandsText(true, {2, 8, 6, 1, 6}, {8, 1, 4, 2, 5}) + "const b float32[8] random 2\n" +
      "c = ConvTranspose(x, w, b) group=8 strides=[1,2,2] dilations=[2,1,1] pads=[1,0,2,3,0,2]\noutput c\n";
  const std::string of_one_element = OperandsText(false, {2, 1, 1, 1, 1}, {3, 1, 6, 2, 3}) +
                                     "c = Conv(x, w) strides=[3,4,1] pads=[4,1,1,4,3,1]\noutput c\n";
  for (const std::string& text : {of_one_slice, transposed, of_one_row, of_one_element}) {
    INFO(text);
    for (uint64_t seed = 1; seed <= 5; ++seed) CHECK(FaultOf(text, seed) == "");
  }
}

TEST_CASE("TransposedConvolutions, DrawnAtRandomAreRightInEveryLibrary", "[backend]") { CheckDrawn(DrawTransposed); }

TEST_CASE("Pools, OfFewElementsInMuchPaddingAreRightInEveryLibrary", "[backend]") { CheckDrawn(DrawPool); }

TEST_CASE("Convolutions, ThatWereComputedWronglyAreRightInEveryLibrary", "[backend]") {
  for (const char* text :
       {"input x float32[16,1,1,1]\nconst w float32[8,1,5,7] random 34\nconst b float32[8] random 35\n"
        "y = Conv(x, w, b) strides=[1,3] pads=[4,2,1,6]\noutput y\n",
        "input x float32[1,8,1,9]\nconst w float32[8,8,1,3] random 34\nconst b float32[8] random 35\n"
        "y = Conv(x, w, b) strides=[1,3] pads=[0,2,0,0]\noutput y\n"}) {
    CHECK(RunForked(1, [&](size_t) { return FaultOf(text, 1); })[0] == "");
  }
}

}  // namespace
}  // namespace pt::testing::empty_windows_test
