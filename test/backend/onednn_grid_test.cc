// Every primitive with what may follow it, over the order of its result's dims in memory, the dims along which the
// second operand varies, and the rank: what the library compiles must run and be right, and so must what it does not
// offer by itself. In child processes, since some of oneDNN's kernels read wild addresses where such a combination is
// not theirs; what they are kept from is `WhyNoOperand` in lib/backend/onednn/post_ops.cc.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <map>
#include <sstream>
#include <stdexcept>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/forked_trials.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::onednn_grid_test {
namespace {

using Dims = std::vector<int64_t>;

// One kernel: all nodes of the graph as one group. Its result is z, or w behind a quantisation.
struct Point {
  std::string text;
  std::string result_layout;
  std::string main_layout;   // of the input named x; others lie like the result where their rank is its own
  std::string variant = {};  // its way alone: "", "+sum"
  MathMode math = MathMode::kFp32;
  uint32_t width = 1;
};

std::string ToString(const Point& point) {
  return point.text + "x " + point.main_layout + ", result " + point.result_layout + point.variant + ", " +
         std::string(MathModeName(point.math)) + ", " + std::to_string(point.width) + " cores";
}

// ---- running one

constexpr std::string_view kRight = "right", kRefused = "refused";

bool IsReal(const Graph& graph, ValueId value) { return graph.value(value).type.type == DataType::kFloat32; }

size_t RankOf(const Graph& graph, ValueId value) { return graph.value(value).type.dims.size(); }

// Blocks of what broadcasts along the blocked dim would be padding.
bool CanLieLike(const Graph& graph, ValueId value, ValueId result, const Layout& layout) {
  if (RankOf(graph, value) != RankOf(graph, result)) return false;
  return std::ranges::all_of(layout.blocks, [&](const Layout::Block& block) {
    return graph.value(value).type.dims[block.dim] == graph.value(result).type.dims[block.dim];
  });
}

Candidate CandidateOf(const Graph& graph, const Point& point) {
  Candidate candidate;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) candidate.nodes.push_back(NodeId(i));
  candidate.unit_class = UnitClassId(0U);
  candidate.library = "onednn";
  candidate.variant = point.variant;
  candidate.math = point.math;
  const auto storage = [&](ValueId value) {
    return point.math == MathMode::kBf16 && IsReal(graph, value) ? DataType::kBfloat16 : graph.value(value).type.type;
  };
  const ValueId result = graph.outputs()[0];
  const Layout made = LayoutFromString(point.result_layout).value();
  const bool product = graph.node(NodeId(0U)).op == "MatMul" || graph.node(NodeId(0U)).op == "Gemm";
  const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = graph.value(inputs[i]).name;
    Layout layout = RowMajor(RankOf(graph, inputs[i]));
    if (name == "x") {
      layout = LayoutFromString(point.main_layout).value();
    } else if ((!product || name != "b") && CanLieLike(graph, inputs[i], result, made)) {
      layout = made;
    }
    candidate.in.push_back({layout, storage(inputs[i])});
    if (point.variant == "+sum" && name == "p") candidate.aliases.push_back({0, i, Alias::Kind::kRequired});
  }
  candidate.out.push_back({made, storage(result)});
  return candidate;
}

std::string Tried(const Point& point, const Platform& platform, const Library& library) {
  const Result<Graph> parsed = ParseGraph(point.text);
  if (!parsed.ok()) return ToString(parsed.error());
  const Result<Graph> graph = InferShapes(*parsed);
  if (!graph.ok()) return ToString(graph.error());
  std::map<ValueId, Tensor> inputs;
  std::vector<Tensor> given;
  for (ValueId input : graph->inputs()) {
    const ValueType& type = graph->value(input).type;
    inputs[input] = RandomTensor(type.type, *type.static_dims(), 1 + input.index());
    given.push_back(inputs[input]);
  }
  const auto values = EvaluateGraph(*graph, given);
  if (!values.ok()) return ToString(values.error());
  const Tensor want = OutputsOf(*graph, *values)[0];
  const Candidate candidate = CandidateOf(*graph, point);
  std::vector<Tensor> in;
  for (ValueId input : GroupInputs(*graph, candidate.nodes)) in.push_back(inputs.at(input));
  const auto got = RunCandidate(*graph, platform, library, candidate, in, point.width);
  if (!got.ok()) return got.error().code == ErrorCode::kUnsupported ? std::string(kRefused) : ToString(got.error());
  const std::string difference =
      Difference((*got)[0], want, RelativeTolerance(point.math, want.type()), IsByte(want.type()) ? 1 : 0);
  return difference.empty() ? std::string(kRight) : "wrong: " + difference;
}

// Of every `stride`-th point: none crashes, none is wrong.
void HoldToReference(const std::vector<Point>& points, size_t stride, size_t first = 0) {
  std::vector<size_t> chosen;
  for (size_t i = first; i < points.size(); i += stride) chosen.push_back(i);
  const Platform platform = MakeTestPlatform(2, false);
  const std::unique_ptr<Library> library = MakeOneDnnLibrary();
  const std::vector<std::string> ends =
      RunForked(chosen.size(), [&](size_t i) { return Tried(points[chosen[i]], platform, *library); });
  std::map<std::string, size_t> counts;
  std::string faults;
  for (size_t i = 0; i < ends.size(); ++i) {
    const std::string kind = ends[i].substr(0, ends[i].find(':'));
    if (++counts[kind] > 12 || kind == kRight || kind == kRefused) continue;
    faults += ToString(points[chosen[i]]) + "\n  " + ends[i] + "\n";
  }
  std::ostringstream summary;
  for (const auto& [kind, count] : counts) summary << kind << " " << count << ", ";
  summary << "of " << chosen.size();
  INFO(summary.str() << "\n" << faults);
  CHECK(counts[std::string(kRight)] + counts[std::string(kRefused)] == chosen.size());
  CHECK(counts[std::string(kRight)] * 20 > chosen.size());  // the grid is about what is offered
}

// ---- making many

std::string Text(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

std::string RowMajorText(size_t rank) { return ToString(RowMajor(rank)); }

std::vector<std::string> AllOrders(size_t rank) {
  std::string order = RowMajorText(rank);
  std::vector<std::string> orders;
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

// Row-major, and any two dims exchanged.
std::vector<std::string> SomeOrders(size_t rank) {
  std::vector<std::string> orders{RowMajorText(rank)};
  for (size_t i = 0; i < rank; ++i) {
    for (size_t j = i + 1; j < rank; ++j) {
      orders.push_back(orders[0]);
      std::swap(orders.back()[i], orders.back()[j]);
    }
  }
  return orders;
}

std::vector<std::string> ImageLayouts(size_t rank) {
  return {RowMajorText(rank), ToString(ChannelsLast(rank)), ToString(ChannelBlocked(rank, 8)),
          ToString(ChannelBlocked(rank, 16))};
}

// With 1 in place of the dims whose bit is not set.
Dims Narrowed(const Dims& dims, unsigned mask) {
  Dims narrow = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((mask >> i & 1U) == 0) narrow[i] = 1;
  }
  return narrow;
}

// Without leading dims of 1.
Dims Short(Dims dims) {
  while (dims.size() > 1 && dims[0] == 1) dims.erase(dims.begin());
  return dims;
}

// What follows a value y of these dims; p and q are operands that vary along the dims of the mask and along the others.
std::vector<std::pair<std::string, std::string>> Tails(const Dims& dims, unsigned mask) {
  const std::string p = Text(Narrowed(dims, mask)), brief = Text(Short(Narrowed(dims, mask))),
                    q = Text(Narrowed(dims, ~mask));
  return {
      {"const p float32" + brief + " random 3\n", "z = Add(y, p)\n"},
      {"input p float32" + p + "\n", "z = Add(p, y)\n"},
      {"input p float32" + brief + "\n", "r = Relu(y)\nz = Mul(r, p)\n"},
      {"const p float32" + brief + " random 3\n", "z = PRelu(y, p)\n"},
      {"input p float32" + p + "\nconst q float32" + q + " random 4\n", "v = Sub(y, p)\nr = Relu(v)\nz = Mul(r, q)\n"},
  };
}

// sum: also through the sum post-operation, which only what begins with an anchor has.
void AddWithTails(const std::string& operands, const std::string& anchor, const Dims& result,
                  const std::vector<std::pair<std::string, std::string>>& layouts, bool sum,
                  std::vector<Point>& points) {
  for (unsigned mask = 0; mask < 1U << result.size(); ++mask) {
    for (const auto& [operand, nodes] : Tails(result, mask)) {
      for (const auto& [main, made] : layouts) {
        const std::string text = operands + operand + anchor + nodes + "output z\n";
        points.push_back({text, made, main, "", MathMode::kFp32, static_cast<uint32_t>(1 + points.size() % 2)});
      }
    }
  }
  if (!sum) return;
  const std::string text = operands + "input p float32" + Text(result) + "\n" + anchor + "z = Add(y, p)\noutput z\n";
  for (const auto& [main, made] : layouts) points.push_back({text, made, main, "+sum"});
}

// The points once more, stored as bfloat16.
void AddInBf16(std::vector<Point>& points) {
  for (size_t i = 0, count = points.size(); i < count; ++i) {
    if (!points[i].variant.empty()) continue;
    points.push_back(points[i]);
    points.back().math = MathMode::kBf16;
  }
}

std::vector<Point> Products() {
  std::vector<Point> points;
  const Dims results[] = {{5, 20},       {1, 20},       {5, 1},        {70, 33},     {3, 5, 20},
                          {3, 1, 20},    {1, 5, 20},    {3, 5, 1},     {2, 40, 65},  {2, 3, 5, 20},
                          {2, 3, 1, 33}, {1, 3, 5, 20}, {2, 1, 5, 20}, {2, 3, 5, 1}, {2, 2, 3, 5, 20}};
  for (const Dims& result : results) {
    const size_t rank = result.size();
    Dims a = result, full = result, half = result;
    a.back() = full[rank - 2] = half[rank - 2] = 7;
    if (rank > 3) half[0] = 1;
    const std::string x = "input x float32" + Text(a) + "\n";
    const std::string columns = std::to_string(result.back());
    std::vector<std::string> sides{"const b float32[7," + columns + "] random 2\n",
                                   "input b float32[7," + columns + "]\n"};
    if (rank > 2) sides.push_back("input b float32" + Text(full) + "\n");
    if (rank > 3) sides.push_back("const b float32" + Text(half) + " random 2\n");
    std::vector<std::pair<std::string, std::string>> layouts;
    for (const std::string& made : rank < 5 ? AllOrders(rank) : SomeOrders(rank)) {
      layouts.emplace_back(RowMajorText(rank), made);
    }
    std::string turned = RowMajorText(rank);
    std::swap(turned[rank - 2], turned[rank - 1]);
    layouts.emplace_back(turned, layouts[layouts.size() / 2].second);
    for (const std::string& side : sides) AddWithTails(x + side, "y = MatMul(x, b)\n", result, layouts, true, points);
    if (rank != 2) continue;
    AddWithTails("input x float32" + Text(a) + "\nconst b float32[" + columns + ",7] random 2\n" + "const c float32[" +
                     columns + "] random 5\n",
                 "y = Gemm(x, b, c) transB=1\n", result, layouts, true, points);
    AddWithTails("input x float32[7," + std::to_string(result[0]) + "]\nconst b float32[7," + columns + "] random 2\n" +
                     "input c float32[" + std::to_string(result[0]) + ",1]\n",
                 "y = Gemm(x, b, c) transA=1 alpha=0.5\n", result, layouts, true, points);
  }
  return points;
}

// Of a layout each, and from row-major to each.
std::vector<std::pair<std::string, std::string>> ConvolutionLayouts(size_t rank) {
  std::vector<std::pair<std::string, std::string>> layouts;
  for (const std::string& layout : ImageLayouts(rank)) {
    layouts.emplace_back(layout, layout);
    if (layout != RowMajorText(rank)) layouts.emplace_back(RowMajorText(rank), layout);
  }
  return layouts;
}

struct Window {
  int64_t in, out, groups, kernel, pad, stride;  // channels of either side; the same along every spatial dim
};
constexpr Window kWindows[] = {{16, 32, 1, 3, 1, 1}, {20, 33, 1, 1, 0, 1}, {20, 20, 20, 3, 1, 1}, {32, 16, 2, 3, 1, 1},
                               {3, 16, 1, 3, 1, 2},  {16, 1, 1, 1, 0, 1},  {32, 32, 32, 3, 1, 2}};

std::vector<Point> Convolutions(bool transposed) {
  std::vector<Point> points;
  for (const Window& w : kWindows) {
    for (const Dims& image : {Dims{2, 7}, Dims{2, 5, 6}, Dims{1, 4, 5}, Dims{2, 1, 1}, Dims{2, 3, 4, 5}}) {
      Dims x{image[0], w.in}, result{image[0], w.out}, weights{w.out, w.in / w.groups}, pads;
      if (transposed) weights = {w.in, w.out / w.groups};
      for (size_t i = 1; i < image.size(); ++i) {
        x.push_back(image[i]);
        weights.push_back(w.kernel);
        const int64_t down = (image[i] + 2 * w.pad - w.kernel) / w.stride + 1;
        result.push_back(transposed ? (image[i] - 1) * w.stride - 2 * w.pad + w.kernel : down);
      }
      for (size_t i = 2; i < 2 * image.size(); ++i) pads.push_back(w.pad);
      if (std::ranges::any_of(result, [](int64_t dim) { return dim < 1; })) continue;
      const std::string anchor = std::string("y = ") + (transposed ? "ConvTranspose" : "Conv") +
                                 "(x, b) group=" + std::to_string(w.groups) + " pads=" + Text(pads) +
                                 " strides=" + Text(Dims(image.size() - 1, w.stride)) + "\n";
      AddWithTails("input x float32" + Text(x) + "\nconst b float32" + Text(weights) + " random 2\n", anchor, result,
                   ConvolutionLayouts(result.size()), true, points);
    }
  }
  return points;
}

// Beginning with an operation of one operand, of two, and with the operand itself.
std::vector<Point> Elementwise() {
  std::vector<Point> points;
  const Dims results[] = {{20},          {5, 20},       {3, 5, 17},    {3, 1, 20},    {2, 20, 3, 5},
                          {1, 16, 2, 3}, {2, 3, 1, 33}, {2, 1, 5, 20}, {2, 33, 1, 1}, {2, 20, 2, 3, 4}};
  for (const Dims& dims : results) {
    const size_t rank = dims.size();
    std::vector<std::string> orders = rank < 5 ? AllOrders(rank) : SomeOrders(rank);
    if (rank >= 3) {
      for (const std::string& layout : ImageLayouts(rank)) orders.push_back(layout);
    }
    std::vector<std::pair<std::string, std::string>> layouts;
    for (const std::string& order : orders) layouts.emplace_back(order, order);
    const std::string x = "input x float32" + Text(dims) + "\n";
    AddWithTails(x, "y = Tanh(x)\n", dims, layouts, false, points);
    AddWithTails(x + "input o float32" + Text(dims) + "\n", "y = Mul(x, o)\n", dims, layouts, false, points);
    for (unsigned mask = 0; mask < 1U << rank; ++mask) {
      const std::string narrow = Text(Narrowed(dims, mask)), brief = Text(Short(Narrowed(dims, mask)));
      for (const std::string& operand :
           {"input p float32" + narrow, "const p float32" + brief + " random 3", "input p float32" + brief}) {
        for (const char* node : {"z = Sub(x, p)\n", "z = PRelu(x, p)\n", "y = Max(p, x)\nz = Relu(y)\n"}) {
          for (const std::string& order : orders) {
            points.push_back({x + operand + "\n" + node + "output z\n", order, order});
          }
        }
      }
    }
  }
  return points;
}

// Without operands: each primitive in every order, of its result and of its input.
std::vector<Point> Others() {
  std::vector<Point> points;
  const auto add = [&](const Dims& dims, const std::string& nodes, const std::vector<std::string>& orders) {
    for (const std::string& order : orders) {
      points.push_back({"input x float32" + Text(dims) + "\n" + nodes + "output z\n", order, order});
      const std::string row = RowMajorText(dims.size());
      if (order == row) continue;
      points.push_back({points.back().text, row, order});
      points.push_back({points.back().text, order, row});
    }
  };
  for (const Dims& dims : {Dims{5, 20}, Dims{3, 5, 17}, Dims{2, 20, 3, 5}, Dims{2, 16, 1, 1}, Dims{2, 20, 2, 3, 4}}) {
    const size_t rank = dims.size();
    std::vector<std::string> orders = rank < 5 ? AllOrders(rank) : SomeOrders(rank);
    if (rank >= 3) {
      for (const std::string& layout : ImageLayouts(rank)) orders.push_back(layout);
    }
    for (size_t axis = 0; axis < rank; ++axis) {
      const std::string a = std::to_string(axis);
      for (const char* op : {"Softmax", "LogSoftmax", "LayerNormalization"}) {
        std::string nodes = std::string("z = ") + op + "(x) axis=" + a + "\n";
        if (op == std::string("LayerNormalization")) {
          Dims tail(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end());
          nodes = "const s float32" + Text(tail) + " random 2\nz = LayerNormalization(x, s) axis=" + a + "\n";
        }
        add(dims, nodes, orders);
      }
      for (const char* op : {"ReduceMean", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
        add(dims, "const r int64[1] ints " + a + "\nz = " + op + "(x, r)\n", orders);
      }
      add(dims, "const o float32" + Text(dims) + " random 2\nz = Concat(x, o) axis=" + a + "\n", orders);
    }
    for (const char* op : {"Relu", "Gelu", "Sqrt", "Exp"})
      add(dims, std::string("y = Abs(x)\nz = ") + op + "(y)\n", orders);
    if (rank < 3) continue;
    const std::string window = Text(Dims(rank - 2, 2)), unpadded = " kernel_shape=" + window + " strides=" + window;
    const std::string padded = " kernel_shape=" + Text(Dims(rank - 2, 3)) + " pads=" + Text(Dims(2 * (rank - 2), 1));
    for (const char* op : {"MaxPool", "AveragePool"}) {
      add(dims, std::string("z = ") + op + "(x)" + padded + "\n", orders);
      if (dims.back() > 1) add(dims, std::string("z = ") + op + "(x)" + unpadded + "\n", orders);
    }
    for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"}) add(dims, std::string("z = ") + op + "(x)\n", orders);
    add(dims, "z = LRN(x) size=3\n", orders);
    std::string scales = "1 1";
    for (size_t i = 2; i < rank; ++i) scales += " 2";
    for (const char* mode : {"nearest", "linear"}) {
      add(dims,
          "const s float32[" + std::to_string(rank) + "] floats " + scales + "\nz = Resize(x, _, s) mode=\"" + mode +
              "\"\n",
          orders);
    }
  }
  return points;
}

std::vector<Point> InIntegers() {
  std::vector<Point> points;
  const std::string constants =
      "const s float32[] value 0.05\nconst t float32[] value 0.02\nconst u uint8[] ints 3\nconst i int8[] ints 0\n"
      "const o float32[] value 0.4\n";
  const std::string read = "xr = DequantizeLinear(x, s, u)\n", write = "w = QuantizeLinear(z, o, u)\noutput w\n";
  const auto add = [&](const std::string& operands, const std::string& anchor, const Dims& result,
                       const std::vector<std::pair<std::string, std::string>>& layouts) {
    for (unsigned mask = 0; mask < 1U << result.size(); ++mask) {
      for (const auto& [operand, nodes] : Tails(result, mask)) {
        for (const auto& [main, made] : layouts) {
          points.push_back({operands + constants + operand + read + anchor + nodes + write, made, main});
        }
      }
      const std::string p = "input p uint8" + Text(Narrowed(result, mask)) + "\n";
      for (const auto& [main, made] : layouts) {
        points.push_back(
            {operands + constants + p + read + anchor + "pr = DequantizeLinear(p, t, u)\nz = Add(y, pr)\n" + write,
             made, main});
      }
    }
  };
  for (const Dims& result : {Dims{5, 20}, Dims{3, 5, 20}, Dims{2, 3, 5, 33}}) {
    Dims x = result;
    x.back() = 8;
    std::vector<std::pair<std::string, std::string>> layouts;
    for (const std::string& made : AllOrders(result.size())) layouts.emplace_back(RowMajorText(result.size()), made);
    add("input x uint8" + Text(x) + "\nconst b int8[8," + std::to_string(result.back()) + "] whole 3\n",
        "br = DequantizeLinear(b, t, i)\ny = MatMul(xr, br)\n", result, layouts);
  }
  for (const Window& w : kWindows) {
    const Dims x{2, w.in, 5, 6}, weights{w.out, w.in / w.groups, w.kernel, w.kernel};
    const int64_t high = (5 + 2 * w.pad - w.kernel) / w.stride + 1, wide = (6 + 2 * w.pad - w.kernel) / w.stride + 1;
    const std::string last = ToString(ChannelsLast(4));
    add("input x uint8" + Text(x) + "\nconst b int8" + Text(weights) + " whole 3\n",
        "br = DequantizeLinear(b, t, i)\ny = Conv(xr, br) group=" + std::to_string(w.groups) +
            " pads=" + Text(Dims(4, w.pad)) + " strides=" + Text(Dims(2, w.stride)) + "\n",
        {2, w.out, high, wide}, {{last, last}});
  }
  for (const Dims& dims : {Dims{5, 20}, Dims{2, 20, 3, 5}}) {
    std::vector<std::pair<std::string, std::string>> layouts;
    for (const std::string& order : AllOrders(dims.size())) layouts.emplace_back(order, order);
    if (dims.size() == 4) layouts.emplace_back("aBcd16b", "aBcd16b");
    add("input x uint8" + Text(dims) + "\n", "y = Tanh(xr)\n", dims, layouts);
  }
  return points;
}

std::vector<Point> WithBf16(std::vector<Point> points) {
  AddInBf16(points);
  return points;
}

struct Family {
  std::string name;
  std::vector<Point> points;
};

std::vector<Family> Families() {
  return {{"products", WithBf16(Products())},
          {"convolutions", WithBf16(Convolutions(false))},
          {"transposed convolutions", WithBf16(Convolutions(true))},
          {"elementwise", WithBf16(Elementwise())},
          {"others", WithBf16(Others())},
          {"in integers", InIntegers()}};
}

}  // namespace

TEST_CASE("OneDnnGrid, EveryOrderOfTheResultAndMaskOfTheOperandIsRightOrRefused", "[backend]") {
  for (const Family& family : Families()) {
    INFO(family.name);
    HoldToReference(family.points, 151);
  }
}

// oneDNN's kernels write a result in another order than the input's as if it lay like that.
TEST_CASE("OneDnnGrid, LayerNormalizationFromAnyOrderIntoAnyIsRightOrRefused", "[backend]") {
  std::vector<Point> points = WithBf16(Others());
  std::erase_if(points, [](const Point& point) { return point.text.find("LayerNorm") == std::string::npos; });
  // Of more dims, and in blocks, next to all is refused.
  std::erase_if(points, [](const Point& point) {
    return (point.result_layout + point.main_layout).find_first_of("d0123456789") != std::string::npos;
  });
  CHECK(points.size() > 100);
  HoldToReference(points, 1);
}

TEST_CASE("OneDnnGrid, TheWholeGridIsRightOrRefused", "[.nightly]") {
  for (const Family& family : Families()) {
    INFO(family.name);
    HoldToReference(family.points, 1);
  }
}

TEST_CASE("ForkedTrials, ACrashIsOneTrialsEnd", "[backend]") {
  const auto ends = RunForked(5, [](size_t i) -> std::string {
    if (i == 1) raise(SIGSEGV);
    if (i == 2) _exit(3);
    if (i == 3) throw std::runtime_error("no");
    return std::to_string(i);
  });
  CHECK(ends[0] == "0");
  CHECK((ends[1] == "crashed: signal 11" || ends[1].starts_with("exited: ")));  // sanitizers exit
  CHECK(ends[2] == "exited: 3");
  CHECK(ends[3] == "threw: no");
  CHECK(ends[4] == "4");
}

}  // namespace pt::testing::onednn_grid_test
