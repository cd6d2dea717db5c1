#include "partitiontuner/onnx/tensor_proto.h"

#include "lib/onnx/fence.h"
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

Result<std::string> TensorProtoBytes(const Tensor& tensor) {
  std::string bytes;
  bool fits = true;
  PT_CHECK_OK(Fenced(ErrorCode::kInternal, "onnx.tensor_file", "writing a TensorProto", [&] {
    proto::TensorProto message;
    message.set_data_type(static_cast<int32_t>(tensor.type()));
    for (const int64_t dim : tensor.dims()) message.add_dims(dim);
    if (tensor.type() == DataType::kString) {
      for (const std::string& text : tensor.strings()) message.add_string_data(text);
    } else {
      message.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
    }
    fits = message.SerializeToString(&bytes);
  }));
  if (fits) return bytes;
  return MakeError(ErrorCode::kUnsupported, "onnx.tensor_file", "a TensorProto holds less than 2^31 bytes");
}

}  // namespace pt
