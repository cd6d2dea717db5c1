// TensorProto to Tensor, for initialisers, attributes and test data.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "lib/onnx/onnx_protos.h"
#include "partitiontuner/graph/tensor.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Copies the data out. Errors (kInvalidInput): negative or overflowing dims, an unknown type, less or more data than
// the dims need, data in two forms at once, external data (its reader comes before this). `where` starts the messages.
// TakeTensor moves raw_data out instead and leaves the proto without data.
Result<Tensor> TakeTensor(ONNX_NAMESPACE::TensorProto& proto, std::string_view where, const Limits& limits);
// With raw_data that is elsewhere: `read` puts its `raw_bytes` bytes where it is told to.
using ReadRawData = std::function<Status(std::span<std::byte>)>;
Result<Tensor> TakeTensorRead(const ONNX_NAMESPACE::TensorProto& proto, std::string_view where, const Limits& limits,
                              uint64_t raw_bytes, const ReadRawData& read);
Result<Tensor> TensorFromProto(const ONNX_NAMESPACE::TensorProto& proto, std::string_view where, const Limits& limits);

}  // namespace pt
