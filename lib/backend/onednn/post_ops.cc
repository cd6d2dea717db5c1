#include <algorithm>
#include <limits>

#include "lib/backend/onednn/family.h"

namespace pt::onednn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kMost = std::numeric_limits<float>::max();

// The operand's dims as the primitive sees them: aligned to the result's rank, then flattened along
// with it.
std::optional<Dims> OperandDims(const Dims& own, const Dims& result, const Dims& primitive) {
  if (own.size() > result.size()) return std::nullopt;
  Dims aligned(result.size() - own.size(), 1);
  aligned.insert(aligned.end(), own.begin(), own.end());
  if (result == primitive) return aligned;
  if (aligned == result) return primitive;
  Dims flat(primitive.size(), 1);
  for (size_t i = 0; i + 1 < aligned.size(); ++i) {
    if (aligned[i] != 1) return std::nullopt;
  }
  if (!aligned.empty() && aligned.back() != 1) {
    if (primitive.empty() || primitive.back() != aligned.back()) return std::nullopt;
    flat.back() = aligned.back();
  }
  return flat;
}

// Constants take the layout of the result where they can, so that no implementation falls back for
// it.
Result<Desc> ConstantDesc(const Dims& dims, const Dims& result, const Layout& layout) {
  if (layout.order.size() != dims.size()) return PlainDesc(dims);
  for (const Layout::Block& block : layout.blocks) {
    if (dims[block.dim] != result[block.dim]) return PlainDesc(dims);
  }
  PT_ASSIGN(const TensorLayout tensor, DenseLayout(DataType::kFloat32, {dims.begin(), dims.end()}, layout));
  return DescOf(tensor);
}

// The input whose buffer a sum post-operation may use up: full size, and read by nothing else in
// the group.
bool CanAccumulate(const Request& request, const PostOps& post, const Pointwise& op) {
  if (op.kind != Pointwise::Kind::kBinary || op.algorithm != dnnl::algorithm::binary_add || op.operand.constant) {
    return false;
  }
  const auto index = InputIndex(request, op.operand.value);
  if (!index) return false;
  // By descriptor: strides along dims of extent 1 differ between a tensor and a slice without
  // meaning anything.
  const auto operand = DescOf(request.in[*index]), result = DescOf(request.out);
  if (!operand.ok() || !result.ok() || *operand != *result) return false;
  // Two DequantizeLinear of the same integers read one buffer.
  const ValueId used_up = request.group.input_of(op.operand.value);
  const auto reads_it = [&](ValueId value) { return value.valid() && request.group.input_of(value) == used_up; };
  if (std::ranges::any_of(request.graph.node(request.group.anchor).inputs, reads_it)) return false;
  return std::ranges::count_if(post.ops, [&](const Pointwise& other) { return reads_it(other.operand.value); }) == 1;
}

int PreluMask(const Dims& dims) {
  int mask = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != 1) mask |= 1 << d;
  }
  return mask;
}

}  // namespace

Argument ConstantArgument(KernelDescriptor& descriptor, int key, Tensor tensor, Desc plain, Desc packed) {
  descriptor.constants.push_back({std::move(tensor), std::move(plain), packed});
  return {key, Argument::Source::kConstant, static_cast<uint32_t>(descriptor.constants.size() - 1), std::move(packed)};
}

Result<Argument> OperandArgument(const Request& request, const PostOps& post, const SecondOperand& operand, int key,
                                 KernelDescriptor& descriptor) {
  const Dims result = DimsOf(request.graph, request.group.result);
  const auto dims = OperandDims(operand.dims, result, post.result.get_dims());
  if (!dims) return Unsupported("an operand does not broadcast along the flattened dims");
  if (operand.constant) {
    PT_ASSIGN(Desc packed, ConstantDesc(*dims, post.result.get_dims(), post.layout));
    return ConstantArgument(descriptor, key, *operand.constant, PlainDesc(*dims), std::move(packed));
  }
  const auto index = InputIndex(request, operand.value);
  if (!index) return Unsupported("an operand is not an input of the group");
  PT_ASSIGN(Desc desc, ReshapedDesc(WithRank(request.in[*index], dims->size()), *dims));
  return Argument{key, Argument::Source::kInput, *index, std::move(desc)};
}

Result<dnnl::primitive_attr> Attributes(const Request& request, const PostOps& post, KernelDescriptor& descriptor) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  bool summed = request.way != Way::kSum;
  dnnl::post_ops list;
  std::vector<Pointwise> ops;
  for (const Pointwise& op : post.ops) {
    const Quantised* read = op.operand.value.valid() ? request.group.read(op.operand.value) : nullptr;
    const bool accumulated = !summed && CanAccumulate(request, post, op);
    if (read == nullptr || accumulated) {
      ops.push_back(op);
    } else {
      for (Pointwise& part : OnIntegers(op, *read)) ops.push_back(std::move(part));
    }
  }
  for (const Pointwise& op : ops) {
    if (op.kind == Pointwise::Kind::kEltwise) {
      // Of the largest number it makes +infinity, and of NaN, which is -infinity then, NaN.
      if (MistakesInfinity(op)) list.append_eltwise(dnnl::algorithm::eltwise_clip, -kInfinity, kMost);
      list.append_eltwise(op.algorithm, op.alpha, op.beta);
      continue;
    }
    if (!summed && CanAccumulate(request, post, op)) {
      const Quantised* read = request.group.read(op.operand.value);
      list.append_sum(read ? read->quantisation.scales[0] : 1.0F,
                      read ? static_cast<int32_t>(read->quantisation.zero_points[0]) : 0);
      descriptor.accumulates_into = static_cast<int32_t>(*InputIndex(request, op.operand.value));
      summed = true;
      continue;
    }
    const bool prelu = op.kind == Pointwise::Kind::kPrelu;
    const int key = DNNL_ARG_ATTR_MULTIPLE_POST_OP(list.len()) | (prelu ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC_1);
    PT_ASSIGN(Argument argument, OperandArgument(request, post, op.operand, key, descriptor));
    if (prelu && argument.source == Argument::Source::kConstant) {
      argument.desc = descriptor.constants[argument.index].packed = PlainDesc(argument.desc.get_dims());
    }
    if (const auto why = WhyNoOperand(post.followed, post.result, argument.desc, prelu)) return Unsupported(*why);
    if (prelu) {
      list.append_prelu(PreluMask(argument.desc.get_dims()));
    } else {
      list.append_binary(op.algorithm, argument.desc);
    }
    descriptor.call.arguments.push_back(std::move(argument));
  }
  if (!summed) return Unsupported("nothing in this group can be accumulated into");
  attributes.set_post_ops(list);
  return attributes;
}

Status Complete(KernelDescriptor& descriptor, dnnl::primitive_desc_base description) {
  return Complete(descriptor.call, std::move(description));
}

Status Complete(Call& call, dnnl::primitive_desc_base description) {
  if (!description) return Unsupported("oneDNN has no implementation for these shapes and layouts");
  const Desc scratch = description.query_md(dnnl::query::scratchpad_md, 0);
  if (scratch.get_size() > 0) {
    call.arguments.push_back({DNNL_ARG_SCRATCHPAD, Argument::Source::kScratch, 0, scratch});
  }
  call.description = std::move(description);
  return {};
}

}  // namespace pt::onednn
