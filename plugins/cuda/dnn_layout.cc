#include "plugins/cuda/dnn_layout.h"

namespace pt::cuda {

void DropIdleStrides(DnnTensor& tensor, bool channels_last) {
  int64_t next = 1;
  const auto visit = [&](size_t d) {
    if (tensor.dims[d] == 1) tensor.strides[d] = next;
    next = tensor.strides[d] * tensor.dims[d];
  };
  const size_t rank = tensor.dims.size();
  if (channels_last) visit(1);
  for (size_t d = rank; d-- > 2;) visit(d);
  if (!channels_last) visit(1);
  visit(0);
}

DnnTensor DnnImage(const TensorLayout& layout) {
  DnnTensor tensor{layout.type, layout.dims, layout.strides};
  if (tensor.dims.size() == 3) {
    tensor.strides.insert(tensor.strides.begin() + 2, tensor.dims[2] * tensor.strides[2]);
    tensor.dims.insert(tensor.dims.begin() + 2, 1);
  }
  return tensor;
}

bool IsChannelsLast(const TensorLayout& layout) {
  return layout.dims.size() > 2 && layout.layout == ChannelsLast(layout.dims.size());
}

std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  strides[1] = 1;
  int64_t next = dims[1];
  for (size_t d = dims.size(); d-- > 2;) {
    strides[d] = next;
    next *= dims[d];
  }
  strides[0] = next;
  return strides;
}

}  // namespace pt::cuda
