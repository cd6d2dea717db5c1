#include "lib/onnx/tensor_to_proto.h"

namespace pt {

bool IsSmall(const Tensor& tensor) {
  return tensor.type() == DataType::kString ? tensor.element_count() <= 64 : tensor.bytes().size() <= kSmallTensorBytes;
}

void DescribeTensor(const Tensor& tensor, ONNX_NAMESPACE::TensorProto& to) {
  to.set_data_type(static_cast<int32_t>(tensor.type()));
  to.mutable_dims()->Assign(tensor.dims().begin(), tensor.dims().end());
}

void DescribeAsEmpty(ONNX_NAMESPACE::TensorProto& to) {
  to.clear_dims();
  to.add_dims(0);
}

void TensorToProto(const Tensor& tensor, ONNX_NAMESPACE::TensorProto& to) {
  DescribeTensor(tensor, to);
  if (tensor.type() == DataType::kString) {
    for (const std::string& text : tensor.strings()) to.add_string_data(text);
  } else if (!tensor.bytes().empty()) {
    to.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
  }
}

}  // namespace pt
