// TensorProto files (.pb), the form in which ONNX test data is kept.
#pragma once

#include <string>

#include "partitiontuner/graph/tensor.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Errors (kInvalidInput): no such file, no TensorProto, data that does not fit its dims. External
// data is refused.
Result<Tensor> LoadTensorProto(const std::string& path, const Limits& limits = {});

// The file's content for a tensor of any type. Errors: kUnsupported for more bytes than a file of that form holds,
// kOutOfMemory.
Result<std::string> TensorProtoBytes(const Tensor& tensor);

}  // namespace pt
