#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "element_types.h"
#include "errors.h"

namespace nb = nanobind;

namespace pt::python {
namespace {

using ReadArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using WrittenArray = nb::ndarray<nb::c_contig, nb::device::cpu>;

std::string TypeName(nb::handle given) { return nb::cast<std::string>(nb::type_name(given.type())); }
std::string Quoted(const Value& value) { return "\"" + value.name + "\""; }

template <typename Array>
LentTensor Lend(const Value& value, const Array& array) {
  LentTensor lent;
  const std::optional<DataType> type = FromDlpack(array.dtype());
  if (!type) Fail(ErrorCode::kInvalidInput, "python.type", Quoted(value) + ": ONNX has no such type of elements");
  lent.type = *type;
  for (size_t d = 0; d < array.ndim(); ++d) lent.dims.push_back(static_cast<int64_t>(array.shape(d)));
  lent.data = const_cast<void*>(static_cast<const void*>(array.data()));
  lent.bytes = static_cast<uint64_t>(array.nbytes());
  // One element is taken for a scalar, as everywhere.
  if (value.type.ranked && value.type.dims.empty() && array.size() == 1) lent.dims.clear();
  return lent;
}

// Dims and elements, outermost first, of lists in lists.
void Flatten(const Value& value, nb::handle given, size_t depth, std::vector<int64_t>& dims,
             std::vector<std::string>& strings) {
  if (nb::isinstance<nb::str>(given) || nb::isinstance<nb::bytes>(given)) {
    if (depth != dims.size())
      Fail(ErrorCode::kInvalidInput, "python.strings", Quoted(value) + ": lists of several depths");
    if (nb::isinstance<nb::bytes>(given)) {
      const auto bytes = nb::borrow<nb::bytes>(given);
      strings.emplace_back(bytes.c_str(), bytes.size());
    } else {
      strings.push_back(nb::cast<std::string>(given));
    }
    return;
  }
  if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) {
    Fail(ErrorCode::kInvalidInput, "python.strings",
         Quoted(value) + ": " + TypeName(given) + " where a str is expected");
  }
  const auto count = static_cast<int64_t>(nb::len(given));
  if (depth == dims.size() && strings.empty()) dims.push_back(count);
  if (depth >= dims.size() || dims[depth] != count) {
    Fail(ErrorCode::kInvalidInput, "python.strings", Quoted(value) + ": lists of several lengths");
  }
  for (const nb::handle element : nb::borrow<nb::sequence>(given)) Flatten(value, element, depth + 1, dims, strings);
}

Tensor StringsFrom(const Value& value, nb::handle given) {
  std::vector<int64_t> dims;
  std::vector<std::string> strings;
  nb::object lists = nb::borrow(given);
  if (nb::hasattr(given, "tolist")) {  // an array of NumPy: an empty one keeps its dims
    for (const nb::handle dim : nb::borrow<nb::sequence>(given.attr("shape"))) dims.push_back(nb::cast<int64_t>(dim));
    std::vector<int64_t> flat;
    Flatten(value, given.attr("reshape")(-1).attr("tolist")(), 0, flat, strings);
  } else {
    Flatten(value, given, 0, dims, strings);
  }
  return Unwrap(Tensor::FromStrings(std::move(dims), std::move(strings)));
}

// Holds an object of Python from threads that may not have the GIL when they let it go.
std::shared_ptr<const void> Hold(nb::object object) {
  return {object.release().ptr(), [](const void* held) {
            const nb::gil_scoped_acquire gil;
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held)));
          }};
}

// Contiguous: the array itself, or a copy.
ReadArray NumbersOf(const Value& value, nb::handle given) {
  ReadArray array;
  if (!nb::try_cast(given, array)) {
    Fail(ErrorCode::kInvalidInput, "python.array",
         "input " + Quoted(value) + ": " + TypeName(given) + " is not an array of numbers on the host",
         "give a NumPy array, or any object with __dlpack__");
  }
  return array;
}

using Inputs = LentValues::Inputs;

Tensor NumbersFrom(const Value& value, nb::handle given, Inputs inputs) {
  const ReadArray array = NumbersOf(value, given);
  LentTensor lent = Lend(value, array);
  const std::span bytes(static_cast<const std::byte*>(lent.data), lent.bytes);
  if (inputs == Inputs::kCopied) {
    std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Unwrap(Tensor::FromBytes(lent.type, std::move(lent.dims), std::move(copy)));
  }
  return Unwrap(Tensor::FromShared(lent.type, std::move(lent.dims), Hold(nb::cast(array)), bytes));
}

Tensor TensorFrom(const Value& value, nb::handle given, Inputs inputs) {
  return value.type.type == DataType::kString ? StringsFrom(value, given) : NumbersFrom(value, given, inputs);
}

Datum DatumFrom(const Value& value, nb::handle given, Inputs inputs) {
  if (given.is_none()) return {};
  const bool is_list = nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given);
  if (value.type.other.empty() || !is_list) return TensorFrom(value, given, inputs);
  std::vector<TensorPtr> elements;
  for (const nb::handle element : nb::borrow<nb::sequence>(given)) {
    elements.push_back(std::make_shared<const Tensor>(TensorFrom(value, element, inputs)));
  }
  const DataType type = elements.empty() ? value.type.type : elements.front()->type();
  return Unwrap(Datum::Sequence(type, std::move(elements)));
}

// An array over memory that the owner keeps alive.
nb::object ArrayOver(const Value& value, DataType type, const std::vector<int64_t>& dims, const void* data,
                     nb::handle owner) {
  const std::optional<nb::dlpack::dtype> element = ToDlpack(type);
  if (!element) {
    Fail(ErrorCode::kUnsupported, "python.type",
         Quoted(value) + " holds elements of " + std::string(DataTypeName(type)) + ", which arrays cannot");
  }
  const std::vector<size_t> shape(dims.begin(), dims.end());
  void* const memory = const_cast<void*>(data);
  if (IsInNumpy(type)) {
    return nb::cast(nb::ndarray<nb::numpy>(memory, shape.size(), shape.data(), owner, nullptr, *element));
  }
  return nb::cast(nb::ndarray<nb::array_api>(memory, shape.size(), shape.data(), owner, nullptr, *element));
}

nb::object StringsOf(const Tensor& tensor) {
  nb::list flat;
  for (const std::string& text : tensor.strings()) {
    flat.append(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape")));
  }
  nb::list shape;
  for (const int64_t dim : tensor.dims()) shape.append(dim);
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("array")(flat, nb::arg("dtype") = "object").attr("reshape")(nb::tuple(shape));
}

nb::object ArrayOf(const Value& value, const TensorPtr& tensor) {
  if (tensor->type() == DataType::kString) return StringsOf(*tensor);
  const nb::capsule owner(new TensorPtr(tensor), [](void* held) noexcept { delete static_cast<TensorPtr*>(held); });
  return ArrayOver(value, tensor->type(), tensor->dims(), tensor->bytes().data(), owner);
}

nb::object ObjectOf(const Value& value, const Datum& datum) {
  if (datum.is_tensor()) return ArrayOf(value, datum.shared_tensor());
  if (!datum.is_sequence()) return nb::none();
  nb::list elements;
  for (const TensorPtr& element : datum.elements()) elements.append(ArrayOf(value, element));
  return elements;
}

constexpr std::align_val_t kAlignment{64};

// New memory for a tensor whose type and dims are set, and the array that owns it.
nb::object Allocate(const Value& value, LentTensor& lent) {
  lent.bytes = static_cast<uint64_t>(Unwrap(TensorByteCount(lent.type, lent.dims)));
  lent.data = operator new(std::max<uint64_t>(lent.bytes, 1), kAlignment, std::nothrow);
  if (lent.data == nullptr) {
    Fail(ErrorCode::kOutOfMemory, "python.memory",
         "no memory for the " + std::to_string(lent.bytes) + " bytes of " + Quoted(value));
  }
  const nb::capsule owner(lent.data, [](void* memory) noexcept { operator delete(memory, kAlignment); });
  return ArrayOver(value, lent.type, lent.dims, lent.data, owner);
}

}  // namespace

void LentValues::AddInput(const Value& value, nb::handle given) {
  values_.push_back(&value);
  if (IsHeldAsDatum(value.type)) {
    data_.push_back(std::make_shared<const Datum>(DatumFrom(value, given, inputs_)));
    LentTensor lent;
    lent.datum = data_.back().get();
    tensors_.push_back(lent);
    arrays_.emplace_back();
    return;
  }
  const ReadArray array = NumbersOf(value, given);
  LentTensor lent = Lend(value, array);
  nb::object owner;
  if (inputs_ == Inputs::kCopied) {
    owner = Allocate(value, lent);
    if (lent.bytes > 0) std::memcpy(lent.data, array.data(), lent.bytes);
  } else {
    owner = nb::cast(array);
  }
  tensors_.push_back(std::move(lent));
  arrays_.push_back(std::move(owner));
}

void LentValues::AddOutput(const Value& value, nb::handle given) {
  values_.push_back(&value);
  if (IsHeldAsDatum(value.type)) {
    Fail(ErrorCode::kUsage, "python.output",
         "output " + Quoted(value) + " is not a tensor of numbers: no array holds it");
  }
  WrittenArray array;
  if (!nb::try_cast(given, array, /*convert=*/false)) {
    Fail(ErrorCode::kInvalidInput, "python.output",
         "output " + Quoted(value) + ": " + TypeName(given) + " is not a writable, contiguous array on the host");
  }
  tensors_.push_back(Lend(value, array));
  arrays_.push_back(nb::borrow(given));
}

void LentValues::AddOutput(const Value& value) {
  values_.push_back(&value);
  LentTensor lent;
  lent.type = value.type.type;
  nb::object array;
  if (value.type.is_static() && !IsHeldAsDatum(value.type)) {
    lent.dims = *value.type.static_dims();
    array = Allocate(value, lent);
  }
  tensors_.push_back(std::move(lent));
  arrays_.push_back(std::move(array));
}

nb::object LentValues::Output(size_t index, const RunReport& report) const {
  if (arrays_[index].is_valid()) return arrays_[index];
  return ObjectOf(*values_[index], report.outputs[index]);
}

}  // namespace pt::python
