#include "partitiontuner/onnx/tensor_proto.h"

#include "lib/onnx/fence.h"
#include "lib/onnx/tensor_from_proto.h"
#include "lib/onnx/tensor_to_proto.h"
#include "partitiontuner/support/file.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/onnx-data.pb.h>
#pragma GCC diagnostic pop

namespace pt {
namespace {

using ONNX_NAMESPACE::OptionalProto;
using ONNX_NAMESPACE::SequenceProto;
using ONNX_NAMESPACE::TensorProto;

template <typename Proto>
Result<Proto> Parse(const std::string& bytes, const char* name) {
  Proto proto;
  if (proto.ParseFromString(bytes)) return proto;
  return MakeError(ErrorCode::kInvalidInput, "onnx.tensor_file", std::string("not a ") + name);
}

Result<Datum> SequenceFromProto(const SequenceProto& proto, const ValueType& type, const Limits& limits) {
  if (proto.elem_type() != SequenceProto::TENSOR && proto.tensor_values_size() == 0 && proto.elem_type() != 0) {
    return MakeError(ErrorCode::kUnsupported, "onnx.sequence", "a sequence of something else than tensors");
  }
  std::vector<TensorPtr> elements;
  for (const TensorProto& tensor : proto.tensor_values()) {
    PT_ASSIGN(Tensor element, TensorFromProto(tensor, "element " + std::to_string(elements.size()), limits));
    elements.push_back(std::make_shared<const Tensor>(std::move(element)));
  }
  const DataType element_type = elements.empty() ? type.type : elements[0]->type();
  return Datum::Sequence(element_type, std::move(elements));
}

Result<Datum> OptionalFromProto(const OptionalProto& proto, const ValueType& type, const Limits& limits) {
  if (proto.has_tensor_value()) {
    PT_ASSIGN(Tensor tensor, TensorFromProto(proto.tensor_value(), "tensor", limits));
    return Datum(std::move(tensor));
  }
  if (proto.has_sequence_value()) return SequenceFromProto(proto.sequence_value(), type, limits);
  if (!proto.has_sparse_tensor_value() && !proto.has_map_value() && !proto.has_optional_value()) return Datum();
  return MakeError(ErrorCode::kUnsupported, "onnx.optional", "an optional value of something else than tensors");
}

Result<Datum> ValueFromBytes(const std::string& bytes, const ValueType& type, const Limits& limits) {
  if (type.other.empty()) {
    PT_ASSIGN(const TensorProto proto, Parse<TensorProto>(bytes, "TensorProto"));
    PT_ASSIGN(Tensor tensor, TensorFromProto(proto, "tensor", limits));
    return Datum(std::move(tensor));
  }
  if (type.other == "sequence") {
    PT_ASSIGN(const SequenceProto proto, Parse<SequenceProto>(bytes, "SequenceProto"));
    return SequenceFromProto(proto, type, limits);
  }
  if (type.other == "optional" || type.other == "optional_sequence") {
    PT_ASSIGN(const OptionalProto proto, Parse<OptionalProto>(bytes, "OptionalProto"));
    return OptionalFromProto(proto, type, limits);
  }
  return MakeError(ErrorCode::kUnsupported, "onnx.value", "no file holds a value of type " + ToString(type));
}

}  // namespace

Result<Tensor> LoadTensorProto(const std::string& path, const Limits& limits) {
  ValueType any;
  PT_ASSIGN(const Datum datum, LoadValueProto(path, any, limits));
  return datum.tensor();
}

Result<Datum> LoadValueProto(const std::string& path, const ValueType& type, const Limits& limits) {
  PT_ASSIGN(const std::string bytes, ReadFile(path, limits.file_bytes));
  Result<Datum> value = ValueFromBytes(bytes, type, limits);
  if (value.ok() && !type.other.empty() && !Agrees(type, *value)) {
    value = MakeError(ErrorCode::kInvalidInput, "onnx.value", "holds " + ToString(*value) + ", not " + ToString(type));
  }
  if (!value.ok()) value.error().file = path;
  return value;
}

Result<std::string> TensorProtoBytes(const Tensor& tensor) {
  std::string bytes;
  bool fits = true;
  PT_CHECK_OK(Fenced(ErrorCode::kInternal, "onnx.tensor_file", "writing a TensorProto", [&] {
    proto::TensorProto message;
    TensorToProto(tensor, message);
    fits = message.SerializeToString(&bytes);
  }));
  if (fits) return bytes;
  return MakeError(ErrorCode::kUnsupported, "onnx.tensor_file", "a TensorProto holds less than 2^31 bytes");
}

}  // namespace pt
