// ONNX's types and ours.
#pragma once

#include <string>

#include "lib/onnx/fence.h"
#include "partitiontuner/graph/graph.h"

namespace pt {

// Whether a dim's name is one that its author chose, so that dims of the same name are equal.
bool IsDimName(const std::string& name);

// A dim below 0 or named "", "?" or unk__* is unknown and unnamed. Sequences, optional values and optional sequences
// keep the type of their tensors besides their kind, all else that is not a tensor only its kind.
ValueType TypeFromProto(const proto::TypeProto& type);

// What contradicts in two types of one value: "another kind", "another element type"; "" when nothing does. What either
// leaves unknown contradicts nothing; ranks and dims are not looked at.
std::string KindConflict(const ValueType& says, const ValueType& is);
// Whether two types of tensors have different ranks.
bool RanksConflict(const ValueType& says, const ValueType& is);
// Whether two types of the same rank give different numbers for some dim.
bool DimsConflict(const ValueType& says, const ValueType& is);

// Nothing is set for undefined types and for other kinds than those.
void TypeToProto(const ValueType& type, proto::TypeProto& to);

}  // namespace pt
