// What libonnx's checker lets pass in nodes and should not.
#pragma once

#include "lib/onnx/fence.h"

namespace pt {

// Of all graphs and function bodies. Errors name the node: kUnsupported for experimental operators; kInvalidInput for
// an Einsum equation that is not well-formed, a value that an attribute cannot have, an attribute that refers to one of
// a function where there is none, and a nested graph that takes or gives another number of values than its node.
Status CheckNodes(const proto::ModelProto& model);

}  // namespace pt
