#include "partitiontuner/engine/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "partitiontuner/support/caught.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/file.h"

namespace pt {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr char kHostOrder = std::endian::native == std::endian::little ? '<' : '>';

struct NpyType {
  std::string_view code;  // without the byte order
  DataType type;
  int part_bytes;  // of what the byte order applies to: half of a complex number
};
constexpr NpyType kTypes[] = {
    {"b1", DataType::kBool, 1},      {"i1", DataType::kInt8, 1},        {"u1", DataType::kUint8, 1},
    {"i2", DataType::kInt16, 2},     {"u2", DataType::kUint16, 2},      {"i4", DataType::kInt32, 4},
    {"u4", DataType::kUint32, 4},    {"i8", DataType::kInt64, 8},       {"u8", DataType::kUint64, 8},
    {"f2", DataType::kFloat16, 2},   {"f4", DataType::kFloat32, 4},     {"f8", DataType::kFloat64, 8},
    {"c8", DataType::kComplex64, 4}, {"c16", DataType::kComplex128, 8},
};

Error Invalid(std::string_view what, std::string message) {
  Error error = MakeError(ErrorCode::kInvalidInput, "npy.invalid", std::move(message));
  error.file = what;
  return error;
}

// The value of one key of the header, which is a Python dictionary literal of strings, booleans and
// tuples.
std::optional<std::string_view> HeaderValue(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "'";
  size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  at = header.find_first_not_of(" :", at + quoted.size());
  if (at == std::string_view::npos) return std::nullopt;
  const char close = header[at] == '(' ? ')' : header[at] == '\'' ? '\'' : ',';
  const size_t end = header.find(close, at + 1);
  if (end == std::string_view::npos) return std::nullopt;
  if (close == ',') return header.substr(at, end - at);
  return header.substr(at + 1, end - at - 1);
}

std::optional<std::vector<int64_t>> ParseTuple(std::string_view text) {
  std::vector<int64_t> dims;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return dims;
    int64_t dim = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (problem != std::errc() || dim < 0) return std::nullopt;
    dims.push_back(dim);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.empty() && text[0] != ',' && text[0] != ' ') return std::nullopt;
  }
}

void SwapBytes(std::string& data, size_t part) {
  for (size_t at = 0; at + part <= data.size(); at += part) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + part));
  }
}

// Column-major to row-major.
std::string Transposed(std::string_view data, const std::vector<int64_t>& dims, size_t element) {
  std::string out(data.size(), '\0');
  std::vector<int64_t> index(dims.size(), 0);
  for (size_t at = 0; at * element < data.size(); ++at) {
    size_t to = 0;
    for (size_t d = 0; d < dims.size(); ++d) to = to * static_cast<size_t>(dims[d]) + static_cast<size_t>(index[d]);
    std::memcpy(out.data() + to * element, data.data() + at * element, element);
    for (size_t d = 0; d < dims.size() && ++index[d] == dims[d]; ++d) index[d] = 0;
  }
  return out;
}

}  // namespace

Result<Tensor> ParseNpy(std::string_view bytes, std::string_view what) try {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) return Invalid(what, "not a .npy file");
  const int major = bytes[6];
  if (major < 1 || major > 3) return Invalid(what, "unknown .npy version " + std::to_string(major));
  const size_t length_bytes = major == 1 ? 2 : 4;
  size_t header_bytes = 0;
  if (bytes.size() < 8 + length_bytes) return Invalid(what, "the file ends within its header");
  for (size_t i = 0; i < length_bytes; ++i) {
    header_bytes |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  }
  bytes.remove_prefix(8 + length_bytes);
  if (header_bytes > bytes.size()) return Invalid(what, "the file ends within its header");
  const std::string_view header = bytes.substr(0, header_bytes);
  bytes.remove_prefix(header_bytes);

  const auto descr = HeaderValue(header, "descr");
  const auto order = HeaderValue(header, "fortran_order");
  const auto shape = HeaderValue(header, "shape");
  if (!descr || descr->size() < 2 || !order || !shape)
    return Invalid(what, "its header lacks descr, fortran_order or shape");
  const auto row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NpyType& t) { return t.code == descr->substr(1); });
  if (row == std::end(kTypes)) {
    Error error = Invalid(what, "elements of NumPy type '" + std::string(*descr) + "' cannot be read");
    error.hint = "save the array with a plain number type, or give a TensorProto (.pb)";
    return error;
  }
  const auto dims = ParseTuple(*shape);
  if (!dims) return Invalid(what, "bad shape (" + std::string(*shape) + ")");
  const size_t element = static_cast<size_t>(BytesOf(row->type));
  const auto count = CheckedProduct(*dims);
  const auto needed = count ? CheckedMul(*count, static_cast<int64_t>(element)) : std::nullopt;
  if (!needed || static_cast<uint64_t>(*needed) != bytes.size()) {
    return Invalid(what, "shape (" + std::string(*shape) + ") of " + std::string(DataTypeName(row->type)) +
                             " does not fit the file's " + std::to_string(bytes.size()) + " bytes of data");
  }
  std::string data(bytes);
  if (row->part_bytes > 1 && (*descr)[0] != kHostOrder && (*descr)[0] != '=') {
    SwapBytes(data, static_cast<size_t>(row->part_bytes));
  }
  if (order->substr(0, 4) == "True" && dims->size() > 1) data = Transposed(data, *dims, element);
  return Tensor::FromBytes(row->type, *dims, std::move(data));
} catch (...) {
  return Caught("npy", "read a tensor");
}

Result<Tensor> LoadNpy(const std::string& path, const Limits& limits) try {
  PT_ASSIGN(const std::string bytes, ReadFile(path, limits.file_bytes));
  return ParseNpy(bytes, path);
} catch (...) {
  return Caught("npy", "read a tensor");
}

Result<std::string> NpyBytes(const Tensor& tensor) try {
  const int64_t element = BytesOf(tensor.type());
  if (element == 0) {
    return MakeError(ErrorCode::kUnsupported, "npy.type",
                     "NumPy files cannot hold elements of type " + std::string(DataTypeName(tensor.type())));
  }
  const auto row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NpyType& t) { return t.type == tensor.type(); });
  std::string descr = "|V" + std::to_string(element);
  if (row != std::end(kTypes)) descr = (element == 1 ? '|' : kHostOrder) + std::string(row->code);
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (const int64_t dim : tensor.dims()) header += std::to_string(dim) + ", ";
  if (tensor.dims().size() > 1) header.resize(header.size() - 2);
  if (tensor.dims().size() == 1) header.pop_back();
  header += "), }";
  const size_t preamble_bytes = kMagic.size() + 4;
  header.append((64 - (preamble_bytes + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  if (header.size() > 65535) return MakeError(ErrorCode::kUnsupported, "npy.rank", "too many dims for a NumPy file");
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return out;
} catch (...) {
  return Caught("npy", "write a tensor");
}

}  // namespace pt
