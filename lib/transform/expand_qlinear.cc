// QLinearConv and QLinearMatMul are DequantizeLinear nodes, a product and a QuantizeLinear in one. Spelled out, they
// fuse with what stands around them like any other quantised stretch. The result is the same up to one unit where the
// real number lies between two: there the order of roundings decides.
#include <algorithm>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt {
namespace {

// Both operators' inputs: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, then QLinearConv's bias.
constexpr size_t kInputs = 8;

bool IsConstant(const Graph& graph, ValueId value) { return value.valid() && graph.value(value).is_constant(); }

class QLinearExpander {
 public:
  explicit QLinearExpander(const Graph& graph) : builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    const size_t count = builder_.graph().nodes().size();
    for (size_t i = 0; i < count; ++i) {
      if (Fits(builder_.graph().node(NodeId(i)))) Expand(NodeId(i));
    }
    return BuildIfChanged(builder_, changed_);
  }

 private:
  // Parameters are constants; those of x and y are numbers, those of w may be one for each channel of the output.
  bool Fits(const Node& node) const {
    const Graph& graph = builder_.graph();
    const bool convolution = IsOp(node, "QLinearConv");
    if ((!convolution && !IsOp(node, "QLinearMatMul")) || node.inputs.size() < kInputs || node.outputs.size() != 1) {
      return false;
    }
    for (size_t i : {1U, 2U, 4U, 5U, 6U, 7U}) {
      if (!IsConstant(graph, node.inputs[i])) return false;
      const Tensor& parameter = *graph.value(node.inputs[i]).constant;
      const bool scale = i == 1 || i == 4 || i == 6;
      if (scale ? parameter.type() != DataType::kFloat32 : !IsByte(parameter.type())) return false;
      const bool by_channel = (i == 4 || i == 5) && parameter.rank() == 1;
      if (parameter.element_count() != 1 && !by_channel) return false;
    }
    for (size_t i : {0U, 3U}) {
      if (!node.inputs[i].valid() || !graph.value(node.inputs[i]).type.is_static()) return false;
    }
    if (graph.value(node.inputs[4]).constant->element_count() > 1 && !convolution &&
        graph.value(node.inputs[3]).type.dims.size() != 2) {
      return false;
    }
    return node.inputs.size() == kInputs || !node.inputs[8].valid() || IsConstant(graph, node.inputs[8]);
  }

  void Expand(NodeId id) {
    const Node node = builder_.graph().node(id);
    const bool convolution = node.op == "QLinearConv";
    Node product = node;
    product.op = convolution ? "Conv" : "MatMul";
    product.inputs = {Dequantised(node, 0, 1, node.inputs[2]),
                      Dequantised(node, 3, convolution ? 0 : 1, node.inputs[5])};
    if (node.inputs.size() > kInputs && node.inputs[8].valid()) product.inputs.push_back(Bias(node));
    product.formal_inputs = static_cast<uint32_t>(product.inputs.size());
    ValueType real = builder_.graph().value(node.outputs[0]).type;
    real.type = DataType::kFloat32;
    product.outputs = {builder_.AddValue("", real)};
    Node quantised = Made("QuantizeLinear", node);
    quantised.inputs = {product.outputs[0], node.inputs[6], node.inputs[7]};
    quantised.outputs = node.outputs;
    builder_.RemoveNode(id);
    builder_.AddNode(std::move(product));
    builder_.AddNode(std::move(quantised));
    changed_ = true;
  }

  static Node Made(std::string op, const Node& from) {
    Node node;
    node.op = std::move(op);
    node.source = from.source;
    return node;
  }

  ValueId Dequantised(const Node& node, size_t input, int64_t axis, ValueId zero) {
    Node dequantised = Made("DequantizeLinear", node);
    dequantised.inputs = {node.inputs[input], node.inputs[input + 1], zero};
    dequantised.attributes["axis"] = axis;
    return AddReal(std::move(dequantised));
  }

  // Its scale is the product of x's and w's, its zero point is none.
  ValueId Bias(const Node& node) {
    const Graph& graph = builder_.graph();
    const float x_scale = graph.value(node.inputs[1]).constant->values<float>()[0];
    const Tensor& w_scale = *graph.value(node.inputs[4]).constant;
    std::vector<float> scales(w_scale.values<float>().begin(), w_scale.values<float>().end());
    for (float& scale : scales) scale *= x_scale;
    Node dequantised = Made("DequantizeLinear", node);
    dequantised.inputs = {node.inputs[8], builder_.AddConstant("", Tensor::Float32(w_scale.dims(), scales))};
    dequantised.attributes["axis"] = int64_t{0};
    return AddReal(std::move(dequantised));
  }

  ValueId AddReal(Node dequantised) {
    ValueType real = builder_.graph().value(dequantised.inputs[0]).type;
    real.type = DataType::kFloat32;
    dequantised.outputs = {builder_.AddValue("", real)};
    const ValueId made = dequantised.outputs[0];
    builder_.AddNode(std::move(dequantised));
    return made;
  }

  GraphBuilder builder_;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> ExpandQLinear(const Graph& graph, const PassContext&) {
  return QLinearExpander(graph).Run();
}

}  // namespace pt
