// Model-local functions: counted before they are expanded, because a kilobyte can stand for more
// nodes than any memory holds.
#pragma once

#include "lib/onnx/fence.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// What must come before anything of libonnx sees the functions: counts what they expand to, and
// expands some of those whose calls are nested deeper than libonnx accepts. Errors: recursion, more
// nodes than limits.nodes, calls nested too deep, a function defined twice.
Status PrepareFunctions(proto::ModelProto& model, const Limits& limits);

// Replaces every call of a function of the model by the function's body, with the call's attributes
// bound. Errors: a function whose opset does not fit the model's (kUnsupported). Returns how many
// functions the model had. After PrepareFunctions.
Result<uint64_t> ExpandFunctions(proto::ModelProto& model);

}  // namespace pt
