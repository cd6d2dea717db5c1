// ONNX's types and ours.
#pragma once

#include "lib/onnx/fence.h"
#include "partitiontuner/graph/graph.h"

namespace pt {

// A dim below 0 or named "", "?" or unk__* is unknown and unnamed. What is no tensor keeps only its
// kind.
ValueType TypeFromProto(const proto::TypeProto& type);

// Nothing is set for undefined types and for what is no tensor.
void TypeToProto(const ValueType& type, proto::TypeProto& to);

}  // namespace pt
