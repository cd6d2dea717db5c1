#include "lib/backend/reference/gemm.h"

#include <cstring>

namespace pt::reference {
namespace {

#if defined(__clang__)
#define PT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PT_UNROLL _Pragma("GCC unroll 16")
#endif
#define PT_INLINE inline __attribute__((always_inline))

template <typename T, int kBytes>
struct VectorOf;
#define PT_VECTOR(type, bytes)                             \
  template <>                                              \
  struct VectorOf<type, bytes> {                           \
    typedef type Type __attribute__((vector_size(bytes))); \
  }
PT_VECTOR(float, 16);
PT_VECTOR(float, 32);
PT_VECTOR(float, 64);
PT_VECTOR(double, 16);
PT_VECTOR(double, 32);
PT_VECTOR(double, 64);
#undef PT_VECTOR

template <typename T, int kBytes, int kRows>
PT_INLINE void MultiplyTile(int64_t k, const T* a, const T* b, T* c, int64_t c_stride, bool accumulate) {
  using Vector = typename VectorOf<T, kBytes>::Type;
  constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));
  Vector sum[kRows][2];
  PT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    sum[r][0] = Vector{};
    sum[r][1] = Vector{};
  }
  for (int64_t p = 0; p < k; ++p) {
    Vector b0, b1;
    std::memcpy(&b0, b, sizeof(Vector));
    std::memcpy(&b1, b + kLanes, sizeof(Vector));
    PT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sum[r][0] += b0 * a[r];
      sum[r][1] += b1 * a[r];
    }
    a += kRows;
    b += 2 * kLanes;
  }
  PT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    T* row = c + r * c_stride;
    if (accumulate) {
      Vector old0, old1;
      std::memcpy(&old0, row, sizeof(Vector));
      std::memcpy(&old1, row + kLanes, sizeof(Vector));
      sum[r][0] += old0;
      sum[r][1] += old1;
    }
    std::memcpy(row, &sum[r][0], sizeof(Vector));
    std::memcpy(row + kLanes, &sum[r][1], sizeof(Vector));
  }
}

template <typename T, int kBytes>
PT_INLINE void FilterRow(int64_t n, int64_t taps, const T* weights, const T* in, int64_t step, int64_t dilation,
                         T* out) {
  using Vector = typename VectorOf<T, kBytes>::Type;
  constexpr int64_t kLanes = kBytes / static_cast<int>(sizeof(T));
  int64_t i = 0;
  if (step == 1) {
    for (; i + kLanes <= n; i += kLanes) {
      Vector sum, x;
      std::memcpy(&sum, out + i, sizeof(Vector));
      for (int64_t j = 0; j < taps; ++j) {
        std::memcpy(&x, in + i + j * dilation, sizeof(Vector));
        sum += x * weights[j];
      }
      std::memcpy(out + i, &sum, sizeof(Vector));
    }
  }
  for (; i < n; ++i) {
    T sum = out[i];
    for (int64_t j = 0; j < taps; ++j) sum += in[i * step + j * dilation] * weights[j];
    out[i] = sum;
  }
}

// One pair of functions a processor family; `target` is what the compiler may use in them.
#define PT_TILE(name, target, bytes, rows)                                                                            \
  template <typename T>                                                                                               \
  target void Multiply##name(int64_t k, const T* a, const T* b, T* c, int64_t c_stride, bool accumulate) {            \
    MultiplyTile<T, bytes, rows>(k, a, b, c, c_stride, accumulate);                                                   \
  }                                                                                                                   \
  template <typename T>                                                                                               \
  target void FilterRow##name(int64_t n, int64_t taps, const T* weights, const T* in, int64_t step, int64_t dilation, \
                              T* out) {                                                                               \
    FilterRow<T, bytes>(n, taps, weights, in, step, dilation, out);                                                   \
  }                                                                                                                   \
  template <typename T>                                                                                               \
  Tile<T> Tile##name() {                                                                                              \
    return {rows, 2 * bytes / static_cast<int64_t>(sizeof(T)), Multiply##name<T>, FilterRow##name<T>};                \
  }
PT_TILE(Plain, , 16, 4)
#if defined(__x86_64__)
PT_TILE(Avx2, __attribute__((target("avx2,fma"))), 32, 6)
PT_TILE(Avx512, __attribute__((target("avx512f,avx2,fma"))), 64, 12)
#endif
#undef PT_TILE

template <typename T>
Tile<T> ChooseTile() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return TileAvx512<T>();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return TileAvx2<T>();
#endif
  return TilePlain<T>();
}

}  // namespace

template <typename T>
const Tile<T>& HostTile() {
  static const Tile<T> tile = ChooseTile<T>();
  return tile;
}
template const Tile<float>& HostTile<float>();
template const Tile<double>& HostTile<double>();

Result<std::shared_ptr<DeviceBuffer>> PackConstant(const Site& site, const Tensor& constant, const std::string& format,
                                                   uint64_t bytes, const std::function<void(void*)>& fill) {
  if (site.context == nullptr) return std::shared_ptr<DeviceBuffer>();
  return site.context->weights.Get(constant.content_hash(), "reference " + format, site.context->device, bytes,
                                   [&](DeviceBuffer& buffer) -> Status {
                                     fill(buffer.data());
                                     return {};
                                   });
}

}  // namespace pt::reference
