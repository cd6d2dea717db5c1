#include "plugins/cuda/integer_product.h"

#include <algorithm>

#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/axis.h"
#include "plugins/cuda/expression.h"

namespace pt::cuda {
namespace {

bool IsOneOf(const Node& node, std::initializer_list<std::string_view> ops) {
  return node.domain.empty() && std::ranges::find(ops, node.op) != ops.end();
}

bool IsOfIntegers(const Node& node) {
  return IsOneOf(node, {"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"});
}
bool IsOfReals(const Node& node) { return IsOneOf(node, {"Conv", "ConvTranspose", "MatMul", "Gemm"}); }

bool IsIn(std::span<const NodeId> nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

// An operand of an operator on integers. axis: counted from the end where it is negative.
Factor AsIntegers(const CudaSite& site, const Node& node, size_t integers, std::optional<size_t> scale, size_t zero,
                  int64_t axis) {
  Factor factor{site.InputOf(node, integers), scale ? site.InputOf(node, *scale) : nullptr, site.InputOf(node, zero)};
  const auto rank = factor.integers == nullptr ? 0 : static_cast<int64_t>(factor.integers->dims().size());
  factor.axis = axis < 0 ? axis + rank : axis;
  return factor;
}

Status CheckFactor(const CudaSite& site, const Factor& factor) {
  if (factor.integers == nullptr) return site.Unsupported("an input is missing");
  const DataType type = factor.integers->type();
  if (!IsByte(type)) return site.Unsupported("it multiplies no integers of 8 bits");
  if (factor.zero != nullptr && factor.zero->type() != type) {
    return site.Unsupported("a zero point is of another type than its integers");
  }
  return {};
}

Result<QuantizedProduct> ReadReal(const CudaSite& site, const Node& node) {
  QuantizedProduct product;
  product.node = &node;
  PT_ASSIGN(product.a, DequantisedFactor(site, site.graph.node(DequantisationOf(site.graph, node, 0))));
  PT_ASSIGN(product.b, DequantisedFactor(site, site.graph.node(DequantisationOf(site.graph, node, 1))));
  product.bias = site.InputOf(node, 2);
  if (node.inputs.size() > 2 && node.inputs[2].valid() && (product.bias == nullptr || !IsReal(product.bias->type()))) {
    return site.Unsupported("its bias is made within the group, or is not of real numbers");
  }
  return product;
}

Result<QuantizedProduct> ReadIntegers(const CudaSite& site, const Node& node) {
  QuantizedProduct product;
  product.node = &node;
  const bool requantised = node.op.starts_with("QLinear"),
             window = node.op.ends_with("Conv") || node.op == "ConvInteger";
  const int64_t a_axis = window ? 1 : -2, b_axis = window ? 0 : -1;
  if (!requantised) {
    product.a = AsIntegers(site, node, 0, std::nullopt, 2, a_axis);
    product.b = AsIntegers(site, node, 1, std::nullopt, 3, b_axis);
    return product;
  }
  product.a = AsIntegers(site, node, 0, 1, 2, a_axis);
  product.b = AsIntegers(site, node, 3, 4, 5, b_axis);
  product.y_scale = site.InputOf(node, 6);
  product.y_zero = site.InputOf(node, 7);
  product.bias = site.InputOf(node, 8);
  if (product.a.scale == nullptr || product.b.scale == nullptr || product.y_scale == nullptr ||
      product.y_zero == nullptr) {
    return site.Unsupported("an input is missing");
  }
  for (const CudaOperand* const scale : {product.a.scale, product.b.scale, product.y_scale}) {
    if (scale->type() != DataType::kFloat32) return site.Unsupported("a scale is not of float32");
  }
  if (!IsByte(product.y_zero->type()) || product.y_zero->elements() != 1 || product.y_scale->elements() != 1) {
    return site.Unsupported("its result has not one scale and zero point of 8 bits");
  }
  if (product.bias != nullptr && product.bias->type() != DataType::kInt32) {
    return site.Unsupported("its bias is not of int32");
  }
  return product;
}

// A number of the site: written down where it is known and alone.
std::string NumberText(const CudaSite& site, const CudaOperand& operand, const std::string& index) {
  if (operand.elements() != 1)
    return site.NameOf(operand) + "[(" + index + ") * " + std::to_string(operand.strides()[0]) + "]";
  const std::string literal = operand.constant == nullptr ? "" : LiteralOf(operand.type(), *operand.constant);
  return literal.empty() ? site.NameOf(operand) + "[0]" : literal;
}

// Of the result by a scale of its own, in float64 as the reference library has it.
std::string RequantisedText(const CudaSite& site, const QuantizedProduct& product,
                            const std::array<std::string, 2>& scales, const std::string& bias) {
  const DataType to = product.y_zero->type();
  const IntegerRange range = RangeOf(to).value();
  const std::string sum = bias.empty() ? "(double)total" : "(double)((long long)total + " + bias + ")";
  return "(" + std::string(CTypeOf(to)) + ")pt_steps(" + sum + " * ((double)" + scales[0] + " * (double)" + scales[1] +
         " / (double)" + NumberText(site, *product.y_scale, "0") + "), (int)" + NumberText(site, *product.y_zero, "0") +
         ", " + std::to_string(static_cast<int>(range.low)) + ", " + std::to_string(static_cast<int>(range.high)) + ")";
}

}  // namespace

NodeId DequantisationOf(const Graph& graph, const Node& node, size_t i) {
  if (i >= node.inputs.size() || !node.inputs[i].valid()) return NodeId();
  const NodeId producer = graph.value(node.inputs[i]).producer;
  if (!producer.valid() || !IsDequantisation(graph.node(producer))) return NodeId();
  const Node& made_by = graph.node(producer);
  const bool bytes =
      !made_by.inputs.empty() && made_by.inputs[0].valid() && IsByte(graph.value(made_by.inputs[0]).type.type);
  return bytes ? producer : NodeId();
}

Result<Factor> DequantisedFactor(const CudaSite& site, const Node& node) {
  Factor factor{site.InputOf(node, 0), site.InputOf(node, 1), site.InputOf(node, 2)};
  if (factor.integers == nullptr || factor.scale == nullptr) return site.Unsupported("an input is missing");
  if (!IsReal(factor.scale->type())) return site.Unsupported("a scale is not of float32, float16 or bfloat16");
  const Result<size_t> axis = ReadAxis(node, site.graph.opset(), factor.integers->dims().size());
  factor.axis = static_cast<int64_t>(axis.ok() ? *axis : factor.integers->dims().size());  // else of no dim
  return factor;
}

NodeId FindIntegerProduct(const Graph& graph, std::span<const NodeId> nodes) {
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (IsOfIntegers(node)) return id;
    if (!IsOfReals(node)) continue;
    const NodeId a = DequantisationOf(graph, node, 0), b = DequantisationOf(graph, node, 1);
    if (a.valid() && b.valid() && IsIn(nodes, a) && IsIn(nodes, b)) return id;
  }
  return NodeId();
}

std::vector<NodeId> IntegerProductNodes(const Graph& graph, NodeId product) {
  const Node& node = graph.node(product);
  if (IsOfIntegers(node)) return {product};
  if (!IsOfReals(node)) return {};
  const NodeId a = DequantisationOf(graph, node, 0), b = DequantisationOf(graph, node, 1);
  if (!a.valid() || !b.valid() || a == b) return {};
  for (const NodeId made_by : {a, b}) {
    const Value& real = graph.value(graph.node(made_by).outputs[0]);
    if (real.is_graph_output || real.uses.size() != 1) return {};
  }
  std::vector<NodeId> nodes = {a, b, product};
  std::ranges::sort(nodes);
  return nodes;
}

Result<QuantizedProduct> ReadIntegerProduct(const CudaSite& site) {
  const NodeId id = FindIntegerProduct(site.graph, site.nodes);
  if (!id.valid()) return site.Unsupported("it has no product of integers");
  const Node& node = site.graph.node(id);
  const bool reals = IsOfReals(node);
  PT_ASSIGN(QuantizedProduct product, reals ? ReadReal(site, node) : ReadIntegers(site, node));
  PT_CHECK_OK(CheckFactor(site, product.a));
  PT_CHECK_OK(CheckFactor(site, product.b));
  const auto y_dims = site.graph.value(node.outputs[0]).type.static_dims();
  if (!y_dims || site.out.size() != 1 || site.out[0].dims() != *y_dims) {
    return site.Unsupported("what follows has other dims");
  }
  product.y_dims = *y_dims;
  for (const NodeId other : site.nodes) {
    const bool read =
        reals && (other == DequantisationOf(site.graph, node, 0) || other == DequantisationOf(site.graph, node, 1));
    if (other != id && !read) product.behind.push_back(other);
  }
  return product;
}

Result<std::string> ParameterText(const CudaSite& site, const Factor& factor, const CudaOperand& parameter,
                                  int64_t axis, const std::string& index) {
  if (parameter.elements() == 1) return NumberText(site, parameter, index);
  const bool fits = parameter.dims().size() == 1 && factor.axis == axis &&
                    parameter.dims()[0] == factor.integers->dims()[static_cast<size_t>(axis)];
  if (!fits) return site.Unsupported("scales or zero points vary along another axis");
  return NumberText(site, parameter, index);
}

Result<std::string> ZeroText(const CudaSite& site, const Factor& factor, int64_t axis, const std::string& index) {
  const int64_t middle = factor.integers->type() == DataType::kUint8 ? 128 : 0;
  if (factor.zero == nullptr) return middle == 0 ? std::string() : std::to_string(-middle);
  if (factor.zero->constant != nullptr) {
    const std::vector<int64_t> zeros = factor.zero->constant->ToInts();
    const auto same = [&](int64_t zero) { return zero == zeros[0]; };
    if (!zeros.empty() && std::ranges::all_of(zeros, same)) {
      return zeros[0] == middle ? std::string() : std::to_string(zeros[0] - middle);
    }
  }
  PT_ASSIGN(const std::string zero, ParameterText(site, factor, *factor.zero, axis, index));
  return "(int)" + zero + " - " + std::to_string(middle);
}

std::string MovedText(const std::string& element, DataType type, const std::string& zero) {
  return "((int)" + element + (type == DataType::kUint8 ? " - 128" : "") + (zero.empty() ? "" : " - (" + zero + ")") +
         ")";
}

Result<std::string> WrittenText(const CudaSite& site, const QuantizedProduct& product,
                                const std::array<std::string, 2>& scales, const std::string& bias,
                                const std::string& alpha) {
  std::string made = "total";
  if (product.is_real()) {
    made = "(float)total * ((float)" + scales[0] + " * (float)" + scales[1] + ")";
    if (!alpha.empty()) made = alpha + " * (" + made + ")";
    if (!bias.empty()) made += " + " + bias;
  } else if (product.y_scale != nullptr) {
    made = RequantisedText(site, product, scales, bias);
  }
  return BehindText(site, product.behind, product.y_dims, {product.node->outputs[0], made});
}

}  // namespace pt::cuda
