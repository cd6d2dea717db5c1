#include "plugins/cuda/element_types.h"

#include <charconv>
#include <cmath>

namespace pt::cuda {
namespace {

// Roundings are those of partitiontuner/graph/half.h, in whole numbers: the same on every architecture, and no header
// of the toolkit is needed where kernels are compiled.
constexpr std::string_view kElementTypes = R"(
struct pt_half {
  unsigned short bits;
  pt_half() = default;
  __device__ pt_half(float number) {
    const unsigned all = __float_as_uint(number), sign = (all >> 16) & 0x8000u, magnitude = all & 0x7fffffffu;
    const unsigned small = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u;
    const unsigned normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    const unsigned finite = magnitude < 0x38800000u ? small : normal;
    const unsigned infinite = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    bits = (unsigned short)(sign | (magnitude >= 0x477ff000u ? infinite : finite));
  }
  __device__ operator float() const {
    const unsigned sign = (unsigned)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu;
    const unsigned small = __float_as_uint((float)mantissa * 5.9604644775390625e-8f);
    const unsigned finite = exponent == 0 ? small : ((exponent + 112u) << 23) | (mantissa << 13);
    return __uint_as_float(sign | (exponent == 31u ? 0x7f800000u | (mantissa << 13) : finite));
  }
};
struct pt_bfloat16 {
  unsigned short bits;
  pt_bfloat16() = default;
  __device__ pt_bfloat16(float number) {
    const unsigned all = __float_as_uint(number);
    const bool nan = (all & 0x7fffffffu) > 0x7f800000u;
    bits = (unsigned short)(nan ? (all >> 16) | 0x40u : (all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
  }
  __device__ operator float() const { return __uint_as_float((unsigned)bits << 16); }
};
__device__ inline float pt_odd(double number) {
  const float near = (float)number;
  const unsigned all = __float_as_uint(near);
  if ((double)near == number || (all & 0x7f800000u) == 0x7f800000u || (all & 1u) != 0) return near;
  if (near == 0.0f) return __uint_as_float(number < 0 ? 0x80000001u : 1u);
  return __uint_as_float(((double)near < number) == (near > 0) ? all + 1 : all - 1);
}
// The integer nearest to a number of steps, shifted and cut off; the even one halfway. NaN gives 0.
__device__ inline int pt_steps(float steps, int zero, int least, int most) {
  const float low = (float)(least - zero), high = (float)(most - zero), whole = rintf(steps);
  return whole != whole ? 0 : (int)(whole < low ? low : whole > high ? high : whole) + zero;
}
__device__ inline int pt_steps(double steps, int zero, int least, int most) {
  const double low = least - zero, high = most - zero, whole = rint(steps);
  return whole != whole ? 0 : (int)(whole < low ? low : whole > high ? high : whole) + zero;
}
template <typename T> __device__ T pt_plain(const T&);
template <typename T> struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) Four { T at[4]; };
)";

template <typename T>
std::string HexLiteral(T number, const char* suffix) {
  if (!std::isfinite(number)) return "";
  char digits[64];
  // Hexadecimal: exact, and the same in every locale.
  const auto [end, fault] = std::to_chars(digits, digits + sizeof(digits), std::fabs(number), std::chars_format::hex);
  if (fault != std::errc()) return "";
  const std::string text = "0x" + std::string(digits, end) + suffix;
  return std::signbit(number) ? "(-" + text + ")" : text;
}

}  // namespace

std::string_view CTypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "float";
    case DataType::kFloat16:
      return "pt_half";
    case DataType::kBfloat16:
      return "pt_bfloat16";
    case DataType::kFloat64:
      return "double";
    case DataType::kInt8:
      return "signed char";
    case DataType::kUint8:
    case DataType::kBool:
      return "unsigned char";
    case DataType::kInt16:
      return "short";
    case DataType::kUint16:
      return "unsigned short";
    case DataType::kInt32:
      return "int";
    case DataType::kUint32:
      return "unsigned int";
    case DataType::kInt64:
      return "long long";
    case DataType::kUint64:
      return "unsigned long long";
    default:
      return "";
  }
}

std::string_view ComputeTypeOf(DataType type) { return IsReal(type) ? "float" : CTypeOf(type); }

std::string_view CTypeOfBytes(int64_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned int";
    case 8:
      return "unsigned long long";
    default:
      return "";
  }
}

bool IsReal(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

std::string FloatLiteral(float number) { return HexLiteral(number, "f"); }

std::string LiteralOf(DataType type, const Tensor& scalar) {
  if (scalar.element_count() != 1 || scalar.type() != type || CTypeOf(type).empty()) return "";
  if (type == DataType::kFloat32) return FloatLiteral(scalar.values<float>()[0]);
  if (type == DataType::kFloat64) return HexLiteral(scalar.values<double>()[0], "");
  if (IsReal(type)) return "";
  const int64_t number = scalar.ToInts()[0];
  // The least 64-bit number has no literal.
  if (number == INT64_MIN) return "((" + std::string(CTypeOf(type)) + ")(-9223372036854775807ll - 1))";
  return "((" + std::string(CTypeOf(type)) + ")(" + std::to_string(number) + "ll))";
}

std::string_view ElementTypesText() { return kElementTypes; }

}  // namespace pt::cuda
