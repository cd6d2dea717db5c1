// Tensors made from numbers: Constant, ConstantOfShape, Range, EyeLike, window functions.
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/cast.h"
#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/constants.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

Result<ReferenceRoutine> Constant(ReferenceSite& site) {
  const std::optional<Tensor> given = ReadConstant(site.node);
  if (!given) return site.Unsupported("is supported with numbers only");
  const Tensor& tensor = *given;
  if (BytesOf(tensor.type()) == 0)
    return site.Unsupported("is not supported for " + std::string(DataTypeName(tensor.type())));
  PT_CHECK_OK(site.Out(0, tensor.type(), tensor.dims()));
  return ReferenceRoutine{[tensor = tensor](const TensorCall& run) -> Status {
    if (!tensor.bytes().empty()) std::memcpy(run.out<void>(), tensor.bytes().data(), tensor.bytes().size());
    return {};
  }};
}

Result<ReferenceRoutine> ConstantOfShape(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const Tensor value, OrInvalid(ReadFillValue(site.node), site));
  if (site.in[0].type != DataType::kInt64 || site.in[0].rank() > 1)
    return site.Invalid("the shape is not a list of int64");
  std::vector<int64_t> dims;
  if (site.is_constant(0)) {
    dims = site.in[0].constant->ToInts();
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, value.type(), site.in[0].count()));
    dims = site.out[0].dims;
  }
  PT_CHECK_OK(site.Out(0, value.type(), dims));
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  if (BitsOf(value.type()) == 0) return UnsupportedType(site, value.type());
  return VisitSizes(site, value.type(), [&]<typename T>() -> Result<ReferenceRoutine> {
    T element;
    if (IsSubByte(value.type())) {
      Unpack(value.type(), value.bytes().data(), 1, &element);
    } else {
      std::memcpy(&element, value.bytes().data(), sizeof(T));
    }
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      if (!std::equal(dims.begin(), dims.end(), run.in<int64_t>(0))) {
        return MakeError(ErrorCode::kInvalidInput, "reference.shape",
                         "ConstantOfShape: the shape is not the one planned for");
      }
      std::fill(run.out<T>(), run.out<T>() + count, element);
      return {};
    }};
  });
}

// ceil((limit - start) / delta) steps; -1 when that is not a sensible number.
int64_t RangeLength(DataType type, const void* start, const void* limit, const void* delta) {
  const double a = LoadAs<double>(type, start, 0), b = LoadAs<double>(type, limit, 0),
               d = LoadAs<double>(type, delta, 0);
  const double length = std::ceil((b - a) / d);
  if (d == 0 || std::isnan(length) || length >= 0x1p62) return -1;
  return length <= 0 ? 0 : static_cast<int64_t>(length);
}

Result<ReferenceRoutine> Range(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const DataType type = site.in[0].type;
  for (const TensorFacts& input : site.in) {
    if (input.type != type || input.count() != 1) return site.Invalid("its inputs are not scalars of one type");
  }
  int64_t count = 0;
  if (site.is_constant(0) && site.is_constant(1) && site.is_constant(2)) {
    count = RangeLength(type, site.in[0].constant->bytes().data(), site.in[1].constant->bytes().data(),
                        site.in[2].constant->bytes().data());
    if (count < 0) return site.Invalid("the range has no end");
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, type, 1));
    count = site.out[0].dims[0];
  }
  PT_CHECK_OK(site.Out(0, type, {count}));
  return VisitNumbers(site, type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      if (RangeLength(type, run.in<void>(0), run.in<void>(1), run.in<void>(2)) != count) {
        return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Range: the length is not the one planned for");
      }
      using Arithmetic = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
      const auto start = static_cast<Arithmetic>(*run.in<T>(0)), delta = static_cast<Arithmetic>(*run.in<T>(2));
      for (int64_t i = 0; i < count; ++i) run.out<T>()[i] = static_cast<T>(start + static_cast<Arithmetic>(i) * delta);
      return {};
    }};
  });
}

Result<ReferenceRoutine> EyeLike(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  if (site.in[0].rank() != 2) return site.Invalid("its input is not a matrix");
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(site.node, "dtype", site.in[0].type), site));
  if (!CanCast(DataType::kFloat32, type) || type == DataType::kFloat8E8M0) return UnsupportedType(site, type);
  PT_CHECK_OK(site.Out(0, type, site.in[0].dims));
  const int64_t rows = site.in[0].dims[0], cols = site.in[0].dims[1], k = ReadDiagonal(site.node);
  std::array<std::byte, sizeof(Bytes16)> bytes_of_one{};  // those of zero are zero in all types
  const float one = 1;
  Convert(DataType::kFloat32, type, true, &one, bytes_of_one.data(), 0, 1);
  return VisitSizes(site, type, [&]<typename T>() -> Result<ReferenceRoutine> {
    T on{};
    std::memcpy(&on, bytes_of_one.data(), sizeof on);
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      for (int64_t i = 0; i < rows * cols; ++i) {
        int64_t diagonal = 0;
        const bool met = !__builtin_add_overflow(i / cols, k, &diagonal) && i % cols == diagonal;
        run.out<T>()[i] = met ? on : T{};
      }
      return {};
    }};
  });
}

// a0 - a1·cos(2πi/N) + a2·cos(4πi/N); integers are cut off, as ONNX's Cast does it.
Result<ReferenceRoutine> CosineWindow(ReferenceSite& site, double a0, double a1, double a2) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  if (site.in[0].count() != 1 || !IsIndexType(site.in[0].type)) return site.Invalid("the size is not an integer");
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(site.node, "output_datatype", DataType::kFloat32), site));
  int64_t size = 0;
  if (site.is_constant(0)) {
    size = site.in[0].constant->ToInts()[0];
    if (size < 0) return site.Invalid("the size is negative");
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, type, 1));
    size = site.out[0].dims[0];
  }
  PT_CHECK_OK(site.Out(0, type, {size}));
  const bool periodic = IsPeriodic(site.node);
  const DataType size_type = site.in[0].type;
  return VisitType(type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if constexpr (!kIsNumber<T> || std::is_same_v<T, bool>)
      return UnsupportedType(site, type);
    else
      return ReferenceRoutine{[=](const TensorCall& run) -> Status {
        if (LoadAs<int64_t>(size_type, run.in<void>(0), 0) != size) {
          return MakeError(ErrorCode::kInvalidInput, "reference.shape", "a window's size is not the one planned for");
        }
        const auto n = static_cast<double>(periodic ? size : std::max<int64_t>(1, size - 1));
        for (int64_t i = 0; i < size; ++i) {
          const double turn = 2 * std::numbers::pi * static_cast<double>(i) / n;
          run.out<T>()[i] = ElementOf<T>(a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
        }
        return {};
      }};
  });
}
Result<ReferenceRoutine> HannWindow(ReferenceSite& site) { return CosineWindow(site, 0.5, 0.5, 0); }
Result<ReferenceRoutine> HammingWindow(ReferenceSite& site) { return CosineWindow(site, 25.0 / 46, 21.0 / 46, 0); }
Result<ReferenceRoutine> BlackmanWindow(ReferenceSite& site) { return CosineWindow(site, 0.42, 0.5, 0.08); }

constexpr std::array kGeneratorOperators = {
    ReferenceRow{.op = "BlackmanWindow", .make = BlackmanWindow},
    ReferenceRow{.op = "Constant", .make = Constant},
    ReferenceRow{.op = "ConstantOfShape", .make = ConstantOfShape},
    ReferenceRow{.op = "EyeLike", .make = EyeLike},
    ReferenceRow{.op = "HammingWindow", .make = HammingWindow},
    ReferenceRow{.op = "HannWindow", .make = HannWindow},
    ReferenceRow{.op = "Range", .make = Range, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> GeneratorOperators() { return kGeneratorOperators; }

}  // namespace pt::reference
