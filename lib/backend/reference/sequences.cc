// Operators that make sequences of tensors and take them apart. Sequences share their tensors: what is put into one is
// copied at most once.
#include "partitiontuner/graph/operators/sequences.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

using Dims = std::vector<int64_t>;

// A tensor that is put together from runs of other tensors' elements: numbers in memory of the run, or strings.
class Pieces {
 public:
  static Result<Pieces> Make(DatumCall& call, DataType type, Dims dims, uint64_t string_bytes) {
    if (type != DataType::kString && BytesOf(type) == 0) {
      return call.Unsupported("is not supported for " + std::string(DataTypeName(type)));
    }
    const std::optional<int64_t> count = CheckedProduct(dims);
    const std::optional<int64_t> bytes = count ? CheckedMul(*count, BytesOf(type)) : std::nullopt;
    if (!bytes) return call.Invalid("the size of " + DimsText(dims) + " does not fit 63 bits");
    Pieces pieces;
    pieces.type_ = type;
    if (type == DataType::kString) {
      PT_ASSIGN(pieces.receipt_, CountStrings(call.memory, *count, string_bytes));
      pieces.strings_.reserve(static_cast<size_t>(*count));
    } else {
      PT_ASSIGN(pieces.receipt_, CountBytes(call.memory, static_cast<uint64_t>(*bytes)));
    }
    pieces.dims_ = std::move(dims);
    return pieces;
  }

  void Append(const Tensor& from, int64_t begin, int64_t count) {
    if (type_ == DataType::kString) {
      const auto first = from.strings().begin() + begin;
      strings_.insert(strings_.end(), first, first + count);
      return;
    }
    const size_t size = static_cast<size_t>(BytesOf(type_)), bytes = static_cast<size_t>(count) * size;
    if (bytes == 0) return;
    std::memcpy(static_cast<std::byte*>(receipt_.get()) + at_, from.bytes().data() + static_cast<size_t>(begin) * size,
                bytes);
    at_ += bytes;
  }

  // Once it has all its elements.
  Result<TensorPtr> Finish() && {
    if (type_ == DataType::kString) {
      PT_ASSIGN(Tensor tensor, Tensor::FromStrings(std::move(dims_), std::move(strings_)));
      return KeepWith(std::move(receipt_), std::move(tensor));
    }
    PT_ASSIGN(Tensor tensor, Tensor::FromShared(type_, std::move(dims_), nullptr,
                                                {static_cast<const std::byte*>(receipt_.get()), at_}));
    return KeepWith(std::move(receipt_), std::move(tensor));
  }

 private:
  DataType type_ = DataType::kUndefined;
  Dims dims_;
  Receipt receipt_;
  size_t at_ = 0;
  std::vector<std::string> strings_;
};

// Of `count` elements from `begin` on; 0 where they are numbers.
uint64_t StringBytes(const Tensor& tensor, int64_t begin, int64_t count) {
  if (tensor.type() != DataType::kString) return 0;
  uint64_t bytes = 0;
  for (int64_t i = begin; i < begin + count; ++i) bytes += tensor.strings()[static_cast<size_t>(i)].size();
  return bytes;
}

int64_t ProductOf(const Dims& dims, size_t begin, size_t end) {
  return *CheckedProduct(std::span(dims).subspan(begin, end - begin));
}

// Input `input` counted from the end where it is negative, from 0 to last.
Result<size_t> Position(const DatumCall& call, size_t input, size_t length, int64_t last) {
  PT_ASSIGN(const int64_t given, call.IntegerAt(input));
  const auto size = static_cast<int64_t>(length);
  const int64_t at = given < 0 ? given + size : given;
  if (at >= 0 && at <= last) return static_cast<size_t>(at);
  return call.Invalid("position " + std::to_string(given) + " does not exist in a sequence of " +
                      std::to_string(length) + " tensors");
}

Status SetSequence(DatumCall& call, DataType type, std::vector<TensorPtr> elements) {
  Result<Datum> sequence = CountedSequence(call.memory, type, std::move(elements));
  if (!sequence.ok() && sequence.error().code == ErrorCode::kInvalidInput)
    return call.Invalid(sequence.error().message);
  PT_ASSIGN(call.out[0], std::move(sequence));
  return {};
}

Status SequenceEmpty(DatumCall& call) {
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(call.node, "dtype", DataType::kFloat32), call));
  return SetSequence(call, type, {});
}

Status SequenceConstruct(DatumCall& call) {
  std::vector<TensorPtr> elements;
  for (size_t i = 0; i < call.in.size(); ++i) {
    PT_ASSIGN(TensorPtr element, call.Keep(i));
    elements.push_back(std::move(element));
  }
  if (elements.empty()) return call.Invalid("has no inputs");
  const DataType type = elements[0]->type();
  return SetSequence(call, type, std::move(elements));
}

Status SequenceInsert(DatumCall& call) {
  PT_ASSIGN(const Datum* const sequence, call.SequenceAt(0));
  PT_ASSIGN(TensorPtr element, call.Keep(1));
  std::vector<TensorPtr> elements(sequence->elements().begin(), sequence->elements().end());
  size_t at = elements.size();
  if (call.has(2)) {
    PT_ASSIGN(at, Position(call, 2, elements.size(), static_cast<int64_t>(elements.size())));
  }
  elements.insert(elements.begin() + static_cast<int64_t>(at), std::move(element));
  return SetSequence(call, sequence->element_type(), std::move(elements));
}

Status SequenceErase(DatumCall& call) {
  PT_ASSIGN(const Datum* const sequence, call.SequenceAt(0));
  std::vector<TensorPtr> elements(sequence->elements().begin(), sequence->elements().end());
  if (elements.empty()) return call.Invalid("there is nothing to erase in an empty sequence");
  size_t at = elements.size() - 1;
  if (call.has(1)) {
    PT_ASSIGN(at, Position(call, 1, elements.size(), static_cast<int64_t>(elements.size()) - 1));
  }
  elements.erase(elements.begin() + static_cast<int64_t>(at));
  return SetSequence(call, sequence->element_type(), std::move(elements));
}

Status SequenceAt(DatumCall& call) {
  PT_ASSIGN(const Datum* const sequence, call.SequenceAt(0));
  const std::span<const TensorPtr> elements = sequence->elements();
  PT_ASSIGN(const size_t at, Position(call, 1, elements.size(), std::ssize(elements) - 1));
  call.out[0] = Datum(elements[at]);
  return {};
}

Status SequenceLength(DatumCall& call) {
  PT_ASSIGN(const Datum* const sequence, call.SequenceAt(0));
  call.out[0] = Datum(Tensor::Int64({}, {std::ssize(sequence->elements())}));
  return {};
}

// The lengths along the axis into which input 0 is cut.
Result<std::vector<int64_t>> SplitLengths(const DatumCall& call, int64_t whole) {
  if (!call.has(1)) return std::vector<int64_t>(static_cast<size_t>(whole), 1);
  PT_ASSIGN(const Tensor* const split, call.TensorAt(1));
  if (!IsIndexType(split->type()) || split->rank() > 1) return call.Invalid("its lengths are not integers");
  std::vector<int64_t> lengths = split->ToInts();
  if (split->rank() == 0) {
    const int64_t each = lengths[0];
    if (each < 1) return call.Invalid("a length must be at least 1, got " + std::to_string(each));
    lengths.assign(static_cast<size_t>(whole / each), each);
    if (whole % each != 0) lengths.push_back(whole % each);
    return lengths;
  }
  int64_t sum = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > whole - sum)
      return call.Invalid("its lengths do not fit a dim of " + std::to_string(whole));
    sum += length;
  }
  if (sum == whole) return lengths;
  return call.Invalid("its lengths are " + std::to_string(sum) + " together, the dim is " + std::to_string(whole));
}

Status SplitToSequence(DatumCall& call) {
  PT_ASSIGN(const Tensor* const whole, call.TensorAt(0));
  const Dims& dims = whole->dims();
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(call.node, call.opset, dims.size()), call));
  const auto at = static_cast<size_t>(axis);
  // The list of the parts counts before it is made: a dim without elements may be as long as numbers are.
  PT_ASSIGN(
      const Receipt list,
      CountBytes(call.memory, static_cast<uint64_t>(std::min<int64_t>(dims[at], INT64_MAX / 64)) * sizeof(TensorPtr)));
  PT_ASSIGN(const std::vector<int64_t> lengths, SplitLengths(call, dims[at]));
  const int64_t outer = ProductOf(dims, 0, at), inner = ProductOf(dims, at + 1, dims.size());
  const bool drop_axis = !call.has(1) && !KeepsSplitDim(call.node);
  std::vector<TensorPtr> parts;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    if (call.stop.ShouldStop()) return MakeError(ErrorCode::kRunFailed, "run.stopped", "the run was stopped");
    Dims part_dims = dims;
    part_dims[at] = length;
    if (drop_axis) part_dims.erase(part_dims.begin() + axis);
    uint64_t string_bytes = 0;
    for (int64_t o = 0; o < outer; ++o) {
      string_bytes += StringBytes(*whole, (o * dims[at] + begin) * inner, length * inner);
    }
    PT_ASSIGN(Pieces pieces, Pieces::Make(call, whole->type(), std::move(part_dims), string_bytes));
    for (int64_t o = 0; o < outer; ++o) pieces.Append(*whole, (o * dims[at] + begin) * inner, length * inner);
    PT_ASSIGN(TensorPtr part, std::move(pieces).Finish());
    parts.push_back(std::move(part));
    begin += length;
  }
  return SetSequence(call, whole->type(), std::move(parts));
}

Status ConcatFromSequence(DatumCall& call) {
  PT_ASSIGN(const Datum* const sequence, call.SequenceAt(0));
  const std::span<const TensorPtr> elements = sequence->elements();
  if (elements.empty()) return call.Invalid("there is nothing to join in an empty sequence");
  const bool new_axis = HasNewAxis(call.node);
  const int64_t rank = elements[0]->rank() + (new_axis ? 1 : 0);
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(call.node, call.opset, static_cast<size_t>(rank)), call));
  const auto at = static_cast<size_t>(axis);
  // With a new axis each element has one place along it.
  const auto dims_of = [&](const Tensor& tensor) {
    Dims dims = tensor.dims();
    if (new_axis) dims.insert(dims.begin() + axis, 1);
    return dims;
  };
  Dims dims = dims_of(*elements[0]);
  int64_t length = 0;
  uint64_t string_bytes = 0;
  for (const TensorPtr& element : elements) {
    Dims other = element->rank() == elements[0]->rank() ? dims_of(*element) : Dims();
    const int64_t own = other.empty() ? 0 : other[at];
    if (!other.empty()) other[at] = dims[at];
    const std::optional<int64_t> sum = CheckedAdd(length, own);
    if (other != dims || !sum) {
      return call.Invalid("tensors of dims " + DimsText(elements[0]->dims()) + " and " + DimsText(element->dims()) +
                          " cannot be joined");
    }
    length = *sum;
    string_bytes += StringBytes(*element, 0, element->element_count());
  }
  dims[at] = length;
  PT_ASSIGN(Pieces pieces, Pieces::Make(call, sequence->element_type(), dims, string_bytes));
  const int64_t outer = ProductOf(dims, 0, at);
  for (int64_t o = 0; o < outer && length > 0; ++o) {
    for (const TensorPtr& element : elements) {
      const int64_t run = element->element_count() / outer;
      pieces.Append(*element, o * run, run);
    }
  }
  PT_ASSIGN(TensorPtr joined, std::move(pieces).Finish());
  call.out[0] = Datum(std::move(joined));
  return {};
}

constexpr std::array kSequenceOperators = {
    DatumOperator{"ConcatFromSequence", ConcatFromSequence}, DatumOperator{"SequenceAt", SequenceAt},
    DatumOperator{"SequenceConstruct", SequenceConstruct},   DatumOperator{"SequenceEmpty", SequenceEmpty},
    DatumOperator{"SequenceErase", SequenceErase},           DatumOperator{"SequenceInsert", SequenceInsert},
    DatumOperator{"SequenceLength", SequenceLength},         DatumOperator{"SplitToSequence", SplitToSequence},
};

}  // namespace

std::span<const DatumOperator> SequenceOperators() { return kSequenceOperators; }

}  // namespace pt::reference
