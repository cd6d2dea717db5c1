// What libonnx finds of the contents of small tensors while it infers shapes, such as sizes made from other sizes.
#pragma once

#include "lib/onnx/fence.h"

namespace ONNX_NAMESPACE {
class OpSchema;
}

namespace pt {

// The operator's propagation with a guard before it: contents that are not a list of sizes are not followed, since
// libonnx takes some 70 bytes for each element, and neither are Slices by what is not known or by steps that its loop
// over 32-bit numbers does not end at. Nothing is lost by that but sizes: constants are folded elsewhere.
void GuardPropagation(proto::OpSchema& schema);

}  // namespace pt
