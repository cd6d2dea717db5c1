// The element types that tensors are handed over in.
#pragma once

#include <onnxruntime_c_api.h>

#include "partitiontuner/graph/data_type.h"

namespace pt::onnxruntime {

// ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED for all others.
constexpr ONNXTensorElementDataType ElementTypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    case DataType::kInt8:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    case DataType::kUint8:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    case DataType::kInt32:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case DataType::kInt64:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    case DataType::kBool:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    default:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  }
}

}  // namespace pt::onnxruntime
