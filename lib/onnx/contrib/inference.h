// Types of the outputs of ONNX Runtime's operators, for libonnx's inference. They tell the rewriting of operators
// further down, and the conversion between opsets, what they need; what is right for certain is worked out from the
// operators that take their place. So what cannot be said is left open, and nothing here throws.
#pragma once

#include <onnx/defs/shape_inference.h>

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "lib/onnx/fence.h"

namespace pt::contrib {

using Shape = proto::TensorShapeProto;
using InferenceDim = proto::TensorShapeProto::Dimension;

// Null when the rank is unknown.
const Shape* ShapeOf(const proto::InferenceContext& context, size_t input);
// The input's dim (from behind when negative), or one that says nothing.
InferenceDim DimOf(const proto::InferenceContext& context, size_t input, int axis);

void SetElementType(proto::InferenceContext& context, size_t output, int32_t type);
// The same as of that input; nothing when that is unknown.
void CopyElementType(proto::InferenceContext& context, size_t output, size_t input);
void CopyShape(proto::InferenceContext& context, size_t output, size_t input);
void SetShape(proto::InferenceContext& context, size_t output, std::initializer_list<InferenceDim> dims);

// Output 0 is of the type and dims of input 0.
void LikeFirst(proto::InferenceContext& context);
// The same with as many columns as the attribute N says.
void ShapeByColumns(proto::InferenceContext& context);
// Output 0 has the dims of MatMul of two inputs; its element type is not set.
void ShapeOfProduct(proto::InferenceContext& context, size_t left, size_t right);
// Output 0 has the dims of two inputs that are broadcast to each other.
void ShapeOfBroadcast(proto::InferenceContext& context, size_t left, size_t right);

}  // namespace pt::contrib
