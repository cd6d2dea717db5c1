#include "lib/onnx/contrib/inference.h"

#include <algorithm>
#include <cstdint>

namespace pt::contrib {
namespace {

Shape* MutableShape(proto::InferenceContext& context, size_t output) {
  if (output >= context.getNumOutputs() || context.getOutputType(output) == nullptr) return nullptr;
  Shape* shape = context.getOutputType(output)->mutable_tensor_type()->mutable_shape();
  shape->clear_dim();
  return shape;
}

// One that both are, if that can be said.
InferenceDim Broadcast(const InferenceDim& a, const InferenceDim& b) {
  if (a.has_dim_value() && a.dim_value() != 1) return a;
  if (b.has_dim_value() && b.dim_value() != 1) return b;
  if (a.has_dim_value()) return b;
  if (b.has_dim_value()) return a;
  return a.has_dim_param() && a.dim_param() == b.dim_param() ? a : InferenceDim();
}

// The dims of both except for the last `without`.
void AddBroadcast(const Shape& a, const Shape& b, int without, Shape& to) {
  const int rank = std::max(a.dim_size(), b.dim_size());
  for (int i = 0; i < rank - without; ++i) {
    const int in_a = i - (rank - a.dim_size()), in_b = i - (rank - b.dim_size());
    *to.add_dim() = in_a < 0 ? b.dim(in_b) : in_b < 0 ? a.dim(in_a) : Broadcast(a.dim(in_a), b.dim(in_b));
  }
}

}  // namespace

const Shape* ShapeOf(const proto::InferenceContext& context, size_t input) {
  if (input >= context.getNumInputs()) return nullptr;
  const proto::TypeProto* type = context.getInputType(input);
  return type != nullptr && type->has_tensor_type() && type->tensor_type().has_shape() ? &type->tensor_type().shape()
                                                                                       : nullptr;
}

InferenceDim DimOf(const proto::InferenceContext& context, size_t input, int axis) {
  const Shape* shape = ShapeOf(context, input);
  if (shape == nullptr) return {};
  const int at = axis < 0 ? axis + shape->dim_size() : axis;
  return at < 0 || at >= shape->dim_size() ? InferenceDim() : shape->dim(at);
}

void SetElementType(proto::InferenceContext& context, size_t output, int32_t type) {
  if (output < context.getNumOutputs() && context.getOutputType(output) != nullptr)
    context.getOutputType(output)->mutable_tensor_type()->set_elem_type(type);
}

void CopyElementType(proto::InferenceContext& context, size_t output, size_t input) {
  if (input >= context.getNumInputs()) return;
  const proto::TypeProto* type = context.getInputType(input);
  if (type != nullptr && type->has_tensor_type()) SetElementType(context, output, type->tensor_type().elem_type());
}

void CopyShape(proto::InferenceContext& context, size_t output, size_t input) {
  const Shape* from = ShapeOf(context, input);
  if (from == nullptr) return;
  if (Shape* to = MutableShape(context, output)) *to = *from;
}

void SetShape(proto::InferenceContext& context, size_t output, std::initializer_list<InferenceDim> dims) {
  Shape* to = MutableShape(context, output);
  if (to == nullptr) return;
  for (const InferenceDim& dim : dims) *to->add_dim() = dim;
}

void LikeFirst(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  CopyShape(context, 0, 0);
}

void ShapeByColumns(proto::InferenceContext& context) {
  LikeFirst(context);
  auto& type = *context.getOutputType(0)->mutable_tensor_type();
  const proto::AttributeProto* columns = context.getAttribute("N");
  if (!type.has_shape() || type.shape().dim_size() == 0 || columns == nullptr) return;
  auto& last = *type.mutable_shape()->mutable_dim(type.shape().dim_size() - 1);
  last.Clear();
  last.set_dim_value(columns->i());
}

void ShapeOfProduct(proto::InferenceContext& context, size_t left, size_t right) {
  const Shape *a = ShapeOf(context, left), *b = ShapeOf(context, right);
  if (a == nullptr || b == nullptr || a->dim_size() < 2 || b->dim_size() < 2) return;
  Shape* to = MutableShape(context, 0);
  if (to == nullptr) return;
  AddBroadcast(*a, *b, 2, *to);
  *to->add_dim() = a->dim(a->dim_size() - 2);
  *to->add_dim() = b->dim(b->dim_size() - 1);
}

void ShapeOfBroadcast(proto::InferenceContext& context, size_t left, size_t right) {
  const Shape *a = ShapeOf(context, left), *b = ShapeOf(context, right);
  if (a == nullptr || b == nullptr) return;
  if (Shape* to = MutableShape(context, 0)) AddBroadcast(*a, *b, 0, *to);
}

}  // namespace pt::contrib
