// Tensors as TensorProto; the other way is tensor_from_proto.h.
#pragma once

#include "lib/onnx/onnx_protos.h"
#include "partitiontuner/graph/tensor.h"

namespace pt {

constexpr int64_t kSmallTensorBytes = 1024;  // up to this size a tensor's data stays in the proto

// So small that libonnx may pass its data around and copy it.
bool IsSmall(const Tensor& tensor);

// Type and dims; the proto's data and name are left alone.
void DescribeTensor(const Tensor& tensor, ONNX_NAMESPACE::TensorProto& to);
// For libonnx's checker, which wants data where dims ask for some: dims of no elements, until DescribeTensor.
void DescribeAsEmpty(ONNX_NAMESPACE::TensorProto& to);
// Type, dims and data, for an empty proto.
void TensorToProto(const Tensor& tensor, ONNX_NAMESPACE::TensorProto& to);

}  // namespace pt
