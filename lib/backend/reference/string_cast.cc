// Cast and CastLike between strings and numbers.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

bool EqualsIgnoringCase(std::string_view text, std::string_view upper) {
  return std::equal(text.begin(), text.end(), upper.begin(), upper.end(),
                    [](char a, char b) { return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b; });
}

std::optional<double> SpecialNumber(std::string_view text) {
  if (EqualsIgnoringCase(text, "INF") || EqualsIgnoringCase(text, "+INF")) {
    return std::numeric_limits<double>::infinity();
  }
  if (EqualsIgnoringCase(text, "-INF")) return -std::numeric_limits<double>::infinity();
  if (EqualsIgnoringCase(text, "NAN")) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// The whole text, without a sign of its own that from_chars would not take.
template <typename N>
std::optional<N> ParseWhole(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  N number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// In plain and scientific form. float goes its own way, so that a number is rounded once.
template <typename T>
std::optional<T> ParseFloat(std::string_view text) {
  if (const std::optional<double> special = SpecialNumber(text)) return ElementOf<T>(*special);
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return ParseWhole<T>(text);
  } else {
    const std::optional<double> wide = ParseWhole<double>(text);
    return wide ? std::optional(ElementOf<T>(*wide)) : std::nullopt;
  }
}

// A number with a fraction is cut off, as a cast of the number is; one beyond the type's range is none.
template <typename T>
std::optional<T> ParseInteger(std::string_view text) {
  if (const std::optional<T> whole = ParseWhole<T>(text)) return whole;
  const std::optional<double> real = ParseWhole<double>(text);
  if (!real || !std::isfinite(*real)) return std::nullopt;
  const double cut = std::trunc(*real);
  // Both ends are powers of two, or 0, and exact as doubles.
  const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double least = std::is_signed_v<T> ? -beyond : 0;
  if (cut < least || cut >= beyond) return std::nullopt;
  return static_cast<T>(cut);
}

template <typename T>
Result<Tensor> Parse(const DatumCall& call, DataType to) {
  const Tensor& from = call.in[0]->tensor();
  std::vector<T> numbers;
  for (const std::string& text : from.strings()) {
    std::optional<T> number;
    if constexpr (kIsFloat<T>) {
      number = ParseFloat<T>(text);
    } else {
      number = ParseInteger<T>(text);
    }
    if (!number) {
      return call.Invalid("\"" + text.substr(0, 100) + "\" is not a number of type " + std::string(DataTypeName(to)));
    }
    numbers.push_back(*number);
  }
  return Tensor::Of<T>(to, from.dims(), numbers);
}

Status FromStrings(DatumCall& call, DataType to) {
  if (to == DataType::kString) {
    call.out[0] = *call.in[0];
    return {};
  }
  Result<Tensor> numbers = VisitType(to, [&]<typename T>() -> Result<Tensor> {
    if constexpr (kIsNumber<T> && !std::is_same_v<T, bool>) return Parse<T>(call, to);
    return call.Unsupported("is not supported from strings to " + std::string(DataTypeName(to)));
  });
  if (!numbers.ok()) return std::move(numbers).error();
  call.out[0] = Datum(std::move(numbers).value());
  return {};
}

// The least digits that give the number back, without an exponent. Of 16-bit floats those of a float.
template <typename T>
std::string NumberText(T number) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(number);
  } else if constexpr (!std::is_floating_point_v<T>) {
    return NumberText(ToFloat(number));
  } else {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-INF" : "INF";
    std::array<char, 400> text{};  // of a double: 309 digits before the point, or 325 behind it and 17 more
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    return {text.data(), end};
  }
}

Status ToStrings(DatumCall& call) {
  const Tensor& from = call.in[0]->tensor();
  return VisitType(from.type(), [&]<typename T>() -> Status {
    if constexpr (kIsNumber<T> && !std::is_same_v<T, bool>) {
      uint64_t bytes = 0;
      for (const T number : from.values<T>()) bytes += NumberText(number).size();
      PT_ASSIGN(Receipt receipt, CountStrings(call.memory, from.element_count(), bytes));
      std::vector<std::string> texts;
      for (const T number : from.values<T>()) texts.push_back(NumberText(number));
      return call.SetStrings(0, from.dims(), std::move(texts), std::move(receipt));
    }
    return call.Unsupported("is not supported from " + std::string(DataTypeName(from.type())) + " to strings");
  });
}

Status CastData(DatumCall& call, DataType to) {
  PT_ASSIGN(const Tensor* const from, call.TensorAt(0));
  return from->type() == DataType::kString ? FromStrings(call, to) : ToStrings(call);
}

Status Cast(DatumCall& call) {
  PT_ASSIGN(const DataType to, OrInvalid(ReadNamedType(call.node, "to"), call));
  return CastData(call, to);
}

Status CastLike(DatumCall& call) {
  PT_ASSIGN(const Tensor* const like, call.TensorAt(1));
  return CastData(call, like->type());
}

constexpr std::array kStringCastOperators = {DatumOperator{"Cast", Cast}, DatumOperator{"CastLike", CastLike}};

}  // namespace

std::span<const DatumOperator> StringCastOperators() { return kStringCastOperators; }

}  // namespace pt::reference
