// Datum: what a value is in a run when it is not a tensor of numbers: a tensor of strings, a sequence of tensors, or an
// optional value, which holds one of them or nothing. Never changed once made; copies share what they hold, so that
// they are cheap and may go to any thread.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

using TensorPtr = std::shared_ptr<const Tensor>;

class Datum {
 public:
  enum class Kind : uint8_t { kNothing, kTensor, kSequence };

  Datum() = default;     // an optional value that holds nothing
  Datum(Tensor tensor);  // where a datum is wanted a tensor will do
  explicit Datum(TensorPtr tensor) : kind_(Kind::kTensor), tensor_(std::move(tensor)) {}
  // A sequence of tensors that are all of that type, which an empty one has too (kInvalidInput).
  static Result<Datum> Sequence(DataType type, std::vector<TensorPtr> elements);
  static Result<Datum> Sequence(DataType type, std::shared_ptr<const std::vector<TensorPtr>> elements);

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  // For a tensor.
  const Tensor& tensor() const { return assert(is_tensor()), *tensor_; }
  const TensorPtr& shared_tensor() const { return assert(is_tensor()), tensor_; }
  // For a sequence.
  std::span<const TensorPtr> elements() const { return assert(is_sequence()), *elements_; }
  DataType element_type() const { return assert(is_sequence()), element_type_; }

 private:
  Kind kind_ = Kind::kNothing;
  DataType element_type_ = DataType::kUndefined;
  TensorPtr tensor_;
  std::shared_ptr<const std::vector<TensorPtr>> elements_;
};

// "string[2,3]", "a sequence of 3 float32 tensors", "nothing".
std::string ToString(const Datum& datum);

// Runs hold values of this type as a Datum: strings, and what is not a tensor.
bool IsHeldAsDatum(const ValueType& type);
// A type of which runs can hold values at all: tensors, sequences of tensors, optional ones of both.
bool IsKindOfDatum(const ValueType& type);

// Whether the datum is one that a value of this type may be; what the type leaves unknown, any datum is.
bool Agrees(const ValueType& type, const Datum& datum);

}  // namespace pt
