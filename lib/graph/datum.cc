#include "partitiontuner/graph/datum.h"

#include <algorithm>

namespace pt {
namespace {

bool TensorAgrees(const ValueType& type, const Tensor& tensor) {
  if (type.type != DataType::kUndefined && type.type != tensor.type()) return false;
  if (!type.ranked) return true;
  return std::equal(type.dims.begin(), type.dims.end(), tensor.dims().begin(), tensor.dims().end(),
                    [](const Dim& dim, int64_t now) { return !dim.known() || dim.value == now; });
}

// What a sequence's type says of dims may hold for some elements only where they were inferred: no promise.
bool SequenceAgrees(const ValueType& type, const Datum& datum) {
  return type.type == DataType::kUndefined || type.type == datum.element_type();
}

}  // namespace

Datum::Datum(Tensor tensor) : kind_(Kind::kTensor), tensor_(std::make_shared<const Tensor>(std::move(tensor))) {}

Result<Datum> Datum::Sequence(DataType type, std::vector<TensorPtr> elements) {
  return Sequence(type, std::make_shared<const std::vector<TensorPtr>>(std::move(elements)));
}

Result<Datum> Datum::Sequence(DataType type, std::shared_ptr<const std::vector<TensorPtr>> elements) {
  for (const TensorPtr& element : *elements) {
    if (element->type() == type) continue;
    return MakeError(ErrorCode::kInvalidInput, "datum.sequence",
                     "a tensor of " + std::string(DataTypeName(element->type())) + " cannot be in a sequence of " +
                         std::string(DataTypeName(type)));
  }
  Datum sequence;
  sequence.kind_ = Kind::kSequence;
  sequence.element_type_ = type;
  sequence.elements_ = std::move(elements);
  return sequence;
}

std::string ToString(const Datum& datum) {
  switch (datum.kind()) {
    case Datum::Kind::kNothing:
      break;
    case Datum::Kind::kTensor:
      return ToString(StaticType(datum.tensor().type(), datum.tensor().dims()));
    case Datum::Kind::kSequence:
      return "a sequence of " + std::to_string(datum.elements().size()) + " " +
             std::string(DataTypeName(datum.element_type())) + " tensors";
  }
  return "nothing";
}

bool IsHeldAsDatum(const ValueType& type) { return !type.other.empty() || type.type == DataType::kString; }

bool IsKindOfDatum(const ValueType& type) {
  return type.other.empty() || type.other == "sequence" || type.other == "optional" ||
         type.other == "optional_sequence";
}

bool Agrees(const ValueType& type, const Datum& datum) {
  const bool optional = type.other.starts_with("optional");
  switch (datum.kind()) {
    case Datum::Kind::kNothing:
      return optional;
    case Datum::Kind::kTensor:
      return (type.other.empty() || type.other == "optional") && TensorAgrees(type, datum.tensor());
    case Datum::Kind::kSequence:
      return (type.other == "sequence" || type.other == "optional_sequence" ||
              (type.other.empty() && type.type == DataType::kUndefined)) &&
             SequenceAgrees(type, datum);
  }
  return false;
}

}  // namespace pt
