// Operators whose results are as large as the data says: NonZero, Compress. What is selected is worked out when the
// routine is made, from the inputs' contents.
#include <array>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/small_floats.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Which elements of the constant are not 0, in row-major order.
Result<std::vector<int64_t>> FindNonZero(const ReferenceSite& site, const TensorFacts& in) {
  std::vector<int64_t> found;
  const auto find = [&](const auto* data, auto is_on) {
    for (int64_t i = 0; i < in.count(); ++i) {
      if (is_on(data[i])) found.push_back(i);
    }
    return found;
  };
  const std::byte* bytes = in.constant->bytes().data();
  if (const std::optional<SmallFloat> format = SmallFloatOf(in.type); format && BitsOf(in.type) == 8) {
    return find(reinterpret_cast<const uint8_t*>(bytes),
                [&](uint8_t code) { return DecodeSmallFloat(*format, code) != 0; });
  }
  return VisitType(in.type, [&]<typename T>() -> Result<std::vector<int64_t>> {
    if constexpr (std::is_arithmetic_v<T> || kIsComplex<T>) {
      using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
      return find(reinterpret_cast<const Element*>(bytes), [](Element x) { return x != Element{}; });
    }
    return UnsupportedType(site, in.type);
  });
}

// Indices of the elements that are not 0, one row a dim, in row-major order: of a scalar no rows, unlike in numpy.
Result<ReferenceRoutine> NonZero(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(site.NeedContent(0));
  const TensorFacts& in = site.in[0];
  PT_ASSIGN(std::vector<int64_t> found, FindNonZero(site, in));
  const std::vector<int64_t>& dims = in.dims;
  const auto count = static_cast<int64_t>(found.size());
  PT_CHECK_OK(site.Out(0, DataType::kInt64, {static_cast<int64_t>(dims.size()), count}));
  return ReferenceRoutine{
      [found = std::move(found), dims, strides = DenseStrides(dims)](const TensorCall& run) -> Status {
        int64_t* to = run.out<int64_t>();
        for (size_t d = 0; d < dims.size(); ++d) {
          for (const int64_t at : found) *to++ = at / strides[d] % dims[d];
        }
        return {};
      }};
}

// The slices along an axis, or the elements of the flat input, that the condition is true for.
Result<ReferenceRoutine> Compress(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  PT_CHECK_OK(site.NeedContent(1));
  const TensorFacts& in = site.in[0];
  const bool flat = !HasAxis(site.node);
  size_t axis = 0;
  if (!flat) {
    PT_ASSIGN(axis, OrInvalid(ReadAxis(site.node, site.opset, in.dims.size()), site));
  }
  const int64_t length = flat ? in.count() : in.dims[axis];
  const TensorFacts& condition = site.in[1];
  if (condition.type != DataType::kBool || condition.rank() != 1) {
    return site.Invalid("the condition is not a list of booleans");
  }
  const std::vector<int64_t> truths = condition.constant->ToInts();
  if (condition.count() > length) return site.Invalid("the condition is longer than the axis");
  std::vector<int64_t> kept;
  for (size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] != 0) kept.push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> out = flat ? std::vector<int64_t>{0} : in.dims;
  out[axis] = static_cast<int64_t>(kept.size());
  PT_CHECK_OK(site.Out(0, in.type, out));
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < in.dims.size() && !flat; ++d) (d < axis ? outer : inner) *= d == axis ? 1 : in.dims[d];
  return VisitSizes(site, in.type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      T* to = run.out<T>();
      for (int64_t o = 0; o < outer; ++o) {
        for (const int64_t at : kept) {
          const T* from = run.in<T>(0) + (o * length + at) * inner;
          to = std::copy(from, from + inner, to);
        }
      }
      return {};
    }};
  });
}

constexpr std::array kSelectionOperators = {
    ReferenceRow{.op = "Compress", .make = Compress, .since = 9, .by_content = Inputs({1})},
    ReferenceRow{.op = "NonZero", .make = NonZero, .feeding = Feeding::kWidened, .since = 9, .by_content = Inputs({0})},
};

}  // namespace

std::span<const ReferenceRow> SelectionOperators() { return kSelectionOperators; }

}  // namespace pt::reference
