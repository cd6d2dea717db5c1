// Loops of quantised_depthwise_rows.cc, included there once for each set of instructions
// (kernels/foreach_integer_set-inl.h).

using Call = QuantisedDepthwiseRow;
using Integers = int32_t __attribute__((vector_size(sizeof(Words))));
using Reals = float __attribute__((vector_size(sizeof(Words))));

constexpr int64_t kTile = 7;  // pixels: divides the widths of most networks
constexpr int64_t kFewPixels = 4;
constexpr int64_t kQuad = 4;  // rows of the kernel in a word

template <typename V, typename T>
HWY_INLINE V LoadVector(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// In a register: GCC loads a vector anew for each of its uses, and loads are what these loops wait for.
HWY_INLINE Words Kept(Words v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  asm("" : "+v"(v));
#endif
  return v;
}

// A block's channels of one pixel: as many as there are lanes, or the first of them alone.
struct WholeBlock {
  HWY_INLINE Words Load(const uint8_t* x) const { return LoadBytes(x); }
  HWY_INLINE void Store(Words v, uint8_t* y) const { StoreBytes(v, y); }
  HWY_INLINE void Store(Reals v, float* y) const { std::memcpy(y, &v, sizeof(v)); }
};
struct PartOfBlock {
  int64_t channels;
  HWY_INLINE Words Load(const uint8_t* x) const {
    uint8_t all[kLanes] = {};
    std::memcpy(all, x, static_cast<size_t>(channels));
    return LoadBytes(all);
  }
  HWY_INLINE void Store(Words v, uint8_t* y) const {
    uint8_t all[kLanes];
    StoreBytes(v, all);
    std::memcpy(y, all, static_cast<size_t>(channels));
  }
  HWY_INLINE void Store(Reals v, float* y) const { std::memcpy(y, &v, static_cast<size_t>(channels) * sizeof(float)); }
};

// ---- gathering ----

// Up to four rows of the input, channels from c on; one that is outside the image stands still at a zero point.
struct QuadRows {
  const uint8_t* rows[kQuad];
  int64_t steps[kQuad];
};

template <int64_t N, class Block>
HWY_INLINE void GatherRows(const QuadRows& source, int64_t begin, int64_t end, Words flip, const Block& block,
                           uint32_t* to) {
  for (int64_t i = begin; i < end; ++i, to += kLanes) {
    Words word = block.Load(source.rows[0] + i * source.steps[0]);
    if constexpr (N > 1) word |= block.Load(source.rows[1] + i * source.steps[1]) << 8;
    if constexpr (N > 2) word |= block.Load(source.rows[2] + i * source.steps[2]) << 16;
    if constexpr (N > 3) word |= block.Load(source.rows[3] + i * source.steps[3]) << 24;
    word ^= flip;
    std::memcpy(to, &word, sizeof(word));
  }
}

// The words of up to four rows of the kernel, the first of which is `first`.
template <class Block>
void GatherQuad(const Call& call, int64_t first, int64_t c, const Block& block, const uint8_t* zeros, uint32_t* to) {
  const Words flip = Words{} + (call.flips ? 0x80808080U : 0U), outside = (Words{} + call.zero * 0x01010101U) ^ flip;
  const int64_t columns = ColumnsOf(call), rows = std::min(kQuad, call.kernel_rows - first);
  const int64_t begin = std::clamp(-call.from, int64_t{0}, columns);
  const int64_t end = std::clamp(call.in_pixels - call.from, begin, columns);
  const auto fill = [&](int64_t i, int64_t last) {
    for (; i < last; ++i) std::memcpy(to + i * kLanes, &outside, sizeof(outside));
  };
  QuadRows source{};
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* row = call.rows[first + r];
    source.rows[r] = row == nullptr ? zeros : row + c;
    source.steps[r] = row == nullptr ? 0 : call.in_pixel_stride;
  }
  fill(0, begin);
  const int64_t from = call.from + begin, until = call.from + end;
  uint32_t* inside = to + begin * kLanes;
  if (rows == 1) GatherRows<1>(source, from, until, flip, block, inside);
  if (rows == 2) GatherRows<2>(source, from, until, flip, block, inside);
  if (rows == 3) GatherRows<3>(source, from, until, flip, block, inside);
  if (rows == 4) GatherRows<4>(source, from, until, flip, block, inside);
  fill(end, columns);
}

// ---- sums ----

// Adds four rows of the kernel. K and S, kernel columns and stride, are known unless 0: each word is then loaded once
// for all pixels that need it.
template <int64_t T, int64_t K, int64_t S>
HWY_INLINE void AddQuad(const Call& call, const uint32_t* words, const uint32_t* weights, Words (&sums)[T]) {
  if constexpr (K > 0) {
    Words w[K];
    for (int64_t kx = 0; kx < K; ++kx) w[kx] = LoadVector<Words>(weights + kx * kLanes);
#pragma GCC unroll 32  // else the sums are kept in memory, to be found by index
    for (int64_t i = 0; i < (T - 1) * S + K; ++i) {
      const Words in = Kept(LoadVector<Words>(words + i * kLanes));
      for (int64_t kx = 0; kx < K; ++kx) {
        const int64_t t = (i - kx) / S;
        if (i >= kx && (i - kx) % S == 0 && t < T) sums[t] = Dot(sums[t], in, w[kx]);
      }
    }
  } else {
    for (int64_t kx = 0; kx < call.kernel_columns; ++kx) {
      const Words w = LoadVector<Words>(weights + kx * kLanes);
      for (int64_t t = 0; t < T; ++t) {
        const int64_t i = t * call.stride + kx * call.dilation;
        sums[t] = Dot(sums[t], LoadVector<Words>(words + i * kLanes), w);
      }
    }
  }
}

HWY_INLINE Reals RealOf(const Call& call, Words sum, Reals scale, Reals bias) {
  const Reals low = Reals{} + call.low, high = Reals{} + call.high;
  Reals real = __builtin_convertvector(reinterpret_cast<Integers>(sum), Reals) * scale + bias;
  real = real < low ? low : real;
  return real > high ? high : real;
}

// Where the lowest bit of a float32 is worth 1, its addition rounds to whole numbers, half to even; the lowest byte of
// its bits is then that of the number.
HWY_INLINE Words Rounded(Reals real) {
  constexpr float kWhole = 12582912.0F;  // 1.5 · 2^23
  return reinterpret_cast<Words>(real + kWhole);
}

// T pixels from `at` on, of which `count` are there.
template <int64_t T, int64_t K, int64_t S, class Block>
void Tile(const Call& call, int64_t at, int64_t count, int64_t c, const Block& block) {
  const int64_t row_weights = call.kernel_columns * kLanes, row_words = ColumnsOf(call) * kLanes;
  const int64_t quads = (call.kernel_rows + kQuad - 1) / kQuad;
  const uint32_t* weights = call.weights + c * quads * call.kernel_columns;
  const uint32_t* words = call.words + at * call.stride * kLanes;
  Words sums[T];
  const auto start = LoadVector<Words>(call.starts + c);
  for (int64_t t = 0; t < T; ++t) sums[t] = start;
  for (int64_t q = 0; q < quads; ++q) AddQuad<T, K, S>(call, words + q * row_words, weights + q * row_weights, sums);
  const auto scale = LoadVector<Reals>(call.scales + c), bias = LoadVector<Reals>(call.bias + c);
  const int64_t first = at * call.out_pixel_stride + c;
  if (call.reals != nullptr) {
    for (int64_t t = 0; t < T; ++t) {
      if (t >= count) break;
      block.Store(RealOf(call, sums[t], scale, bias), call.reals + first + t * call.out_pixel_stride);
    }
    return;
  }
  const Words zero = Words{} + static_cast<uint32_t>(call.result_zero);
  for (int64_t t = 0; t < T; ++t) {
    if (t >= count) break;
    block.Store(Rounded(RealOf(call, sums[t], scale, bias)) + zero, call.bytes + first + t * call.out_pixel_stride);
  }
}

template <int64_t K, int64_t S, class Block>
void Pixels(const Call& call, int64_t c, const Block& block) {
  int64_t at = 0;
  for (; at + kFewPixels < call.out_pixels; at += kTile) {
    Tile<kTile, K, S>(call, at, std::min(kTile, call.out_pixels - at), c, block);
  }
  if (at < call.out_pixels) Tile<kFewPixels, K, S>(call, at, call.out_pixels - at, c, block);
}

// One block of channels from c on.
template <class Block>
void ComputeBlock(const Call& call, int64_t c, const Block& block, const uint8_t* zeros) {
  const int64_t row_words = ColumnsOf(call) * kLanes;
  for (int64_t k = 0; k < call.kernel_rows; k += kQuad) {
    GatherQuad(call, k, c, block, zeros, call.words + k / kQuad * row_words);
  }
  const int64_t columns = call.dilation == 1 ? call.kernel_columns : 0;
  if (columns == 3 && call.stride == 1) return Pixels<3, 1>(call, c, block);
  if (columns == 3 && call.stride == 2) return Pixels<3, 2>(call, c, block);
  if (columns == 5 && call.stride == 1) return Pixels<5, 1>(call, c, block);
  if (columns == 5 && call.stride == 2) return Pixels<5, 2>(call, c, block);
  Pixels<0, 0>(call, c, block);
}

void Compute(const Call& call) {
  uint8_t zeros[kLanes];
  std::memset(zeros, call.zero, sizeof(zeros));
  int64_t c = 0;
  for (; c + kLanes <= call.channels; c += kLanes) ComputeBlock(call, c, WholeBlock(), zeros);
  if (c < call.channels) ComputeBlock(call, c, PartOfBlock{call.channels - c}, zeros);
}

constexpr QuantisedDepthwiseRows kFound{kLanes, Compute};
