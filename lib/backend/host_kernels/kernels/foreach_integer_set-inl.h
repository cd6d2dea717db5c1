// Includes the file PT_INTEGER_LOOPS once for each set of instructions, in a namespace of PT_INTEGER_NAMESPACE with
// what differs between them:
//   kLanes              of a vector
//   Words               a vector of integers of 32 bits, which wrap around
//   Dot(sums, a, b)     each sum plus the four products of its bytes in a (unsigned) and b (signed)
//   LoadBytes(from)     as many bytes as there are lanes, each as an integer
//   StoreBytes(v, to)   the lowest byte of each integer
// The file defines kFound, what it is included for; ForEachOfProcessor(f) calls f with that of each set which this
// processor has, the best first.
#include <hwy/base.h>
#if HWY_ARCH_X86
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#if HWY_ARCH_X86
HWY_PUSH_ATTRIBUTES("avx,avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
namespace pt::host::PT_INTEGER_NAMESPACE::avx512_vnni {
namespace {

constexpr int64_t kLanes = 16;
using Words = uint32_t __attribute__((vector_size(64)));

HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  return reinterpret_cast<Words>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
// With masks of all lanes: GCC 12 warns of what the functions without them leave undefined.
[[maybe_unused]] HWY_INLINE Words LoadBytes(const uint8_t* from) {
  return reinterpret_cast<Words>(
      _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
[[maybe_unused]] HWY_INLINE void StoreBytes(Words v, uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(0xFFFF, reinterpret_cast<__m512i>(v)));
}

#include PT_INTEGER_LOOPS

}  // namespace
}  // namespace pt::host::PT_INTEGER_NAMESPACE::avx512_vnni
HWY_POP_ATTRIBUTES

// What both sets with vectors of 256 bits have.
#define PT_WORDS_OF_AVX2                                                                                           \
  constexpr int64_t kLanes = 8;                                                                                    \
  using Words = uint32_t __attribute__((vector_size(32)));                                                         \
  [[maybe_unused]] HWY_INLINE Words LoadBytes(const uint8_t* from) {                                               \
    return reinterpret_cast<Words>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))); \
  }                                                                                                                \
  [[maybe_unused]] HWY_INLINE void StoreBytes(Words v, uint8_t* to) {                                              \
    const auto words = reinterpret_cast<__m256i>(v & 0xFFU);                                                       \
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));    \
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(halves, halves));                            \
  }

HWY_PUSH_ATTRIBUTES("avx,avx2,fma,avxvnni")
namespace pt::host::PT_INTEGER_NAMESPACE::avx_vnni {
namespace {

PT_WORDS_OF_AVX2

HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  return reinterpret_cast<Words>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums), reinterpret_cast<__m256i>(a),
                                                         reinterpret_cast<__m256i>(b)));
}

#include PT_INTEGER_LOOPS

}  // namespace
}  // namespace pt::host::PT_INTEGER_NAMESPACE::avx_vnni
HWY_POP_ATTRIBUTES

HWY_PUSH_ATTRIBUTES("avx,avx2,fma")
namespace pt::host::PT_INTEGER_NAMESPACE::avx2 {
namespace {

PT_WORDS_OF_AVX2

// As numbers of 16 bits, two of which are multiplied and added without saturating.
HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  const auto x = reinterpret_cast<__m256i>(a), y = reinterpret_cast<__m256i>(b);
  const __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0xFF)), _mm256_srai_epi16(_mm256_slli_epi16(y, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(y, 8));
  return sums + reinterpret_cast<Words>(even) + reinterpret_cast<Words>(odd);
}

#include PT_INTEGER_LOOPS

}  // namespace
}  // namespace pt::host::PT_INTEGER_NAMESPACE::avx2
HWY_POP_ATTRIBUTES
#undef PT_WORDS_OF_AVX2
#endif

namespace pt::host::PT_INTEGER_NAMESPACE::plain {
namespace {

constexpr int64_t kLanes = 4;
using Words = uint32_t __attribute__((vector_size(16)));

HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  using Signed = int32_t __attribute__((vector_size(16)));
  for (int byte = 0; byte < 4; ++byte) {
    const Words x = (a >> static_cast<uint32_t>(8 * byte)) & 0xFFU;
    const auto y = reinterpret_cast<Signed>(b << static_cast<uint32_t>(24 - 8 * byte)) >> 24;
    sums += x * reinterpret_cast<Words>(y);
  }
  return sums;
}
[[maybe_unused]] HWY_INLINE Words LoadBytes(const uint8_t* from) { return Words{from[0], from[1], from[2], from[3]}; }
[[maybe_unused]] HWY_INLINE void StoreBytes(Words v, uint8_t* to) {
  for (int64_t i = 0; i < kLanes; ++i) to[i] = static_cast<uint8_t>(v[i]);
}

#include PT_INTEGER_LOOPS

}  // namespace
}  // namespace pt::host::PT_INTEGER_NAMESPACE::plain

namespace pt::host::PT_INTEGER_NAMESPACE {
namespace {

template <typename F>
void ForEachOfProcessor(F&& f) {
#if HWY_ARCH_X86
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    f(avx512_vnni::kFound);
  }
  if (__builtin_cpu_supports("avxvnni")) f(avx_vnni::kFound);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) f(avx2::kFound);
#endif
  f(plain::kFound);
}

}  // namespace
}  // namespace pt::host::PT_INTEGER_NAMESPACE
#undef PT_INTEGER_LOOPS
#undef PT_INTEGER_NAMESPACE
