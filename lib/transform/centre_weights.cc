// Convolutions of integers want weights that are int8 with a zero point of 0. Others are given them, exactly:
//   where every w - z fits into int8, it is the weight;
//   else, where one pair stands for all weights, w - z = v + c with v in int8 and one small c for all, and
//     Conv(x, s·(w - z)) = Conv(x, s·v) + Conv(x, s·c·ones)
//   whose second convolution has one filter, so that it costs a small part of the first.
#include <algorithm>
#include <cstdlib>

#include "lib/transform/edit.h"
#include "lib/transform/integer_products.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt {
namespace {

// Below these the sums of windows, and adding them, cost what the integers gain (some 10 us).
constexpr int64_t kFewestFilters = 32;
constexpr double kFewestProducts = 4e6;

bool IsWorthASum(const Graph& graph, const Node& node, const Tensor& weights) {
  const auto dims = graph.value(node.outputs[0]).type.static_dims();
  if (!dims || ReadConvolutionGroups(node) != 1 || weights.dims()[0] < kFewestFilters) return false;
  double products = static_cast<double>(weights.element_count()) / static_cast<double>(weights.dims()[0]);
  for (const int64_t dim : *dims) products *= static_cast<double>(dim);
  return products >= kFewestProducts;
}

class WeightCentering {
 public:
  explicit WeightCentering(const Graph& graph) : builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    const Graph& graph = builder_.graph();
    const size_t count = graph.nodes().size();
    for (uint32_t n = 0; n < count; ++n) {
      const Node& node = graph.node(NodeId(n));
      if (IsOp(node, "Conv") && node.inputs.size() >= 2) Centre(NodeId(n));
    }
    return BuildIfChanged(builder_, changed_);
  }

 private:
  void Centre(NodeId id) {
    const Graph& graph = builder_.graph();
    const ValueId real = graph.node(id).inputs[1];
    const NodeId producer = real.valid() ? graph.value(real).producer : NodeId();
    if (!producer.valid() || !IsDequantisation(graph.node(producer))) return;
    const Node dequantisation = graph.node(producer);
    const std::optional<Tensor> weights = graph.value(dequantisation.inputs[0]).constant;
    const auto quantisation = LinearQuantisationOf(graph, dequantisation);
    if (!weights || weights->element_count() == 0 || !quantisation || !IsByte(quantisation->type)) return;
    if (quantisation->has_centred_zeros()) return;
    if (!quantisation->is_whole() && quantisation->axis != 0) return;
    if (!ComesFromBytes(graph, graph.node(id).inputs[0])) return;
    std::vector<int64_t> numbers = Differences(*weights, *quantisation);
    const auto [least, most] = std::ranges::minmax(numbers);
    const int64_t rest = most > 127 ? most - 127 : std::min<int64_t>(least + 128, 0);
    if (rest == 0) {
      TakeWeights(id, dequantisation, weights->dims(), numbers);
    } else if (quantisation->is_whole() && IsWorthASum(graph, graph.node(id), *weights)) {
      for (int64_t& number : numbers) number -= rest;
      TakeWeights(id, dequantisation, weights->dims(), numbers);
      AddRest(id, weights->dims(), static_cast<float>(std::abs(rest)) * quantisation->scales[0], rest > 0 ? 1 : -1);
    }
  }

  // Each weight less its zero point.
  static std::vector<int64_t> Differences(const Tensor& weights, const LinearQuantisation& quantisation) {
    std::vector<int64_t> numbers = weights.ToInts();
    const size_t filters = quantisation.zero_points.size(), inner = numbers.size() / std::max<size_t>(filters, 1);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] -= quantisation.zero_points[i / inner];
    return numbers;
  }

  ValueId AddInt8(const std::vector<int64_t>& dims, const std::vector<int64_t>& numbers) {
    const std::vector<int8_t> bytes(numbers.begin(), numbers.end());
    return builder_.AddConstant("", Tensor::Of<int8_t>(DataType::kInt8, dims, bytes));
  }

  ValueId Dequantised(Node node, ValueId integers, ValueId scale, ValueId zero, ValueType real) {
    real.type = DataType::kFloat32;
    node.inputs = {integers, scale, zero};
    node.formal_inputs = 3;
    node.outputs = {builder_.AddValue("", real)};
    const ValueId output = node.outputs[0];
    builder_.AddNode(std::move(node));
    return output;
  }

  void TakeWeights(NodeId id, const Node& dequantisation, const std::vector<int64_t>& dims,
                   const std::vector<int64_t>& numbers) {
    const ValueId scale = dequantisation.inputs[1];
    const Tensor scales = *builder_.graph().value(scale).constant;
    const std::vector<int64_t> zeros(static_cast<size_t>(scales.element_count()), 0);
    const ValueId integers = AddInt8(dims, numbers), zero = AddInt8(scales.dims(), zeros);
    builder_.node(id).inputs[1] =
        Dequantised(dequantisation, integers, scale, zero, StaticType(DataType::kFloat32, dims));
    changed_ = true;
  }

  // What every filter has in common: the sum of its window, `factor` times.
  void AddRest(NodeId id, std::vector<int64_t> dims, float factor, int8_t sign) {
    Node sums = builder_.graph().node(id);
    const ValueId whole = sums.outputs[0];
    ValueType type = builder_.graph().value(whole).type;
    dims[0] = 1;
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    const ValueId ones = AddInt8(dims, std::vector<int64_t>(static_cast<size_t>(count), sign));
    Node read;
    read.op = "DequantizeLinear";
    read.source = sums.source;
    sums.inputs = {sums.inputs[0], Dequantised(read, ones, builder_.AddConstant("", Tensor::Float32({}, {factor})),
                                               AddInt8({}, {0}), StaticType(DataType::kFloat32, dims))};
    sums.formal_inputs = 2;
    const ValueId part = builder_.AddValue("", type);
    type.dims[1] = Dim{1, {}};
    sums.outputs = {builder_.AddValue("", type)};
    Node sum;
    sum.op = "Add";
    sum.source = sums.source;
    sum.inputs = {part, sums.outputs[0]};
    sum.formal_inputs = 2;
    sum.outputs = {whole};
    builder_.node(id).outputs = {part};
    builder_.AddNode(std::move(sums));
    builder_.AddNode(std::move(sum));
  }

  GraphBuilder builder_;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> CentreWeights(const Graph& graph, const PassContext&) {
  return WeightCentering(graph).Run();
}

}  // namespace pt
