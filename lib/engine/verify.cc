#include "partitiontuner/engine/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/dims_text.h"

namespace pt {
namespace {

template <typename T>
T Load(const std::byte* bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Elements of the floating-point types that have a tolerance.
std::optional<double> FloatAt(const Tensor& tensor, int64_t index) {
  return VisitType(tensor.type(), [&]<typename T>() -> std::optional<double> {
    if constexpr (kIsFloat<T>) return NumberOf<double>(Load<T>(tensor.bytes().data(), index));
    return std::nullopt;
  });
}
bool HasTolerance(DataType type) {
  return VisitType(type, []<typename T>() { return kIsFloat<T>; });
}

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

Comparison Differs(std::string reason) {
  Comparison result;
  result.equal = false;
  result.of_tolerance = HUGE_VAL;
  result.reason = std::move(reason);
  return result;
}

// Of a tolerance, by the difference.
double ShareOf(double difference, double allowed) {
  if (difference == 0) return 0;
  return allowed > 0 ? difference / allowed : HUGE_VAL;
}

// One element of an expected tensor or sample, with its place in the actual tensor.
class ExpectedFloats {
 public:
  explicit ExpectedFloats(const ExpectedTensor& expected) : expected_(expected) {}
  int64_t count() const {
    return expected_.tensor ? expected_.tensor->element_count() : static_cast<int64_t>(expected_.sample.size());
  }
  int64_t place(int64_t i) const { return expected_.tensor ? i : i * expected_.stride; }
  double value(int64_t i) const {
    return expected_.tensor ? *FloatAt(*expected_.tensor, i) : expected_.sample[static_cast<size_t>(i)];
  }

 private:
  const ExpectedTensor& expected_;
};

Comparison CompareFloats(const ExpectedTensor& expected, const Tensor& actual, const Tolerance& tolerance) {
  const ExpectedFloats wanted(expected);
  Comparison result;
  result.compared = wanted.count();
  double largest = 0;
  for (int64_t i = 0; i < wanted.count(); ++i) {
    const double value = std::fabs(wanted.value(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const bool elementwise = tolerance.kind == Tolerance::Kind::kElementwise;
  const double bound = std::max(tolerance.absolute, tolerance.relative * largest);
  result.largest = largest;
  double worst_excess = 0;
  for (int64_t i = 0; i < wanted.count(); ++i) {
    const double want = wanted.value(i), got = *FloatAt(actual, wanted.place(i));
    if (std::isnan(want)) ++result.nan_count;
    const auto note = [&](double excess) {
      result.equal = false;
      if (std::isinf(excess)) result.of_tolerance = excess;
      ++(std::isnan(want) != std::isnan(got) ? result.nan_differences : result.other_differences);
      if (!(excess > worst_excess)) return;
      worst_excess = excess;
      result.reason =
          "element " + std::to_string(wanted.place(i)) + " is " + Number(got) + ", expected " + Number(want);
    };
    if (!std::isfinite(want) || !std::isfinite(got)) {
      if (!(std::isnan(want) && std::isnan(got)) && want != got) note(HUGE_VAL);
      continue;
    }
    const double difference = std::fabs(want - got);
    result.max_abs = std::max(result.max_abs, difference);
    const double scale = elementwise ? std::fabs(want) : largest;
    if (difference > 0) result.max_rel = std::max(result.max_rel, scale > 0 ? difference / scale : HUGE_VAL);
    const double allowed = elementwise ? tolerance.absolute + tolerance.relative * std::fabs(want) : bound;
    result.of_tolerance = std::max(result.of_tolerance, ShareOf(difference, allowed));
    if (difference > allowed) note(difference - allowed);
  }
  return result;
}

// Integers and booleans of any width, exact unless a quantisation allows steps.
Comparison CompareInts(const std::vector<int64_t>& want, const std::vector<int64_t>& got, int64_t stride,
                       int64_t allowed) {
  Comparison result;
  result.compared = static_cast<int64_t>(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t place = i * static_cast<size_t>(stride);
    const uint64_t a = static_cast<uint64_t>(want[i]), b = static_cast<uint64_t>(got[place]);
    const uint64_t difference = want[i] > got[place] ? a - b : b - a;
    result.max_abs = std::max(result.max_abs, static_cast<double>(difference));
    result.of_tolerance =
        std::max(result.of_tolerance, ShareOf(static_cast<double>(difference), static_cast<double>(allowed)));
    if (difference <= static_cast<uint64_t>(allowed)) continue;
    if (result.equal) {
      result.reason = "element " + std::to_string(place) + " is " + std::to_string(got[place]) + ", expected " +
                      std::to_string(want[i]);
    }
    result.equal = false;
  }
  return result;
}

Comparison CompareSample(const ExpectedTensor& expected, const Tensor& actual, const Tolerance& tolerance) {
  if (expected.dims != actual.dims()) {
    return Differs("dims are " + DimsText(actual.dims()) + ", expected " + DimsText(expected.dims));
  }
  // As many as there should be: a shorter sample would prove less than it seems to.
  const int64_t elements = actual.element_count();
  if (expected.stride < 1 ||
      static_cast<int64_t>(expected.sample.size()) != elements / expected.stride + (elements % expected.stride != 0)) {
    return Differs("a sample of " + std::to_string(expected.sample.size()) + " values with stride " +
                   std::to_string(expected.stride) + " does not fit " + DimsText(expected.dims));
  }
  if (HasTolerance(actual.type())) return CompareFloats(expected, actual, tolerance);
  const std::vector<int64_t> got = actual.ToInts();
  if (got.empty() && actual.element_count() > 0) {
    return Differs("a sample cannot be compared with " + std::string(DataTypeName(actual.type())));
  }
  std::vector<int64_t> want;
  for (const double value : expected.sample) {
    if (std::trunc(value) != value || std::fabs(value) > 9e15) {
      return Differs("the sample has " + Number(value) + ", the output is " + std::string(DataTypeName(actual.type())));
    }
    want.push_back(static_cast<int64_t>(value));
  }
  return CompareInts(want, got, expected.stride, tolerance.integer_steps);
}

// The eight-bit types have several NaN, all of them equal.
bool IsNanByte(DataType type, std::byte byte) {
  const uint8_t magnitude = std::to_integer<uint8_t>(byte) & 0x7f;
  switch (type) {
    case DataType::kFloat8E4M3FN:
      return magnitude == 0x7f;
    case DataType::kFloat8E5M2:
      return magnitude > 0x7c;
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2FNUZ:
      return byte == std::byte{0x80};
    case DataType::kFloat8E8M0:
      return byte == std::byte{0xff};
    default:
      return false;
  }
}

Comparison CompareExactly(const Tensor& want, const Tensor& got) {
  Comparison result;
  result.compared = want.element_count();
  for (int64_t i = 0; i < static_cast<int64_t>(want.strings().size()); ++i) {
    const std::string &a = want.strings()[static_cast<size_t>(i)], &b = got.strings()[static_cast<size_t>(i)];
    if (a != b) return Differs("element " + std::to_string(i) + " is \"" + b + "\", expected \"" + a + "\"");
  }
  // What a packed tensor's last byte holds behind the last element does not count.
  const int used = static_cast<int>(want.element_count() * BitsOf(want.type()) % 8);  // bits of it; 0: all
  for (size_t i = 0; i < want.bytes().size(); ++i) {
    const bool cut = used != 0 && i + 1 == want.bytes().size();
    const std::byte mask{static_cast<uint8_t>(cut ? (1 << used) - 1 : 255)};
    const std::byte a = want.bytes()[i] & mask, b = got.bytes()[i] & mask;
    const bool nan = IsNanByte(want.type(), a);
    result.nan_count += nan;
    if (a != b && !(nan && IsNanByte(want.type(), b))) {
      return Differs("byte " + std::to_string(i) + " differs");
    }
  }
  return result;
}

}  // namespace

Comparison CompareKinds(const ExpectedTensor& expected, const Tensor& actual) {
  if (expected.tensor && expected.tensor->type() != actual.type()) {
    return Differs("type is " + std::string(DataTypeName(actual.type())) + ", expected " +
                   std::string(DataTypeName(expected.tensor->type())));
  }
  const std::vector<int64_t>& dims = expected.tensor ? expected.tensor->dims() : expected.dims;
  if (dims != actual.dims()) return Differs("dims are " + DimsText(actual.dims()) + ", expected " + DimsText(dims));
  return {};
}

Comparison CompareTensors(const ExpectedTensor& expected, const Tensor& actual, const Tolerance& tolerance) {
  if (!expected.tensor) return CompareSample(expected, actual, tolerance);
  if (Comparison kinds = CompareKinds(expected, actual); !kinds.equal) return kinds;
  const Tensor& want = *expected.tensor;
  if (HasTolerance(want.type())) return CompareFloats(expected, actual, tolerance);
  if (IsInteger(want.type()) || want.type() == DataType::kBool) {
    return CompareInts(want.ToInts(), actual.ToInts(), 1, tolerance.integer_steps);
  }
  return CompareExactly(want, actual);
}

Comparison CompareData(const ExpectedTensor& expected, const Datum& actual, const Tolerance& tolerance) {
  const auto differ = [&](const Datum& want) {
    return Differs("is " + ToString(actual) + ", expected " + ToString(want));
  };
  const auto compare = [&](const Tensor& want, const Tensor& got) {
    ExpectedTensor one;
    one.tensor = want;
    return CompareTensors(one, got, tolerance);
  };
  if (!expected.datum) {
    if (actual.is_tensor()) return CompareTensors(expected, actual.tensor(), tolerance);
    return Differs("is " + ToString(actual) + ", expected a tensor");
  }
  const Datum& want = *expected.datum;
  if (want.kind() != actual.kind()) return differ(want);
  if (want.is_tensor()) return compare(want.tensor(), actual.tensor());
  if (!want.is_sequence()) return {};
  if (want.elements().size() != actual.elements().size()) return differ(want);
  Comparison all;
  for (size_t i = 0; i < want.elements().size(); ++i) {
    const Comparison one = compare(*want.elements()[i], *actual.elements()[i]);
    all.max_abs = std::max(all.max_abs, one.max_abs);
    all.max_rel = std::max(all.max_rel, one.max_rel);
    all.largest = std::max(all.largest, one.largest);
    all.of_tolerance = std::max(all.of_tolerance, one.of_tolerance);
    all.compared += one.compared;
    all.nan_count += one.nan_count;
    all.nan_differences += one.nan_differences;
    // What differs as a whole has no elements to count.
    all.other_differences += one.equal || one.nan_differences + one.other_differences > 0 ? one.other_differences : 1;
    if (all.equal && !one.equal) all.reason = "tensor " + std::to_string(i) + ": " + one.reason;
    all.equal = all.equal && one.equal;
  }
  return all;
}

double RelativeError(std::span<const Tensor> expected, std::span<const Tensor> actual) {
  if (expected.size() != actual.size()) return HUGE_VAL;
  // Any difference of real numbers is within it; what is not equal even so has no measure.
  constexpr Tolerance kAnyNumber = {Tolerance::Kind::kOfMaximum, std::numeric_limits<double>::infinity(), 0, 0};
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ExpectedTensor wanted;
    wanted.tensor = expected[i];
    const Comparison comparison = CompareTensors(wanted, actual[i], kAnyNumber);
    if (!comparison.equal) return HUGE_VAL;
    if (HasTolerance(expected[i].type())) largest = std::max(largest, comparison.max_rel);
  }
  return largest;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.dims() == b.dims() && std::ranges::equal(a.bytes(), b.bytes()) &&
         std::ranges::equal(a.strings(), b.strings());
}

bool SameData(const Datum& a, const Datum& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_tensor()) return SameBits(a.tensor(), b.tensor());
  return !a.is_sequence() ||
         (a.element_type() == b.element_type() &&
          std::ranges::equal(a.elements(), b.elements(),
                             [](const TensorPtr& x, const TensorPtr& y) { return SameBits(*x, *y); }));
}

}  // namespace pt
