#include "partitiontuner/onnx/tensor_proto.h"

#include "lib/onnx/tensor_from_proto.h"
#include "partitiontuner/support/file.h"

namespace pt {

Result<Tensor> LoadTensorProto(const std::string& path, const Limits& limits) {
  PT_ASSIGN(const std::string bytes, ReadFile(path, limits.file_bytes));
  ONNX_NAMESPACE::TensorProto proto;
  Result<Tensor> tensor = proto.ParseFromString(bytes)
                              ? TensorFromProto(proto, "tensor", limits)
                              : MakeError(ErrorCode::kInvalidInput, "onnx.tensor_file", "not a TensorProto");
  if (!tensor.ok()) tensor.error().file = path;
  return tensor;
}

}  // namespace pt
