// MatMul and Gemm as oneDNN's matmul, with weights packed as it asks for.
#include <algorithm>

#include "lib/backend/onednn/family.h"
#include "lib/backend/onednn/product_rule.h"
#include "partitiontuner/graph/operators/gemm.h"

namespace pt::onednn {
namespace {

// A product over two operands that are seen as matrices or stacks of them.
struct Product {
  Dims a, b, result;                              // dims for oneDNN, equal rank
  bool transpose_a = false, transpose_b = false;  // stored the other way round
};

Dims Swapped(Dims dims) {
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

// Seen as `dims`, of which the last two are stored the other way round when transposed.
Result<Desc> MatrixDesc(const TensorLayout& tensor, const Dims& dims, bool transposed) {
  PT_ASSIGN(Desc desc, ReshapedDesc(WithRank(tensor, dims.size()), transposed ? Swapped(dims) : dims));
  if (!transposed) return WithBatchesOfOneOutermost(desc);
  std::vector<int> axes(dims.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return desc.permute_axes(axes);
}

Desc PlainMatrix(const Dims& dims, bool transposed, DataType type = DataType::kFloat32) {
  if (!transposed) return PlainDesc(dims, type);
  std::vector<int> axes(dims.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return PlainDesc(Swapped(dims), type).permute_axes(axes);
}

struct Side {
  std::optional<uint32_t> input;
  std::optional<Tensor> constant;
  bool integers = false;  // 8-bit ones, stored so and multiplied so
};

Side SideOf(const Request& request, ValueId value) {
  const ValueId input = request.group.input_of(value);
  const bool integers = IsByte(request.graph.value(input).type.type);
  return {InputIndex(request, value), integers ? request.graph.value(input).constant : RealConstant(request, value),
          integers};
}

// Scales and zero points of the integers that are read and written. Weights of uint8 become int8 where their zero point
// is in the middle of the range.
Status AddQuantisations(const Request& request, const Node& node, Side& b, const Dims& b_dims, bool transpose_b,
                        dnnl::primitive_attr& attributes, KernelDescriptor& descriptor) {
  const Quantised *a_read = request.group.read(node.inputs[0]), *b_read = request.group.read(node.inputs[1]);
  if (!a_read->quantisation.is_whole()) return Unsupported("the left side's scale varies along an axis");
  PT_CHECK_OK(AddQuantisation(attributes, descriptor, DNNL_ARG_SRC, a_read->quantisation, 0));
  LinearQuantisation weights = b_read->quantisation;
  if (auto symmetric = SymmetricWeights(request.graph, *b_read)) {
    b.constant = std::move(symmetric);
    std::ranges::fill(weights.zero_points, 0);
    weights.type = DataType::kInt8;
  }
  if (weights.type != DataType::kInt8) return Unsupported("the right side is of uint8");
  int mask = 0;
  if (!weights.is_whole()) {
    const bool columns = b_dims.size() == 2 && weights.axis == (transpose_b ? 0 : 1);
    if (!b.constant || b.constant->rank() != 2 || !columns) return Unsupported("the right side's scales");
    mask = 2;
  }
  PT_CHECK_OK(AddQuantisation(attributes, descriptor, DNNL_ARG_WEIGHTS, weights, mask));
  const auto& writes = request.group.writes;
  if (!writes) return {};
  if (!writes->quantisation.is_whole()) return Unsupported("the result's scale varies along an axis");
  return AddQuantisation(attributes, descriptor, DNNL_ARG_DST, writes->quantisation, 0);
}

bool IsOfIntegers(const Node& node) { return node.op == "MatMulInteger"; }

// An optional input of the node; invalid when it is not given.
ValueId OptionalInput(const Node& node, size_t i) { return i < node.inputs.size() ? node.inputs[i] : ValueId(); }

// Zero points of a MatMulInteger, one for each side: that of the left known in the run, maybe, that of the right now.
// Weights of uint8 become int8 by moving both down by 128.
Status AddZeroPoints(const Request& request, const Node& node, Side& b, dnnl::primitive_attr& attributes,
                     KernelDescriptor& descriptor) {
  const Graph& graph = request.graph;
  const auto numbers = [&](ValueId value) {
    return value.valid() ? graph.value(value).constant->ToInts() : std::vector<int64_t>{0};
  };
  const auto add = [&](int key, int64_t zero) {
    LinearQuantisation shifted{DataType::kInt8, LinearQuantisation::kWholeTensor, {}, {zero}};
    return AddZeroPoint(attributes, descriptor, key, shifted);
  };
  const ValueId a_zero = OptionalInput(node, 2), b_zero = OptionalInput(node, 3);
  if (const auto index = a_zero.valid() ? InputIndex(request, a_zero) : std::nullopt) {
    const DataType type = request.in[*index].type;
    attributes.set_zero_points(DNNL_ARG_SRC, 0, {}, *TypeOf(type));
    descriptor.call.arguments.push_back(
        {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, Argument::Source::kInput, *index, PlainDesc({1}, type)});
  } else {
    PT_CHECK_OK(add(DNNL_ARG_SRC, numbers(a_zero)[0]));
  }
  int64_t zero = numbers(b_zero)[0];
  if (graph.value(node.inputs[1]).type.type == DataType::kUint8) {
    if (!b.constant) return Unsupported("the right side is of uint8 and not constant");
    b.constant = MovedToInt8(*b.constant);
    zero -= 128;
  }
  return add(DNNL_ARG_WEIGHTS, zero);
}

// In which type a side is stored, and in which it is read where it is constant.
DataType StoredType(const Side& side) { return side.integers ? side.constant->type() : DataType::kFloat32; }
DataType PackedType(const Request& request, const Side& side) {
  return side.integers ? StoredType(side) : WeightsType(request);
}

Result<Argument> SideArgument(const Request& request, const Side& side, const Dims& dims, bool transposed, int key,
                              const dnnl::primitive_desc_base* chosen, dnnl::query what, KernelDescriptor& descriptor) {
  if (side.constant) {
    const Desc plain = PlainMatrix(dims, transposed, StoredType(side));
    Desc packed = chosen ? chosen->query_md(what, 0) : PlainMatrix(dims, transposed, PackedType(request, side));
    return ConstantArgument(descriptor, key, *side.constant, plain, std::move(packed));
  }
  if (!side.input) return Unsupported("an operand is not an input of the group");
  PT_ASSIGN(Desc desc, MatrixDesc(request.in[*side.input], dims, transposed));
  return Argument{key, Argument::Source::kInput, *side.input, std::move(desc)};
}

int64_t CountOf(const Dims& dims, size_t first, size_t past) {
  int64_t count = 1;
  for (size_t i = first; i < past; ++i) count *= dims[i];
  return count;
}

// oneDNN 3.7.2 writes behind the result where one matrix meets batches whose last dim is one: it takes the rows of all
// of them for those of one.
bool IsWrittenBeyond(const Product& product) {
  if (product.result.size() < 4) return false;
  const size_t batch = product.result.size() - 2;
  return CountOf(product.b, 0, batch) == 1 && product.a[batch - 1] == 1 && CountOf(product.a, 0, batch) > 1;
}

Result<KernelDescriptor> BuildProduct(const Request& request, const Node& node, const Product& product,
                                      std::span<const Pointwise> ops, const std::optional<Tensor>& bias) {
  if (IsWrittenBeyond(product)) return Unsupported("the last dim of its batches is one");
  KernelDescriptor descriptor;
  const size_t rank = product.result.size();
  PT_ASSIGN(const Desc dst, ReshapedDesc(WithRank(request.out, rank), product.result));
  const Layout layout = request.out.layout.order.size() == rank ? request.out.layout : RowMajor(rank);
  const PostOps post{ops, dst, layout, Followed::kProduct};
  PT_ASSIGN(dnnl::primitive_attr attributes, Attributes(request, post, descriptor));
  Side a = SideOf(request, node.inputs[0]), b = SideOf(request, node.inputs[1]);
  if (a.integers != b.integers) return Unsupported("one side alone is of integers");
  if (a.integers && !HasExactIntegerProducts()) return Unsupported("this processor's products of integers saturate");
  if (IsOfIntegers(node)) {
    PT_CHECK_OK(AddZeroPoints(request, node, b, attributes, descriptor));
  } else if (a.integers) {
    PT_CHECK_OK(AddQuantisations(request, node, b, product.b, product.transpose_b, attributes, descriptor));
  }

  // The left side is rarely constant and then kept as it is: only the right one is worth packing.
  PT_ASSIGN(const Argument source, SideArgument(request, a, product.a, product.transpose_a, DNNL_ARG_SRC, nullptr,
                                                dnnl::query::src_md, descriptor));
  Desc weights = AnyDesc(product.b, b.constant ? PackedType(request, b) : DataType::kFloat32);
  if (request.way == Way::kNarrowWeights) {
    if (!b.constant || b.integers || product.b.size() != 2) return Unsupported("only a constant matrix is packed");
    weights = Desc(product.b, dnnl::memory::data_type::f32, dnnl::memory::format_tag::BA16a16b);
  }
  if (!b.constant) {
    PT_ASSIGN(weights, MatrixDesc(request.in[*b.input], product.b, product.transpose_b));
  }
  if (auto why = WhyNoProduct(source.desc, b.constant ? PlainDesc(product.b) : weights, dst)) return Unsupported(*why);
  Desc bias_desc;
  if (bias) {
    Dims dims(product.result.size(), 1);
    dims.back() = product.result.back();
    bias_desc = PlainDesc(dims);
    descriptor.call.arguments.push_back(ConstantArgument(descriptor, DNNL_ARG_BIAS, *bias, bias_desc, bias_desc));
  }
  const dnnl::matmul::primitive_desc description =
      bias ? dnnl::matmul::primitive_desc(request.engine, source.desc, weights, bias_desc, dst, attributes, true)
           : dnnl::matmul::primitive_desc(request.engine, source.desc, weights, dst, attributes, true);
  PT_CHECK_OK(Complete(descriptor, description));
  PT_ASSIGN(const Argument packed, SideArgument(request, b, product.b, product.transpose_b, DNNL_ARG_WEIGHTS,
                                                &description, dnnl::query::weights_md, descriptor));
  descriptor.call.arguments.push_back(source);
  descriptor.call.arguments.push_back(packed);
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

// numpy's rules, with batches flattened where nothing is lost: a stack times one matrix is one
// matrix product.
Product ProductOf(Dims a, Dims b) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  Product product;
  const size_t batch = rank - 2;
  const int64_t n = b[rank - 1], k = b[rank - 2];
  if (CountOf(b, 0, batch) == 1) {
    const int64_t m = CountOf(a, 0, rank - 1);
    return {{m, k}, {k, n}, {m, n}};
  }
  const Dims a_batch(a.begin(), a.end() - 2), b_batch(b.begin(), b.end() - 2);
  if (a_batch == b_batch) {
    const int64_t count = CountOf(a, 0, batch);
    return {{count, a[rank - 2], k}, {count, k, n}, {count, a[rank - 2], n}};
  }
  product.result = a;
  for (size_t i = 0; i < batch; ++i) product.result[i] = std::max(a[i], b[i]);
  product.result[rank - 1] = n;
  product.a = std::move(a);
  product.b = std::move(b);
  return product;
}

// The same without flattening, for operands that broadcast along the batch.
Product UnflattenedProductOf(const Dims& a, Dims b, const Dims& result) {
  b.insert(b.begin(), result.size() - b.size(), 1);
  return {a, std::move(b), result};
}

// What is added to a product right behind it, as its bias: one constant row. No post-operation, so it goes with any
// layout of the result.
struct Sum {
  std::optional<Tensor> bias;
  std::span<const Pointwise> ops;  // the others
};

Sum WithBias(const FusionGroup& group, const Dims& result) {
  Sum sum{std::nullopt, group.ops};
  if (group.ops.empty() || group.has_integers() || group.ops[0].algorithm != dnnl::algorithm::binary_add) return sum;
  const SecondOperand& operand = group.ops[0].operand;
  const auto is_one = [](int64_t dim) { return dim == 1; };
  if (!operand.constant || operand.dims.empty() || operand.dims.back() != result.back() ||
      !std::all_of(operand.dims.begin(), operand.dims.end() - 1, is_one)) {
    return sum;
  }
  sum.bias = operand.constant;
  sum.ops = sum.ops.subspan(1);
  return sum;
}

// beta·C as the bias where it is one constant row and nothing scales the product; else as an
// addition after it.
struct GemmTail {
  std::optional<Tensor> bias;
  std::vector<Pointwise> ops;
};

std::optional<GemmTail> GemmTailOf(const Graph& graph, const Node& node) {
  GemmTail tail;
  const GemmNode gemm = ReadGemm(node);
  const float alpha = gemm.alpha, beta = gemm.beta;
  const bool has_c = node.inputs.size() > 2 && node.inputs[2].valid() && beta != 0.0F;
  if (alpha != 1.0F) tail.ops.push_back(Eltwise(dnnl::algorithm::eltwise_linear, alpha));
  if (!has_c) return tail;
  const ValueId c = node.inputs[2];
  std::optional<Tensor> constant = graph.value(c).constant;
  if (!constant && beta != 1.0F) return std::nullopt;
  if (constant && beta != 1.0F) {
    std::vector<float> scaled(constant->values<float>().begin(), constant->values<float>().end());
    for (float& element : scaled) element *= beta;
    constant = Tensor::Float32(constant->dims(), scaled);
  }
  const Dims dims = DimsOf(graph, c), y = DimsOf(graph, node.outputs[0]);
  const bool row = !dims.empty() && dims.back() == y[1] && (dims.size() == 1 || dims[0] == 1);
  if (constant && row && alpha == 1.0F) {
    tail.bias = std::move(constant);
    return tail;
  }
  Pointwise add;
  add.kind = Pointwise::Kind::kBinary;
  add.algorithm = dnnl::algorithm::binary_add;
  add.operand = {c, std::move(constant), dims};
  tail.ops.push_back(std::move(add));
  return tail;
}

// One, or a constant whose numbers are all equal, of which the first stands for them.
bool IsOneNumber(const Value& value) {
  if (value.constant) {
    const std::vector<int64_t> numbers = value.constant->ToInts();
    return !numbers.empty() && std::ranges::count(numbers, numbers[0]) == std::ssize(numbers);
  }
  const auto dims = value.type.static_dims();
  return dims && std::ranges::all_of(*dims, [](int64_t d) { return d == 1; });
}

}  // namespace

std::optional<std::string> WhyNotMatMul(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2 || node.outputs.size() != 1) return "it has not two inputs and one output";
  if (auto why = WhyNoFloats(graph, node.inputs)) return why;
  if (auto why = WhyNoFloats(graph, node.outputs)) return why;
  if (graph.value(node.inputs[0]).is_constant() && graph.value(node.inputs[1]).is_constant()) {
    return "both inputs are constant";
  }
  if (DimsOf(graph, node.inputs[0]).empty() || DimsOf(graph, node.inputs[1]).empty()) return "an input is a scalar";
  return std::nullopt;
}

Result<KernelDescriptor> BuildMatMul(const Request& request) {
  const Node& node = request.graph.node(request.group.anchor);
  const Dims a = DimsOf(request.graph, node.inputs[0]), b = DimsOf(request.graph, node.inputs[1]);
  const Dims result = DimsOf(request.graph, node.outputs[0]);
  const Sum sum = b.size() < 2 || a.size() < 2 ? Sum{std::nullopt, request.group.ops} : WithBias(request.group, result);
  Result<KernelDescriptor> flat = BuildProduct(request, node, ProductOf(a, b), sum.ops, sum.bias);
  if (flat.ok() || a.size() != result.size() || a.size() < 3 || b.size() < 2) return flat;
  return BuildProduct(request, node, UnflattenedProductOf(a, b, result), sum.ops, sum.bias);
}

std::optional<std::string> WhyNotMatMulInteger(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1) return "it has too few inputs or too many outputs";
  for (size_t i = 0; i < 2; ++i) {
    const ValueType& type = graph.value(node.inputs[i]).type;
    if (!IsByte(type.type) || !type.is_static() || type.dims.empty() || type.dims.size() > DNNL_MAX_NDIMS ||
        std::ranges::any_of(type.dims, [](const Dim& dim) { return dim.value == 0; })) {
      return "\"" + graph.value(node.inputs[i]).name + "\" is " + ToString(type);
    }
    const ValueId zero = OptionalInput(node, i + 2);
    if (!zero.valid()) continue;
    if (!IsOneNumber(graph.value(zero))) return "its zero points are several";
    if (i == 1 && !graph.value(zero).is_constant()) return "the zero point of its right side is not constant";
  }
  if (graph.value(node.inputs[0]).is_constant()) return "its left side is constant";
  return std::nullopt;
}

std::optional<std::string> WhyNotGemm(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1) return "it has too few inputs or too many outputs";
  if (auto why = WhyNoFloats(graph, node.inputs)) return why;
  if (auto why = WhyNoFloats(graph, node.outputs)) return why;
  if (DimsOf(graph, node.inputs[0]).size() != 2 || DimsOf(graph, node.inputs[1]).size() != 2) {
    return "its inputs are not matrices";
  }
  if (graph.value(node.inputs[0]).is_constant() && graph.value(node.inputs[1]).is_constant()) {
    return "both matrices are constant";
  }
  if (!GemmTailOf(graph, node)) return "beta scales an input that is not constant";
  return std::nullopt;
}

Result<KernelDescriptor> BuildGemm(const Request& request) {
  const Graph& graph = request.graph;
  const Node& node = graph.node(request.group.anchor);
  Product product{DimsOf(graph, node.inputs[0]), DimsOf(graph, node.inputs[1]), DimsOf(graph, node.outputs[0])};
  const GemmNode gemm = ReadGemm(node);
  product.transpose_a = gemm.transpose_a;
  product.transpose_b = gemm.transpose_b;
  if (product.transpose_a) product.a = Swapped(product.a);
  if (product.transpose_b) product.b = Swapped(product.b);
  auto tail = GemmTailOf(graph, node);
  if (!tail) return Unsupported("beta scales an input that is not constant");
  std::vector<Pointwise> ops = std::move(tail->ops);
  for (const Pointwise& op : request.group.ops) Append(ops, op);
  return BuildProduct(request, node, product, ops, tail->bias);
}

}  // namespace pt::onednn
