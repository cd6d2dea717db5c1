// Groups without anchor that read or write integers: conversions, and elementwise operations between them.
#include <algorithm>

#include "lib/backend/onednn/family.h"

namespace pt::onednn {
namespace {

using Ops = std::vector<Pointwise>;

Pointwise Addition(float number) {
  Pointwise op;
  op.kind = Pointwise::Kind::kBinary;
  op.algorithm = dnnl::algorithm::binary_add;
  op.operand = {ValueId(), Tensor::Float32({1}, {number}), {1}};
  return op;
}

// A conversion that changes the layout as well, or gives real numbers.
Result<KernelDescriptor> BuildReorder(const Request& request) {
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[0]));
  PT_ASSIGN(const Desc dst, DescOf(request.out));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto add = [&](int key, const LinearQuantisation& quantisation) {
    const int mask = quantisation.is_whole() ? 0 : 1 << quantisation.axis;
    return AddQuantisation(attributes, descriptor, key, quantisation, mask);
  };
  for (const Quantised& read : request.group.reads) PT_CHECK_OK(add(DNNL_ARG_FROM, read.quantisation));
  if (request.group.writes) PT_CHECK_OK(add(DNNL_ARG_TO, request.group.writes->quantisation));
  PT_CHECK_OK(
      Complete(descriptor, dnnl::reorder::primitive_desc(request.engine, src, request.engine, dst, attributes, true)));
  descriptor.call.arguments.push_back({DNNL_ARG_FROM, Argument::Source::kInput, 0, src});
  descriptor.call.arguments.push_back({DNNL_ARG_TO, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

// Some block of channels holds more than there are.
bool HasPaddedBlocks(const TensorLayout& tensor) {
  return std::ranges::any_of(tensor.layout.blocks,
                             [&](const Layout::Block& block) { return tensor.dims[block.dim] % block.size != 0; });
}

// The operations as one binary primitive with the others as post-operations: oneDNN's eltwise knows no integers.
Result<KernelDescriptor> BuildBinary(const Request& request, uint32_t main, Ops ops) {
  // oneDNN 3.7.2 crashes behind the last channel where a post-operation follows.
  if (HasPaddedBlocks(request.out)) return Unsupported("integers do not fill the blocks of channels");
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[main]));
  PT_ASSIGN(const Desc dst, DescOf(request.out));
  const Pointwise first = ops.front();
  ops.erase(ops.begin());
  const PostOps post{ops, dst, request.out.layout, Followed::kBinary};
  PT_ASSIGN(dnnl::primitive_attr attributes, Attributes(request, post, descriptor));
  PT_ASSIGN(const Argument operand, OperandArgument(request, post, first.operand, DNNL_ARG_SRC_1, descriptor));
  descriptor.call.arguments.push_back({DNNL_ARG_SRC_0, Argument::Source::kInput, main, src});
  descriptor.call.arguments.push_back(operand);
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  const Quantised* left = request.group.read(request.group.main);
  const Quantised* right = first.operand.value.valid() ? request.group.read(first.operand.value) : nullptr;
  if (left && right) {
    for (const auto& [key, read] : {std::pair(DNNL_ARG_SRC_0, left), std::pair(DNNL_ARG_SRC_1, right)}) {
      LinearQuantisation scaled = read->quantisation;
      scaled.zero_points = {0};
      PT_CHECK_OK(AddQuantisation(attributes, descriptor, key, scaled, 0));
    }
  }
  PT_CHECK_OK(Complete(descriptor, dnnl::binary::primitive_desc(request.engine, first.algorithm, src, operand.desc, dst,
                                                                attributes, true)));
  return descriptor;
}

// A sum or difference of two integers takes both scales at once; the zero points follow. Else the main input becomes a
// real number first.
void BeginWithIntegers(const FusionGroup& group, const Quantised& main, Ops& ops) {
  const Quantised* other = nullptr;
  if (!group.ops.empty() && group.ops[0].operand.value.valid()) other = group.read(group.ops[0].operand.value);
  const bool add = other && group.ops[0].algorithm == dnnl::algorithm::binary_add;
  const bool sub = other && group.ops[0].algorithm == dnnl::algorithm::binary_sub;
  const auto shift = [](const Quantised& read) {
    return static_cast<float>(read.quantisation.zero_points[0]) * read.quantisation.scales[0];
  };
  if (!add && !sub) {
    ops.push_back(Addition(-static_cast<float>(main.quantisation.zero_points[0])));
    ops.push_back(Eltwise(dnnl::algorithm::eltwise_linear, main.quantisation.scales[0], -0.0F));
    ops.insert(ops.end(), group.ops.begin(), group.ops.end());
    return;
  }
  ops.push_back(group.ops[0]);
  Append(ops, Eltwise(dnnl::algorithm::eltwise_linear, 1.0F, -shift(main) + (add ? -shift(*other) : shift(*other))));
  ops.insert(ops.end(), group.ops.begin() + 1, group.ops.end());
}

}  // namespace

Result<KernelDescriptor> BuildOnIntegers(const Request& request) {
  const FusionGroup& group = request.group;
  const auto main = InputIndex(request, group.main);
  if (!main) return Unsupported("the group's main input is missing");
  const Quantised* read = group.read(group.main);
  const bool same_layout = request.in[*main].layout == request.out.layout;
  const bool whole =
      (!read || read->quantisation.is_whole()) && (!group.writes || group.writes->quantisation.is_whole());
  if (group.is_conversion() && (!group.writes || !same_layout || !whole)) return BuildReorder(request);
  if (!same_layout || !whole) return Unsupported("layouts differ, or scales vary along an axis");
  if (read && !group.writes) return Unsupported("integers become real numbers on the way");
  Ops ops;
  if (read) {
    BeginWithIntegers(group, *read, ops);
  } else {
    ops = group.ops;
  }
  if (group.writes) {
    const bool exact = !read || group.ops.empty();
    const Ops last = exact ? FromRealExactly(*group.writes) : Ops{FromReal(*group.writes)};
    ops.insert(ops.end(), last.begin(), last.end());
  }
  // The first operation is the primitive itself, which takes integers on both sides or on none.
  const ValueId other = ops.front().operand.value;
  const bool integers_with_real = !read && other.valid() && group.read(other) != nullptr;
  if (ops.front().kind != Pointwise::Kind::kBinary || integers_with_real) ops.insert(ops.begin(), Addition(-0.0F));
  PT_ASSIGN(KernelDescriptor descriptor, BuildBinary(request, *main, std::move(ops)));
  for (uint32_t i = 0; i < request.in.size(); ++i) {
    if (request.in[i] == request.out) descriptor.in_place.push_back(i);
  }
  return descriptor;
}

}  // namespace pt::onednn
