// What Constant, ConstantOfShape and EyeLike say, and how windows of signals are made.
#pragma once

#include <cstdint>
#include <optional>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Constant: its tensor of numbers, whichever attribute holds it. nullopt where none does: strings and sparse tensors.
std::optional<Tensor> ReadConstant(const Node& node);
// ConstantOfShape: the one element that fills the result; 0 in float32 where it is not given. Error: kInvalidInput for
// another number of elements.
Result<Tensor> ReadFillValue(const Node& node);
// EyeLike: the diagonal of ones, counted from the main one upwards.
int64_t ReadDiagonal(const Node& node);
// HannWindow, HammingWindow, BlackmanWindow: of one period, else symmetric.
bool IsPeriodic(const Node& node);

}  // namespace pt
