#include "lib/backend/host_kernels/kernels/byte_lookup.h"

#include <hwy/base.h>
#if HWY_ARCH_X86
#include <immintrin.h>
#endif

namespace pt::host {
namespace {

void LookUpOneByOne(const ByteTable& table, const uint8_t* x, uint8_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace
}  // namespace pt::host

#if HWY_ARCH_X86
HWY_PUSH_ATTRIBUTES("avx,avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")
namespace pt::host {
namespace {

// The whole table in four registers: each half is looked up by the low seven bits, the highest one picks the half.
void LookUpVectors(const ByteTable& table, const uint8_t* x, uint8_t* y, int64_t n) {
  constexpr int64_t kBytes = 64;
  const __m512i t0 = _mm512_loadu_si512(table.data()), t1 = _mm512_loadu_si512(table.data() + kBytes),
                t2 = _mm512_loadu_si512(table.data() + 2 * kBytes), t3 = _mm512_loadu_si512(table.data() + 3 * kBytes);
  for (int64_t i = 0; i < n; i += kBytes) {
    const int64_t left = n - i;
    const __mmask64 there = left >= kBytes ? ~__mmask64{0} : (__mmask64{1} << static_cast<uint64_t>(left)) - 1;
    const __m512i indices = _mm512_maskz_loadu_epi8(there, x + i);
    const __m512i low = _mm512_permutex2var_epi8(t0, indices, t1), high = _mm512_permutex2var_epi8(t2, indices, t3);
    _mm512_mask_storeu_epi8(y + i, there, _mm512_mask_blend_epi8(_mm512_movepi8_mask(indices), low, high));
  }
}

}  // namespace
}  // namespace pt::host
HWY_POP_ATTRIBUTES
#endif

namespace pt::host {

std::vector<ByteLookup> ByteLookupsOfProcessor() {
  std::vector<ByteLookup> all;
#if HWY_ARCH_X86
  if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    all.push_back(LookUpVectors);
  }
#endif
  all.push_back(LookUpOneByOne);
  return all;
}

ByteLookup FindByteLookup() { return ByteLookupsOfProcessor().front(); }

}  // namespace pt::host
