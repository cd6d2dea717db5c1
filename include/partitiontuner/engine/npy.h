// NumPy's .npy files: one tensor each. Not .npz archives, not pickled objects, not structured
// types.
#pragma once

#include <string>
#include <string_view>

#include "partitiontuner/graph/tensor.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Either byte order and either memory order; the tensor is row-major in the machine's byte order.
// Errors (kInvalidInput): not a .npy file, an element type without an ONNX counterpart, fewer or
// more bytes than the shape says. `what` names the text in errors.
Result<Tensor> ParseNpy(std::string_view bytes, std::string_view what);
Result<Tensor> LoadNpy(const std::string& path, const Limits& limits = {});

// Types NumPy lacks but that fill whole bytes (bfloat16, float8) are written as raw "V" elements.
// kUnsupported for strings and types below a byte.
Result<std::string> NpyBytes(const Tensor& tensor);

}  // namespace pt
