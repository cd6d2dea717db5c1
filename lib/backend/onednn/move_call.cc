#include "lib/backend/onednn/family.h"

namespace pt::onednn {
namespace {

bool IsDense(const Desc& desc) {
  size_t elements = 1;
  for (int64_t dim : desc.get_padded_dims()) elements *= static_cast<size_t>(dim);
  return desc.get_size() == elements * dnnl::memory::data_type_size(desc.get_data_type());
}

}  // namespace

// Between tensors of equal strides oneDNN 3.7.2 moves as many elements in a row as there are, strides or not, unless it
// multiplies them with something. A one changes none of them.
Result<Call> MoveCall(const dnnl::engine& engine, Argument from, Argument to, KernelDescriptor& descriptor) {
  Call call;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (from.desc == to.desc && !IsDense(from.desc)) {
    if (from.desc.get_data_type() == dnnl::memory::data_type::s32) return Unsupported("it moves strided integers");
    attributes.set_scales_mask(DNNL_ARG_FROM, 0);
    const Desc one = PlainDesc({1});
    call.arguments.push_back(
        ConstantArgument(descriptor, DNNL_ARG_ATTR_SCALES | DNNL_ARG_FROM, Tensor::Float32({1}, {1.0F}), one, one));
  }
  PT_CHECK_OK(Complete(call, dnnl::reorder::primitive_desc(engine, from.desc, engine, to.desc, attributes, true)));
  from.key = DNNL_ARG_FROM;
  to.key = DNNL_ARG_TO;
  call.arguments.push_back(std::move(from));
  call.arguments.push_back(std::move(to));
  return call;
}

}  // namespace pt::onednn
