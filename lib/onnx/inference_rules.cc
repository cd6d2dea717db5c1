#include "lib/onnx/inference_rules.h"

#include <onnx/defs/tensor_proto_util.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/einsum_inference.h"
#include "partitiontuner/graph/resized_dim.h"
#include "partitiontuner/graph/stft_sizes.h"
#include "partitiontuner/graph/transposed_sizes.h"

namespace pt {
namespace {

using contrib::CopyElementType;
using contrib::InferenceDim;
using contrib::Shape;
using contrib::ShapeOf;
using proto::InferenceContext;
using proto::InferenceFunction;

Shape& ShapeOfOutput(InferenceContext& context) {
  return *context.getOutputType(0)->mutable_tensor_type()->mutable_shape();
}

int64_t NumberOf(const InferenceDim& dim) { return dim.has_dim_value() ? dim.dim_value() : -1; }

InferenceDim DimOfNumber(int64_t number) {
  InferenceDim dim;
  if (number >= 0) dim.set_dim_value(number);
  return dim;
}

// The node with those of the named attributes that are integers, lists of them or text.
Node NodeOf(const InferenceContext& context, std::initializer_list<const char*> attributes) {
  Node node;
  for (const char* name : attributes) {
    const proto::AttributeProto* a = context.getAttribute(name);
    if (a == nullptr) continue;
    if (a->type() == proto::AttributeProto::INT) node.attributes[name] = a->i();
    if (a->type() == proto::AttributeProto::INTS)
      node.attributes[name] = std::vector<int64_t>(a->ints().begin(), a->ints().end());
    if (a->type() == proto::AttributeProto::STRING) node.attributes[name] = a->s();
  }
  return node;
}

// ---- rules ----

// A tensor [batch, heads, length, size], or [batch, length, heads · size].
struct HeadDims {
  bool flat = false;
  InferenceDim batch, heads, length, size;
};

std::optional<HeadDims> HeadDimsOf(const InferenceContext& context, size_t input, int64_t flat_heads) {
  const Shape* shape = ShapeOf(context, input);
  if (shape == nullptr) return std::nullopt;
  if (shape->dim_size() == 4) return HeadDims{false, shape->dim(0), shape->dim(1), shape->dim(2), shape->dim(3)};
  if (shape->dim_size() != 3) fail_shape_inference("Attention's tensors need three or four dims");
  if (flat_heads < 1) fail_shape_inference("Attention's tensors of three dims need q_num_heads and kv_num_heads");
  return HeadDims{true, shape->dim(0), DimOfNumber(flat_heads), shape->dim(1), shape->dim(2) / flat_heads};
}

void SetDims(InferenceContext& context, size_t output, size_t like, const std::vector<InferenceDim>& dims) {
  if (!context.hasOutput(output)) return;
  CopyElementType(context, output, like);
  Shape& to = *context.getOutputType(output)->mutable_tensor_type()->mutable_shape();
  to.clear_dim();
  for (const InferenceDim& dim : dims) *to.add_dim() = dim;
}

// libonnx takes dims that are not known for 0.
void InferAttention(const InferenceFunction&, InferenceContext& context) {
  const Node node = NodeOf(context, {"kv_num_heads", "q_num_heads"});
  const int64_t q_heads = node.int_or("q_num_heads", 0), kv_heads = node.int_or("kv_num_heads", 0);
  CopyElementType(context, 0, 0);
  const auto q = HeadDimsOf(context, 0, q_heads), k = HeadDimsOf(context, 1, kv_heads),
             v = HeadDimsOf(context, 2, kv_heads);
  if (!q || !k || !v) return;
  if (q->flat != k->flat || q->flat != v->flat)
    fail_shape_inference("Attention's tensors have three dims all, or four");
  InferenceDim total = k->length;
  if (context.hasInput(4)) {
    const InferenceDim past = contrib::DimOf(context, 4, 2);
    total = past.has_dim_value() ? total + past.dim_value() : InferenceDim();
  }
  SetDims(context, 0, 0,
          q->flat ? std::vector<InferenceDim>{q->batch, q->length, v->size * q_heads}
                  : std::vector<InferenceDim>{q->batch, q->heads, q->length, v->size});
  SetDims(context, 1, 1, {k->batch, k->heads, total, k->size});
  SetDims(context, 2, 2, {v->batch, v->heads, total, v->size});
  SetDims(context, 3, 0, {q->batch, q->heads, q->length, total});
}

// libonnx adds output_padding to the size that SAME_UPPER and SAME_LOWER ask for, and takes no more than the windows
// cover.
void InferConvTranspose(const InferenceFunction&, InferenceContext& context) {
  CopyElementType(context, 0, 0);
  const Shape *x = ShapeOf(context, 0), *w = ShapeOf(context, 1);
  if (x == nullptr || x->dim_size() < 3 || (w != nullptr && w->dim_size() != x->dim_size())) return;
  const Node node = NodeOf(
      context, {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "output_shape", "pads", "strides"});
  const auto rank = static_cast<size_t>(x->dim_size() - 2);
  std::vector<int64_t> in, of_weights;
  for (int d = 2; d < x->dim_size(); ++d) {
    in.push_back(NumberOf(x->dim(d)));
    if (w != nullptr) of_weights.push_back(NumberOf(w->dim(d)));
  }
  const std::vector<int64_t> kernel = node.ints_or("kernel_shape", std::move(of_weights));
  std::vector<int64_t> out(rank, -1);
  if (!kernel.empty() && std::find(kernel.begin(), kernel.end(), -1) == kernel.end()) {
    Result<TransposedSizes> sizes = TransposedSizesOf(node, in, kernel);
    if (!sizes.ok()) fail_shape_inference(sizes.error().message);
    out = std::move(sizes->out);
  }
  InferenceDim channels;
  if (w != nullptr && w->dim(1).has_dim_value()) channels = w->dim(1) * node.int_or("group", 1);
  Shape& to = ShapeOfOutput(context);
  to.clear_dim();
  *to.add_dim() = x->dim(0);
  *to.add_dim() = channels;
  for (const int64_t dim : out) *to.add_dim() = DimOfNumber(dim);
}

// libonnx infers nothing of what it makes.
void InferGroupNormalization(const InferenceFunction&, InferenceContext& context) {
  proto::propagateShapeAndTypeFromFirstInput(context);
}

// libonnx writes to the dims of Mean and InvStdDev from the axis on, wherever that is.
void InferLayerNormalization(const InferenceFunction& libonnx, InferenceContext& context) {
  const Shape* x = ShapeOf(context, 0);
  const proto::AttributeProto* attribute = context.getAttribute("axis");
  const int64_t axis = attribute == nullptr ? -1 : attribute->i();
  if (x == nullptr || (axis >= -x->dim_size() && axis < x->dim_size())) libonnx(context);
}

// Nothing where the input is not constant, or of another type.
std::optional<std::vector<double>> ConstantFloats(const InferenceContext& context, size_t input) {
  const proto::TensorProto* tensor = input < context.getNumInputs() ? context.getInputData(input) : nullptr;
  if (tensor == nullptr) return std::nullopt;
  if (tensor->data_type() == proto::TensorProto::DOUBLE) return proto::ParseData<double>(tensor);
  if (tensor->data_type() != proto::TensorProto::FLOAT) return std::nullopt;
  const std::vector<float> values = proto::ParseData<float>(tensor);
  return std::vector<double>(values.begin(), values.end());
}

// Whether sizes are given, which go before scales: an empty list stands for none.
bool HasSizes(const InferenceContext& context) {
  if (!context.hasInput(3)) return false;
  const proto::TensorProto* sizes = context.getInputData(3);
  return sizes == nullptr || sizes->dims_size() != 1 || sizes->dims(0) != 0;
}

// libonnx leaves the region out of the size that scales ask for.
void InferResize(const InferenceFunction& libonnx, InferenceContext& context) {
  const Node node = NodeOf(context, {"axes", "coordinate_transformation_mode"});
  const auto scales = ConstantFloats(context, 2);
  const Shape* x = ShapeOf(context, 0);
  if (node.string_or("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize" || !scales ||
      scales->empty() || HasSizes(context) || x == nullptr) {
    return libonnx(context);
  }
  std::vector<int64_t> axes = node.ints_or("axes", {});
  for (int64_t d = 0; node.find("axes") == nullptr && d < x->dim_size(); ++d) axes.push_back(d);
  const size_t n = axes.size();
  auto region = ConstantFloats(context, 1);
  if (!context.hasInput(1) || (region && region->empty())) {  // all of it
    region.emplace(n, 0);
    region->resize(2 * n, 1);
  }
  if (scales->size() != n || (region && region->size() != 2 * n))
    fail_shape_inference("scales and roi do not fit the axes");
  CopyElementType(context, 0, 0);
  Shape& to = ShapeOfOutput(context);
  to = *x;
  for (size_t i = 0; i < n; ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x->dim_size() : axes[i];
    if (axis < 0 || axis >= x->dim_size()) fail_shape_inference("axis ", axes[i], " does not exist");
    InferenceDim& dim = *to.mutable_dim(static_cast<int>(axis));
    const double extent = region ? (*region)[i + n] - (*region)[i] : 0, scale = (*scales)[i];
    if (region && scale * extent == 1) continue;
    const auto size = region && dim.has_dim_value() ? ResizedDim(dim.dim_value(), scale, extent) : std::nullopt;
    dim = DimOfNumber(size.value_or(-1));
  }
}

// libonnx leaves the size open that output_shape gives.
void InferMaxUnpool(const InferenceFunction& libonnx, InferenceContext& context) {
  const proto::TensorProto* shape = context.hasInput(2) ? context.getInputData(2) : nullptr;
  if (shape == nullptr || shape->data_type() != proto::TensorProto::INT64) return libonnx(context);
  CopyElementType(context, 0, 0);
  Shape& to = ShapeOfOutput(context);
  to.clear_dim();
  for (const int64_t dim : proto::ParseData<int64_t>(shape)) *to.add_dim() = DimOfNumber(dim);
}

// libonnx leaves the size of states open where hidden_size does not give it; the recurrent weights do, too.
void InferRecurrent(const InferenceFunction& libonnx, InferenceContext& context) {
  libonnx(context);
  const InferenceDim hidden = contrib::DimOf(context, 2, 2);
  for (size_t i = 0; i < context.getNumOutputs(); ++i) {
    if (!context.hasOutput(i) || !context.getOutputType(i)->tensor_type().has_shape()) continue;
    Shape& to = *context.getOutputType(i)->mutable_tensor_type()->mutable_shape();
    if (to.dim_size() > 0 && !to.dim(to.dim_size() - 1).has_dim_value()) *to.mutable_dim(to.dim_size() - 1) = hidden;
  }
}

// libonnx reads as many sizes as there are outputs from a list of num_outputs.
void InferSplit(const InferenceFunction& libonnx, InferenceContext& context) {
  const proto::AttributeProto* parts = context.getAttribute("num_outputs");
  const auto outputs = static_cast<int64_t>(context.getNumOutputs());
  if (parts != nullptr && parts->i() != outputs)
    fail_shape_inference("num_outputs is ", parts->i(), ", the outputs are ", outputs);
  libonnx(context);
}

// The number that a constant input holds; -1 where it is not constant, or no integer.
int64_t ConstantInt(const InferenceContext& context, size_t input) {
  const proto::TensorProto* tensor = input < context.getNumInputs() ? context.getInputData(input) : nullptr;
  if (tensor == nullptr) return -1;
  if (tensor->data_type() == proto::TensorProto::INT64) {
    const std::vector<int64_t> values = proto::ParseData<int64_t>(tensor);
    return values.size() == 1 ? values[0] : -1;
  }
  if (tensor->data_type() != proto::TensorProto::INT32) return -1;
  const std::vector<int32_t> values = proto::ParseData<int32_t>(tensor);
  return values.size() == 1 ? values[0] : -1;
}

// libonnx takes onesided for 0 where the node does not say it, and divides in float32.
void InferStft(const InferenceFunction&, InferenceContext& context) {
  CopyElementType(context, 0, 0);
  const InferenceDim length = contrib::DimOf(context, 0, 1);
  const int64_t step = ConstantInt(context, 1);
  int64_t frame = ConstantInt(context, 3);
  if (frame < 0) frame = NumberOf(contrib::DimOf(context, 2, 0));
  std::optional<int64_t> frames, bins;
  if (frame >= 1) bins = BinsOf(frame, NodeOf(context, {"onesided"}).int_or("onesided", 1) != 0);
  if (frame >= 1 && step >= 1 && length.has_dim_value()) {
    frames = FramesOf(length.dim_value(), frame, step);
    if (!frames) fail_shape_inference("no frame of ", frame, " samples fits into a signal of ", length.dim_value());
  }
  Shape& to = ShapeOfOutput(context);
  to.clear_dim();
  *to.add_dim() = contrib::DimOf(context, 0, 0);
  *to.add_dim() = DimOfNumber(frames.value_or(-1));
  *to.add_dim() = DimOfNumber(bins.value_or(-1));
  *to.add_dim() = DimOfNumber(2);
}

constexpr InferenceRule kRules[] = {
    {"Einsum", [](const InferenceFunction&, proto::InferenceContext& context) { InferEinsum(context); }},
    {"Attention", InferAttention},
    {"ConvTranspose", InferConvTranspose},
    {"GRU", InferRecurrent},
    {"GroupNormalization", InferGroupNormalization},
    {"LSTM", InferRecurrent},
    {"LayerNormalization", InferLayerNormalization},
    {"MaxUnpool", InferMaxUnpool},
    {"RNN", InferRecurrent},
    {"Resize", InferResize},
    {"STFT", InferStft},
    {"Split", InferSplit},
};

}  // namespace

std::span<const InferenceRule> InferenceRules() { return kRules; }

}  // namespace pt
