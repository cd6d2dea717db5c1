// Files of TensorProto, SequenceProto and OptionalProto (.pb), the forms in which ONNX test data is kept.
#pragma once

#include <string>

#include "partitiontuner/graph/datum.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Errors (kInvalidInput): no such file, no TensorProto, data that does not fit its dims. External
// data is refused.
Result<Tensor> LoadTensorProto(const std::string& path, const Limits& limits = {});
// A value of that type, which says which of the forms the file has. Errors as above; kInvalidInput also for a value
// that the type does not allow, kUnsupported for types that no run holds.
Result<Datum> LoadValueProto(const std::string& path, const ValueType& type, const Limits& limits = {});

// The file's content for a tensor of any type. Errors: kUnsupported for more bytes than a file of that form holds,
// kOutOfMemory.
Result<std::string> TensorProtoBytes(const Tensor& tensor);

}  // namespace pt
