// Groups without anchor: one eltwise, binary or prelu primitive, with what follows as its
// post-operations.
#include "lib/backend/onednn/family.h"
#include "lib/backend/onednn/operand_rule.h"

namespace pt::onednn {
namespace {

Argument SourceArgument(uint32_t index, const Desc& desc, int key) {
  return {key, Argument::Source::kInput, index, desc};
}

Result<KernelDescriptor> BuildEltwise(const Request& request, const PostOps& post, uint32_t main, const Desc& src,
                                      const Desc& dst) {
  KernelDescriptor descriptor;
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, {{}, post.result, post.layout}, descriptor));
  const Pointwise& op = post.ops[0];
  descriptor.call.arguments.push_back(SourceArgument(main, src, DNNL_ARG_SRC));
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  PT_CHECK_OK(Complete(descriptor, dnnl::eltwise_forward::primitive_desc(request.engine, kInference, op.algorithm, src,
                                                                         dst, op.alpha, op.beta, attributes, true)));
  return descriptor;
}

Result<KernelDescriptor> BuildPrelu(const Request& request, const PostOps& post, uint32_t main, const Desc& src,
                                    const Desc& dst) {
  KernelDescriptor descriptor;
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, {{}, post.result, post.layout}, descriptor));
  PT_ASSIGN(const Argument slope, OperandArgument(request, post, post.ops[0].operand, DNNL_ARG_WEIGHTS, descriptor));
  if (const auto why = WhyNoSlopes(dst, slope.desc)) return Unsupported(*why);
  descriptor.call.arguments.push_back(SourceArgument(main, src, DNNL_ARG_SRC));
  descriptor.call.arguments.push_back(slope);
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  PT_CHECK_OK(Complete(descriptor, dnnl::prelu_forward::primitive_desc(request.engine, kInference, src, slope.desc, dst,
                                                                       attributes, true)));
  return descriptor;
}

// The first operation is binary; one that is not is preceded by x + 0, since only the binary
// primitive takes any list of post-operations.
Result<KernelDescriptor> BuildBinary(const Request& request, PostOps post, uint32_t main, const Desc& src,
                                     const Desc& dst) {
  KernelDescriptor descriptor;
  Pointwise first;
  first.algorithm = dnnl::algorithm::binary_add;
  first.operand = {ValueId(), Tensor::Float32({1}, {0.0F}), {1}};
  if (post.ops[0].kind == Pointwise::Kind::kBinary) {
    first = post.ops[0];
    post.ops = post.ops.subspan(1);
  }
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, post, descriptor));
  PT_ASSIGN(const Argument operand, OperandArgument(request, post, first.operand, DNNL_ARG_SRC_1, descriptor));
  descriptor.call.arguments.push_back(SourceArgument(main, src, DNNL_ARG_SRC_0));
  descriptor.call.arguments.push_back(operand);
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  PT_CHECK_OK(Complete(descriptor, dnnl::binary::primitive_desc(request.engine, first.algorithm, src, operand.desc, dst,
                                                                attributes, true)));
  return descriptor;
}

}  // namespace

Result<KernelDescriptor> BuildElementwise(const Request& request) {
  const FusionGroup& group = request.group;
  const auto main = InputIndex(request, group.main);
  if (!main) return Unsupported("the group's main input is missing");
  if (group.ops.empty()) return Unsupported("the group's operations cancel out");
  if (request.in[*main].layout != request.out.layout) return Unsupported("layouts differ");
  PT_ASSIGN(const Desc src, DescOf(request.in[*main]));
  PT_ASSIGN(const Desc dst, DescOf(request.out));
  const PostOps post{group.ops, dst, request.out.layout, Followed::kBinary};

  const bool single = group.ops.size() == 1 && !MistakesInfinity(group.ops[0]);
  auto build = [&]() -> Result<KernelDescriptor> {
    if (single && group.ops[0].kind == Pointwise::Kind::kEltwise) return BuildEltwise(request, post, *main, src, dst);
    if (single && group.ops[0].kind == Pointwise::Kind::kPrelu) return BuildPrelu(request, post, *main, src, dst);
    return BuildBinary(request, post, *main, src, dst);
  };
  PT_ASSIGN(KernelDescriptor descriptor, build());
  // Elements are read before they are written at the same place, operands of full size included. But of prelu's: where
  // there are as many slopes as elements, two threads compute some of them, the second from what the first made.
  const bool prelu = single && group.ops[0].kind == Pointwise::Kind::kPrelu;
  for (uint32_t i = 0; i < request.in.size(); ++i) {
    if (!prelu && request.in[i] == request.out) descriptor.in_place.push_back(i);
  }
  return descriptor;
}

}  // namespace pt::onednn
