// Own inference of operators where libonnx's contradicts the text of the standard, is missing, or trusts an attribute.
// Sizes come from the functions that kernels ask (partitiontuner/graph), so that both say the same.
#pragma once

#include <onnx/defs/shape_inference.h>

#include <span>
#include <string_view>

#include "lib/onnx/fence.h"

namespace pt {

struct InferenceRule {
  std::string_view op;  // of the default domain, in all its versions
  // libonnx: its own inference of the operator in that version.
  void (*infer)(const proto::InferenceFunction& libonnx, proto::InferenceContext& context);
};

// One row an operator.
std::span<const InferenceRule> InferenceRules();

}  // namespace pt
