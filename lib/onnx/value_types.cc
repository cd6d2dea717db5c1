#include "lib/onnx/value_types.h"

namespace pt {
namespace {

Dim DimFromProto(const proto::TensorShapeProto::Dimension& dim) {
  if (dim.has_dim_value()) return {dim.dim_value() < 0 ? -1 : dim.dim_value(), {}};
  const std::string& name = dim.dim_param();
  return {-1, IsDimName(name) ? name : std::string()};
}

void TensorFromProto(int32_t element_type, const proto::TensorShapeProto* shape, ValueType& to) {
  to.type = element_type < 0 || element_type > 255 ? DataType::kUndefined : static_cast<DataType>(element_type);
  if (DataTypeName(to.type) == "undefined") to.type = DataType::kUndefined;
  to.ranked = shape != nullptr;
  if (shape == nullptr) return;
  to.dims.reserve(static_cast<size_t>(shape->dim_size()));
  for (const auto& dim : shape->dim()) to.dims.push_back(DimFromProto(dim));
}

// Of a tensor, as an element of what is called `kind`; other elements keep no more than the kind.
void ElementFromProto(const proto::TypeProto& element, const std::string& kind, ValueType& to) {
  if (element.value_case() == proto::TypeProto::kTensorType) {
    const auto& tensor = element.tensor_type();
    TensorFromProto(tensor.elem_type(), tensor.has_shape() ? &tensor.shape() : nullptr, to);
    to.other = kind;
  } else {
    to.other = kind + "_of_others";
  }
}

void TensorToProto(const ValueType& type, proto::TypeProto::Tensor& tensor) {
  tensor.set_elem_type(static_cast<int>(type.type));
  if (!type.ranked) return;
  auto* shape = tensor.mutable_shape();
  for (const Dim& d : type.dims) {
    auto* dim = shape->add_dim();
    if (d.known()) {
      dim->set_dim_value(d.value);
    } else if (!d.name.empty()) {
      dim->set_dim_param(d.name);
    }
  }
}

}  // namespace

bool IsDimName(const std::string& name) { return !name.empty() && name != "?" && !name.starts_with("unk__"); }

ValueType TypeFromProto(const proto::TypeProto& type) {
  ValueType to;
  switch (type.value_case()) {
    case proto::TypeProto::kTensorType: {
      const auto& tensor = type.tensor_type();
      TensorFromProto(tensor.elem_type(), tensor.has_shape() ? &tensor.shape() : nullptr, to);
      break;
    }
    case proto::TypeProto::kSparseTensorType:
      to.other = "sparse_tensor";
      break;
    case proto::TypeProto::kSequenceType:
      ElementFromProto(type.sequence_type().elem_type(), "sequence", to);
      break;
    case proto::TypeProto::kMapType:
      to.other = "map";
      break;
    case proto::TypeProto::kOptionalType:
      if (type.optional_type().elem_type().has_sequence_type()) {
        ElementFromProto(type.optional_type().elem_type().sequence_type().elem_type(), "optional_sequence", to);
      } else {
        ElementFromProto(type.optional_type().elem_type(), "optional", to);
      }
      break;
    case proto::TypeProto::kOpaqueType:
      to.other = "opaque";
      break;
    case proto::TypeProto::VALUE_NOT_SET:
      break;
  }
  return to;
}

std::string KindConflict(const ValueType& says, const ValueType& is) {
  const auto is_unknown = [](const ValueType& type) { return type.other.empty() && type.type == DataType::kUndefined; };
  if (is_unknown(says) || is_unknown(is)) {
    if (!says.other.empty() || !is.other.empty()) return {};
  } else if (says.other != is.other) {
    return "another kind";
  } else if (says.type != is.type) {
    const bool known = says.type != DataType::kUndefined && is.type != DataType::kUndefined;
    return known ? "another element type" : "";
  }
  return "";
}

bool RanksConflict(const ValueType& says, const ValueType& is) {
  if (!says.other.empty() || !is.other.empty()) return false;  // the tensors in a sequence may differ
  return says.ranked && is.ranked && says.dims.size() != is.dims.size();
}

bool DimsConflict(const ValueType& says, const ValueType& is) {
  if (!says.ranked || !is.ranked || says.dims.size() != is.dims.size()) return false;
  for (size_t d = 0; d < says.dims.size(); ++d) {
    if (says.dims[d].known() && is.dims[d].known() && says.dims[d].value != is.dims[d].value) return true;
  }
  return false;
}

void TypeToProto(const ValueType& type, proto::TypeProto& to) {
  if (type.type == DataType::kUndefined) return;
  if (type.other.empty()) {
    TensorToProto(type, *to.mutable_tensor_type());
  } else if (type.other == "sequence") {
    TensorToProto(type, *to.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type());
  } else if (type.other == "optional") {
    TensorToProto(type, *to.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type());
  } else if (type.other == "optional_sequence") {
    auto* const sequence = to.mutable_optional_type()->mutable_elem_type()->mutable_sequence_type();
    TensorToProto(type, *sequence->mutable_elem_type()->mutable_tensor_type());
  }
}

}  // namespace pt
