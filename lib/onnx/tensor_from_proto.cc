#include "lib/onnx/tensor_from_proto.h"

#include <algorithm>
#include <bit>

#include "partitiontuner/support/aligned_bytes.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

using ONNX_NAMESPACE::TensorProto;
static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

Error Invalid(std::string_view where, std::string message) {
  return MakeError(ErrorCode::kInvalidInput, "onnx.tensor", std::string(where) + ": " + std::move(message));
}

// The bytes of `count` elements, each the low `bytes` of an entry of a typed field.
template <typename Field>
std::string LowBytes(const Field& field, size_t bytes) {
  std::string out;
  out.reserve(static_cast<size_t>(field.size()) * bytes);
  for (const auto entry : field) out.append(reinterpret_cast<const char*>(&entry), bytes);
  return out;
}

// The typed field of the element type as the bytes of a Tensor; nothing for strings, which are not bytes.
std::string TypedBytes(const TensorProto& proto, DataType type) {
  switch (type) {  // no default: the compiler names the type that is missing
    case DataType::kFloat32:
    case DataType::kComplex64:
      return LowBytes(proto.float_data(), 4);
    case DataType::kFloat64:
    case DataType::kComplex128:
      return LowBytes(proto.double_data(), 8);
    case DataType::kInt64:
      return LowBytes(proto.int64_data(), 8);
    case DataType::kUint64:
      return LowBytes(proto.uint64_data(), 8);
    case DataType::kUint32:
      return LowBytes(proto.uint64_data(), 4);
    case DataType::kInt32:
      return LowBytes(proto.int32_data(), 4);
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return LowBytes(proto.int32_data(), 2);
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kBool:
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat8E8M0:
    case DataType::kUint4:
    case DataType::kInt4:
    case DataType::kFloat4E2M1:
    case DataType::kUint2:
    case DataType::kInt2:
      return LowBytes(proto.int32_data(), 1);  // smaller types packed
    case DataType::kString:
    case DataType::kUndefined:
      break;
  }
  return "";
}

int TypedFields(const TensorProto& proto) {
  return (proto.float_data_size() > 0) + (proto.int32_data_size() > 0) + (proto.int64_data_size() > 0) +
         (proto.uint64_data_size() > 0) + (proto.double_data_size() > 0) + (proto.string_data_size() > 0);
}

// What a proto says of its tensor, within the limits and free of contradictions.
struct Described {
  DataType type;
  std::vector<int64_t> dims;
  int64_t count;
  uint64_t bytes;  // 0 for strings
};

Result<Described> Describe(const TensorProto& proto, std::string_view where, const Limits& limits) {
  const DataType type = static_cast<DataType>(proto.data_type());
  const int bits = proto.data_type() < 0 || proto.data_type() > 255 ? 0 : BitsOf(type);
  if (bits == 0 && proto.data_type() != static_cast<int>(DataType::kString)) {
    return Invalid(where, "unknown element type " + std::to_string(proto.data_type()));
  }
  if (proto.data_location() == TensorProto::EXTERNAL || proto.external_data_size() > 0) {
    return Invalid(where, "its data is in another file, which is not allowed here");
  }
  if (proto.has_segment()) return Invalid(where, "tensors in segments are not supported");
  if (limits.rank != 0 && static_cast<uint32_t>(proto.dims_size()) > limits.rank) {
    return Invalid(
        where, "rank " + std::to_string(proto.dims_size()) + " is over the limit of " + std::to_string(limits.rank));
  }
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  for (const int64_t dim : dims) {
    if (dim < 0) return Invalid(where, "negative dimension " + std::to_string(dim));
  }
  const auto count = CheckedProduct(dims);
  const auto total_bits = count ? CheckedMul(*count, std::max(bits, 1)) : std::nullopt;
  if (!total_bits) return Invalid(where, "its dims overflow");
  const uint64_t needed = (static_cast<uint64_t>(*total_bits) + 7) / 8;
  if (limits.tensor_bytes != 0 && needed > limits.tensor_bytes) {
    return Invalid(where,
                   std::to_string(needed) + " bytes are over the limit of " + std::to_string(limits.tensor_bytes));
  }
  return Described{type, std::move(dims), *count, needed};
}

Error InTwoForms(std::string_view where) { return Invalid(where, "its data is given in two forms"); }

Error WrongSize(std::string_view where, uint64_t given, uint64_t needed) {
  return Invalid(where, std::to_string(given) + " bytes of data, its dims need " + std::to_string(needed));
}

// Kernels read bytes of bools as bool, for which others than 0 and 1 are undefined.
void NormaliseBools(std::span<std::byte> bytes) {
  for (std::byte& b : bytes) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
}

}  // namespace

Result<Tensor> TakeTensor(TensorProto& proto, std::string_view where, const Limits& limits) {
  PT_ASSIGN(const Described tensor, Describe(proto, where, limits));
  if (TypedFields(proto) + proto.has_raw_data() > 1 && !(proto.raw_data().empty() && TypedFields(proto) == 1)) {
    return InTwoForms(where);
  }
  if (tensor.type == DataType::kString) {
    if (proto.string_data_size() != tensor.count) {
      return Invalid(
          where, std::to_string(proto.string_data_size()) + " strings, its dims need " + std::to_string(tensor.count));
    }
    return Tensor::FromStrings(tensor.dims, {proto.string_data().begin(), proto.string_data().end()});
  }
  std::string bytes = TypedFields(proto) == 0 ? std::move(*proto.mutable_raw_data()) : TypedBytes(proto, tensor.type);
  if (bytes.size() != tensor.bytes) return WrongSize(where, bytes.size(), tensor.bytes);
  if (tensor.type == DataType::kBool) NormaliseBools(std::as_writable_bytes(std::span(bytes)));
  return Tensor::FromBytes(tensor.type, tensor.dims, std::move(bytes));
}

Result<Tensor> TakeTensorRead(const TensorProto& proto, std::string_view where, const Limits& limits,
                              uint64_t raw_bytes, const ReadRawData& read) {
  PT_ASSIGN(const Described tensor, Describe(proto, where, limits));
  if (TypedFields(proto) > 0 || proto.has_raw_data()) return InTwoForms(where);
  if (tensor.type == DataType::kString) return Invalid(where, "strings cannot be raw data");
  if (raw_bytes != tensor.bytes) return WrongSize(where, raw_bytes, tensor.bytes);
  PT_ASSIGN(AlignedBytes data, AllocateAligned(raw_bytes));
  PT_CHECK_OK(read(data.bytes));
  if (tensor.type == DataType::kBool) NormaliseBools(data.bytes);
  return Tensor::FromShared(tensor.type, tensor.dims, std::move(data.owner), data.bytes);
}

Result<Tensor> TensorFromProto(const TensorProto& proto, std::string_view where, const Limits& limits) {
  TensorProto copy = proto;
  return TakeTensor(copy, where, limits);
}

}  // namespace pt
