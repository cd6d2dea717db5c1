// MaxPool (with indices), AveragePool, LpPool and their global forms: a thread for each output position.
#include <algorithm>
#include <array>
#include <iterator>

#include "partitiontuner/graph/operators/windows.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/expression.h"
#include "plugins/cuda/integer_average.h"
#include "plugins/cuda/integer_product.h"
#include "plugins/cuda/operators.h"
#include "plugins/cuda/window.h"

namespace pt::cuda {
namespace {

// A window of more elements had better be shared by threads.
constexpr int64_t kMostAlone = 4096;

// One pooling of a site: the input, the result, and the window over it.
struct Pooling {
  const CudaSite& site;
  const CudaOperand &x, &y;
  WindowParameters window;

  std::vector<int64_t> in() const { return {x.dims().begin() + 2, x.dims().end()}; }
  size_t spatial() const { return window.kernel.size(); }
  // Of the input's element at the position, in this plane.
  std::string InputText() const {
    std::string text =
        site.NameOf(x) + "[c0 * " + std::to_string(x.strides()[0]) + " + c1 * " + std::to_string(x.strides()[1]);
    for (size_t d = 0; d < spatial(); ++d) {
      text += " + p" + std::to_string(d) + " * " + std::to_string(x.strides()[d + 2]);
    }
    return text + "]";
  }
  std::string For(const std::string& statements) const { return ForWindow(window, in(), statements); }
  CudaRoutine Finish(const std::string& body, const std::string& result) const {
    const IndexSpace space = IndexSpace::Whole(y.dims(), {y.strides()});
    const std::string store = "    " + site.NameOf(y) + "[" + space.OffsetText(0) + "] = " + result + ";\n";
    return {{ElementKernel(site, space, body + store)}};
  }
};

// Each window must see something of the input, as the reference library demands.
Status NeedInputInEveryWindow(const Pooling& p) {
  for (size_t d = 0; d < p.spatial(); ++d) {
    const int64_t dim = p.in()[d], step = p.window.dilations[d], reach = (p.window.kernel[d] - 1) * step;
    for (int64_t position = 0; position < p.y.dims()[d + 2]; ++position) {
      const int64_t start = position * p.window.strides[d] - p.window.pads_begin[d];
      const int64_t first = start >= 0 ? start : start + (-start + step - 1) / step * step;
      if (first >= dim || first > start + reach) return p.site.Unsupported("a window sees nothing of the input");
    }
  }
  return {};
}

Result<Pooling> ReadPooling(const CudaSite& site, bool global) {
  const CudaOperand* const x = site.Input(0);
  if (x == nullptr) return site.Unsupported("it has no input");
  const CudaOperand* const first = site.Output(0);
  if (first == nullptr) return site.Unsupported("its output is unused");
  if (x->dims().size() < 3 || first->dims().size() < 3 || x->dims()[1] != first->dims()[1]) {
    return site.Unsupported("its result has other channels");
  }
  if (x->value_type != first->value_type) return site.Unsupported("its result is of another type");
  Result<WindowParameters> window = global ? WholeWindow(site, *x, *first) : ReadWindow(site, site.node(), *x, *first);
  if (!window.ok()) return std::move(window).error();
  Pooling pooling{site, *x, *first, std::move(window).value()};
  PT_CHECK_OK(NeedInputInEveryWindow(pooling));
  return pooling;
}

Status NeedReal(const Pooling& p) {
  if (!IsReal(p.x.type())) return p.site.Unsupported("its input is not of float32, float16 or bfloat16");
  if (p.site.out.size() != 1) return p.site.Unsupported("it has more than one result");
  return {};
}

// Statements behind the loop over the window, and what the sum is divided by.
struct Divisor {
  std::string statements, text;
};
Divisor DivisorOf(const Pooling& p, const Node& node) {
  if (!ReadPoolingNode(node).counts_pads) return {"", "(float)count"};
  // Pads count as far as they are stated, not what rounding up adds.
  Divisor divisor;
  std::string product;
  for (size_t d = 0; d < p.spatial(); ++d) {
    const std::string n = std::to_string(d), step = std::to_string(p.window.dilations[d]);
    const std::string reach = std::to_string(p.window.kernel[d] * p.window.dilations[d]);
    const std::string end = std::to_string(p.in()[d] + p.window.stated_end[d]);
    divisor.statements += "    const Index w" + n + " = ((s" + n + " + " + reach + " < " + end + " ? " + reach + " : " +
                          end + " - s" + n + ") + " + std::to_string(p.window.dilations[d] - 1) + ") / " + step + ";\n";
    product += (product.empty() ? "" : " * ") + ("w" + n);
  }
  divisor.text = "(float)(" + product + ")";
  return divisor;
}

Result<CudaRoutine> AveragePool(const CudaSite& site) {
  PT_ASSIGN(const Pooling p, ReadPooling(site, false));
  PT_CHECK_OK(NeedReal(p));
  const Divisor divisor = DivisorOf(p, site.node());
  const std::string body =
      "    float sum = 0.0f;\n    int count = 0;\n" + p.For("    sum += (float)" + p.InputText() + ";\n    ++count;\n");
  return p.Finish(body + divisor.statements, "sum / " + divisor.text);
}

template <bool global>
Result<CudaRoutine> LpPool(const CudaSite& site) {
  PT_ASSIGN(const Pooling p, ReadPooling(site, global));
  PT_CHECK_OK(NeedReal(p));
  const int64_t power = ReadPoolingNode(site.node()).power;
  if (power <= 0) return site.Unsupported("p is not positive");
  const std::string x = "fabsf((float)" + p.InputText() + ")", number = std::to_string(power) + ".0f";
  const std::string term = power == 1 ? "x" : power == 2 ? "x * x" : "powf(x, " + number + ")";
  const std::string body =
      "    float sum = 0.0f;\n" + p.For("    const float x = " + x + ";\n    sum += " + term + ";\n");
  const std::string root = power == 1 ? "sum" : power == 2 ? "sqrtf(sum)" : "powf(sum, 1.0f / " + number + ")";
  return p.Finish(body, root);
}

// Where the largest lies in the whole input, the first of equals; a NaN is neither larger nor smaller than anything.
Result<CudaRoutine> MaxPoolWithIndices(const Pooling& p) {
  const CudaSite& site = p.site;
  const CudaOperand* const places = site.Output(1);
  if (places->dims() != p.y.dims() || places->type() != DataType::kInt64) {
    return site.Unsupported("its indices have other dims");
  }
  const bool columns = ReadPoolingNode(site.node()).column_major;
  std::string within = "0";
  int64_t step = 1;
  for (size_t k = 0; k < p.spatial(); ++k) {
    const size_t d = columns ? k : p.spatial() - 1 - k;
    within += " + (long long)p" + std::to_string(d) + " * " + std::to_string(step);
    step *= p.in()[d];
  }
  const std::string type(ComputeTypeOf(p.x.type()));
  const std::string body = "    " + type + " most = 0;\n    long long best = -1;\n" +
                           p.For("    const " + type + " x = " + p.InputText() +
                                 ";\n    if (best < 0 || x > most) { most = x; best = " + within + "; }\n") +
                           "    " + site.NameOf(*places) + "[" +
                           IndexSpace::Whole(places->dims(), {places->strides()}).OffsetText(0) + "] = best + (c0 * " +
                           std::to_string(p.x.dims()[1]) + "ll + c1) * " + std::to_string(step) + "ll;\n";
  return p.Finish(body, "most");
}

template <bool global>
Result<CudaRoutine> MaxPool(const CudaSite& site) {
  PT_ASSIGN(const Pooling p, ReadPooling(site, global));
  const DataType type = p.x.type();
  const bool integer = type == DataType::kInt8 || type == DataType::kUint8;
  if (!IsReal(type) && !integer) return site.Unsupported("it does not run on " + std::string(DataTypeName(type)));
  if (site.out.size() > 1) return MaxPoolWithIndices(p);
  const std::string least = type == DataType::kInt8 ? "-128" : integer ? "0" : "-1.0f / 0.0f";
  const std::string compute(ComputeTypeOf(type));
  // NaN is kept, as the reference library keeps it.
  return p.Finish(
      "    " + compute + " most = " + least + ";\n" +
          p.For("    const " + compute + " x = " + p.InputText() + ";\n    if (x > most || x != x) most = x;\n"),
      "most");
}

bool IsAverage(const Node& node) {
  return node.domain.empty() && (node.op == "AveragePool" || node.op == "GlobalAveragePool");
}

constexpr std::array kRows = {
    CudaRow{"AveragePool", AveragePool}, CudaRow{"GlobalLpPool", LpPool<true>}, CudaRow{"GlobalMaxPool", MaxPool<true>},
    CudaRow{"LpPool", LpPool<false>},    CudaRow{"MaxPool", MaxPool<false>},
};

}  // namespace

std::span<const CudaRow> PoolingOperators() { return kRows; }

NodeId FindIntegerAverage(const Graph& graph, std::span<const NodeId> nodes) {
  for (const NodeId id : nodes) {
    const NodeId read = IsAverage(graph.node(id)) ? DequantisationOf(graph, graph.node(id), 0) : NodeId();
    if (read.valid() && std::ranges::find(nodes, read) != nodes.end()) return id;
  }
  return NodeId();
}

std::vector<NodeId> IntegerAverageNodes(const Graph& graph, NodeId average) {
  const Node& node = graph.node(average);
  const NodeId read = IsAverage(node) ? DequantisationOf(graph, node, 0) : NodeId();
  if (!read.valid()) return {};
  const Value& real = graph.value(node.inputs[0]);
  if (real.is_graph_output || real.uses.size() != 1) return {};
  return {read, average};
}

Result<CudaRoutine> MakeIntegerAverage(const CudaSite& site) {
  const NodeId id = FindIntegerAverage(site.graph, site.nodes);
  const Node& node = site.graph.node(id);
  const NodeId read = DequantisationOf(site.graph, node, 0);
  PT_ASSIGN(const Factor factor, DequantisedFactor(site, site.graph.node(read)));
  const CudaOperand& x = *factor.integers;
  if (site.out.size() != 1 || site.out[0].dims() != site.graph.value(node.outputs[0]).type.static_dims() ||
      (factor.zero != nullptr && factor.zero->type() != x.type())) {
    return site.Unsupported("what follows has other dims, or a zero point is of another type than its integers");
  }
  constexpr int64_t kNone = -1;
  PT_ASSIGN(const std::string scale, ParameterText(site, factor, *factor.scale, kNone, "0"));
  PT_ASSIGN(const std::string zero, ZeroText(site, factor, kNone, "0"));
  const CudaOperand& y = site.out[0];
  Result<WindowParameters> window = node.op == "AveragePool" ? ReadWindow(site, node, x, y) : WholeWindow(site, x, y);
  if (!window.ok()) return std::move(window).error();
  const Pooling p{site, x, y, std::move(window).value()};
  PT_CHECK_OK(NeedInputInEveryWindow(p));
  if (IndexSpace(p.window.kernel, {}).count() > kMostAlone) return site.Unsupported("a thread would sum up too much");
  std::vector<NodeId> behind;
  std::ranges::copy_if(site.nodes, std::back_inserter(behind),
                       [&](NodeId other) { return other != id && other != read; });
  const Divisor divisor = DivisorOf(p, node);
  PT_ASSIGN(
      const std::string written,
      BehindText(site, behind, y.dims(), {node.outputs[0], "(float)total * (float)" + scale + " / " + divisor.text}));
  const std::string body = "    int total = 0, count = 0;\n" +
                           p.For("    total += " + MovedText(p.InputText(), x.type(), zero) + ";\n    ++count;\n") +
                           divisor.statements;
  return CudaRoutine{{ElementKernel(site, IndexSpace::Whole(y.dims(), {y.strides()}), body + written)}};
}

}  // namespace pt::cuda
