#include "lib/candidate/work_size.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/operators/gemm.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

struct Shapes {
  const Graph& graph;
  const Node& node;

  std::vector<int64_t> dims(std::span<const ValueId> ids, size_t i) const {
    if (i >= ids.size() || !ids[i].valid()) return {};
    return AssumedDims(graph.value(ids[i]).type);
  }
  double elements(std::span<const ValueId> ids, size_t i) const {
    if (i >= ids.size() || !ids[i].valid()) return 0;
    return AssumedElements(graph.value(ids[i]).type);
  }
  double in(size_t i) const { return elements(node.inputs, i); }
  double out(size_t i = 0) const { return elements(node.outputs, i); }
};

double Product(std::span<const int64_t> dims, size_t from) {
  double product = 1;
  for (size_t i = from; i < dims.size(); ++i) product *= static_cast<double>(dims[i]);
  return product;
}

// Weights [M, C/group, k...] at input `weights`: every output element sums over C/group · k.
double Convolution(const Shapes& s, size_t weights) {
  const std::vector<int64_t> w = s.dims(s.node.inputs, weights);
  return w.size() < 3 ? 0 : 2 * s.out() * Product(w, 1);
}
double Conv(const Shapes& s) { return Convolution(s, 1); }
double QLinearConv(const Shapes& s) { return Convolution(s, 3); }
double DeformConv(const Shapes& s) { return Convolution(s, 1); }

// Weights [C, M/group, k...]: every input element is spread over M/group · k.
double ConvTranspose(const Shapes& s) {
  const std::vector<int64_t> w = s.dims(s.node.inputs, 1);
  return w.size() < 3 ? 0 : 2 * s.in(0) * Product(w, 1);
}

double MatMul(const Shapes& s) {
  const std::vector<int64_t> a = s.dims(s.node.inputs, 0);
  return a.empty() ? 0 : 2 * s.out() * static_cast<double>(a.back());
}

double Gemm(const Shapes& s) {
  const std::vector<int64_t> a = s.dims(s.node.inputs, 0);
  if (a.size() != 2) return 0;
  return 2 * s.out() * static_cast<double>(ReadGemm(s.node).transpose_a ? a[0] : a[1]);
}

// Weights W and R are read once a time step and batch entry.
double Recurrent(const Shapes& s) {
  const std::vector<int64_t> x = s.dims(s.node.inputs, 0);
  if (x.size() != 3) return 0;
  return 2 * static_cast<double>(x[0]) * static_cast<double>(x[1]) * (s.in(1) + s.in(2));
}

double Pool(const Shapes& s) {
  double window = 1;
  for (int64_t k : ReadKernelShape(s.node).value_or(std::vector<int64_t>())) window *= static_cast<double>(k);
  return s.out() * window;
}

double PerInput(const Shapes& s) { return s.in(0); }
double Normalization(const Shapes& s) { return 5 * s.in(0); }
double Lrn(const Shapes& s) {
  const Result<LrnNode> lrn = ReadLrn(s.node);
  return s.in(0) * static_cast<double>(lrn.ok() ? lrn->size + 3 : 4);
}
double Nothing(const Shapes&) { return 0; }

struct Row {
  std::string_view op;
  double (*flops)(const Shapes&);
};

// Whatever is not here counts one operation per output element.
constexpr std::array kRows = {Row{"AveragePool", Pool},
                              Row{"BatchNormalization", Normalization},
                              Row{"Cast", Nothing},
                              Row{"Concat", Nothing},
                              Row{"Constant", Nothing},
                              Row{"ConstantOfShape", Nothing},
                              Row{"Conv", Conv},
                              Row{"ConvInteger", Conv},
                              Row{"ConvTranspose", ConvTranspose},
                              Row{"DeformConv", DeformConv},
                              Row{"DepthToSpace", Nothing},
                              Row{"DynamicQuantizeLSTM", Recurrent},
                              Row{"Expand", Nothing},
                              Row{"Flatten", Nothing},
                              Row{"GRU", Recurrent},
                              Row{"Gather", Nothing},
                              Row{"GatherElements", Nothing},
                              Row{"GatherND", Nothing},
                              Row{"Gemm", Gemm},
                              Row{"GlobalAveragePool", PerInput},
                              Row{"GlobalLpPool", PerInput},
                              Row{"GlobalMaxPool", PerInput},
                              Row{"GroupNormalization", Normalization},
                              Row{"Identity", Nothing},
                              Row{"InstanceNormalization", Normalization},
                              Row{"LRN", Lrn},
                              Row{"LSTM", Recurrent},
                              Row{"LayerNormalization", Normalization},
                              Row{"LogSoftmax", Normalization},
                              Row{"LpPool", Pool},
                              Row{"MatMul", MatMul},
                              Row{"MatMulInteger", MatMul},
                              Row{"MaxPool", Pool},
                              Row{"MeanVarianceNormalization", Normalization},
                              Row{"Pad", Nothing},
                              Row{"QLinearConv", QLinearConv},
                              Row{"QLinearMatMul", MatMul},
                              Row{"RMSNormalization", Normalization},
                              Row{"RNN", Recurrent},
                              Row{"ReduceMax", PerInput},
                              Row{"ReduceMean", PerInput},
                              Row{"ReduceMin", PerInput},
                              Row{"ReduceProd", PerInput},
                              Row{"ReduceSum", PerInput},
                              Row{"ReduceL1", PerInput},
                              Row{"ReduceL2", PerInput},
                              Row{"ReduceLogSum", PerInput},
                              Row{"ReduceLogSumExp", PerInput},
                              Row{"ReduceSumSquare", PerInput},
                              Row{"Reshape", Nothing},
                              Row{"ScatterElements", Nothing},
                              Row{"ScatterND", Nothing},
                              Row{"Shape", Nothing},
                              Row{"Size", Nothing},
                              Row{"Slice", Nothing},
                              Row{"Softmax", Normalization},
                              Row{"SpaceToDepth", Nothing},
                              Row{"Split", Nothing},
                              Row{"Squeeze", Nothing},
                              Row{"Tile", Nothing},
                              Row{"Transpose", Nothing},
                              Row{"Unsqueeze", Nothing}};

}  // namespace

std::vector<int64_t> AssumedDims(const ValueType& type) {
  std::vector<int64_t> dims;
  int64_t assumed = kAssumedDim;
  for (const Dim& dim : type.dims) {
    dims.push_back(dim.known() ? dim.value : assumed);
    if (!dim.known()) assumed = kFurtherAssumedDim;
  }
  return dims;
}

double AssumedElements(const ValueType& type) {
  if (!type.ranked) return 0;
  const std::optional<int64_t> product = CheckedProduct(AssumedDims(type));
  return product ? static_cast<double>(*product) : 0.0;
}

double FlopsOf(const Graph& graph, NodeId id) {
  const Shapes shapes{graph, graph.node(id)};
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == shapes.node.op; });
  if (row != kRows.end() && shapes.node.domain.empty()) return row->flops(shapes);
  double flops = 0;
  for (size_t i = 0; i < shapes.node.outputs.size(); ++i) flops += shapes.out(i);
  return flops;
}

}  // namespace pt
