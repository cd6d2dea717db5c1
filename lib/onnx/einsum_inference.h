// What is known of an Einsum's result. libonnx's own inference trusts equations: some that are not well-formed send it
// into an endless loop, ellipses of different length make it write past the end of a list, and of dims of one label it
// takes the first, which may be a 1 that broadcasts.
#pragma once

#include "lib/onnx/fence.h"

namespace ONNX_NAMESPACE {
struct InferenceContext;
}

namespace pt {

// Element type and dims, as far as those of the inputs are known; nothing of an equation that is not well-formed.
void InferEinsum(proto::InferenceContext& context);

}  // namespace pt
