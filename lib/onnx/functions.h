// Model-local functions: each call becomes the nodes of the function's body.
#pragma once

#include <string>
#include <vector>

#include "lib/onnx/fence.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Replaces every call of a function of the model by the function's body:
//  - an attribute that refers to one of the function's has what the call gives it, else the function's default, else
//    it is absent;
//  - all names of a body are new in the model; graphs that a call gives keep theirs, so that they read what they read
//    where they were written;
//  - nodes of a body that asks for another opset of ONNX than the model stand in the domain of theirs (OpsetDomain).
// After CheckCalls, and SortAndCheckNames on everything; the model imports a version of the default domain.
// Initialisers of subgraphs are Constant nodes. Errors: kInvalidInput for a call that does not fit its function, and
// for graphs that grow over limits.nodes or limits.subgraph_depth; kUnsupported for operators of another version of
// another domain than the model's. Returns how many functions the model had; `warnings` hears of attributes that no
// function has.
Result<uint64_t> ExpandFunctions(proto::ModelProto& model, const Limits& limits, std::vector<std::string>& warnings);

}  // namespace pt
