// The loops of integer_tiles-inl.h for each set of instructions, by what differs: how four products of bytes are added
// to each sum.
#include "lib/backend/host_kernels/products/integer_panels.h"

#include <hwy/base.h>
#if HWY_ARCH_X86
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#if HWY_ARCH_X86
HWY_PUSH_ATTRIBUTES("avx,avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
namespace pt::host::avx512_vnni {
namespace {

constexpr int64_t kLanes = 16, kVectors = 2, kRows = 8;
using Words = uint32_t __attribute__((vector_size(64)));

HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  return reinterpret_cast<Words>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

#include "lib/backend/host_kernels/products/integer_tiles-inl.h"

}  // namespace
}  // namespace pt::host::avx512_vnni
HWY_POP_ATTRIBUTES

HWY_PUSH_ATTRIBUTES("avx,avx2,fma,avxvnni")
namespace pt::host::avx_vnni {
namespace {

constexpr int64_t kLanes = 8, kVectors = 2, kRows = 4;
using Words = uint32_t __attribute__((vector_size(32)));

HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  return reinterpret_cast<Words>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums), reinterpret_cast<__m256i>(a),
                                                         reinterpret_cast<__m256i>(b)));
}

#include "lib/backend/host_kernels/products/integer_tiles-inl.h"

}  // namespace
}  // namespace pt::host::avx_vnni
HWY_POP_ATTRIBUTES

HWY_PUSH_ATTRIBUTES("avx,avx2,fma")
namespace pt::host::avx2 {
namespace {

constexpr int64_t kLanes = 8, kVectors = 2, kRows = 4;
using Words = uint32_t __attribute__((vector_size(32)));

// As numbers of 16 bits, two of which are multiplied and added without saturating.
HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  const auto x = reinterpret_cast<__m256i>(a), y = reinterpret_cast<__m256i>(b);
  const __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0xFF)), _mm256_srai_epi16(_mm256_slli_epi16(y, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(y, 8));
  return sums + reinterpret_cast<Words>(even) + reinterpret_cast<Words>(odd);
}

#include "lib/backend/host_kernels/products/integer_tiles-inl.h"

}  // namespace
}  // namespace pt::host::avx2
HWY_POP_ATTRIBUTES
#endif

namespace pt::host::plain {
namespace {

constexpr int64_t kLanes = 4, kVectors = 4, kRows = 2;
using Words = uint32_t __attribute__((vector_size(16)));

HWY_INLINE Words Dot(Words sums, Words a, Words b) {
  using Signed = int32_t __attribute__((vector_size(16)));
  for (int byte = 0; byte < kQuad; ++byte) {
    const Words x = (a >> static_cast<uint32_t>(8 * byte)) & 0xFFU;
    const auto y = reinterpret_cast<Signed>(b << static_cast<uint32_t>(24 - 8 * byte)) >> 24;
    sums += x * reinterpret_cast<Words>(y);
  }
  return sums;
}

#include "lib/backend/host_kernels/products/integer_tiles-inl.h"

}  // namespace
}  // namespace pt::host::plain

namespace pt::host {

std::vector<IntegerPanels> IntegerPanelsOfProcessor() {
  std::vector<IntegerPanels> all;
#if HWY_ARCH_X86
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    all.push_back(avx512_vnni::kFound);
  }
  if (__builtin_cpu_supports("avxvnni")) all.push_back(avx_vnni::kFound);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(avx2::kFound);
#endif
  all.push_back(plain::kFound);
  return all;
}

IntegerPanels FindIntegerPanels() { return IntegerPanelsOfProcessor().front(); }

}  // namespace pt::host
