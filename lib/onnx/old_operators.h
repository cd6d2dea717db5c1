// Operators whose older versions libonnx's converter takes for newer ones, though they mean something else.
#pragma once

#include <string>

#include "lib/onnx/contrib/rewrite.h"

namespace pt {

// Spells a node out in operators of opset kTargetOpset. Errors (kUnsupported): what is not known of the node's inputs
// while the model loads.
using OldOperator = Status (*)(contrib::Rewrite&);

// Null where libonnx converts the operator of that opset rightly, if at all.
OldOperator FindOldOperator(const std::string& op, int64_t opset);

}  // namespace pt
