// Model-local functions: counted before they are expanded, because a kilobyte can stand for more nodes than
// any memory holds.
#pragma once

#include "lib/onnx/fence.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Replaces every call of a function of the model by the function's body, with the call's attributes bound.
// Errors: recursion, more nodes than limits.nodes, calls nested too deep (all kInvalidInput), a function
// whose opset does not fit the model's (kUnsupported). Returns how many functions the model had.
Result<uint64_t> ExpandFunctions(proto::ModelProto& model, const Limits& limits);

// The check that must come before anything else of libonnx sees the functions.
Status CheckExpansion(const proto::ModelProto& model, const Limits& limits);

}  // namespace pt
