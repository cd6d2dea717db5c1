#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/products/block_products.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/backend/host_kernels/kernels/bounded-inl.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"
#include "lib/backend/host_kernels/products/block_products.h"
#include "partitiontuner/support/checked.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

constexpr bool kManyRegisters = hn::MaxLanes(D()) >= 16;
// Rows that share an element once it is a real number, and tiles side by side, as far as registers go.
constexpr int64_t kMostRows = kManyRegisters ? 8 : 4;
constexpr int64_t kTilesOfOne = kManyRegisters ? 4 : 2, kTiles = 2;

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// Where things lie in a tile.
struct Places {
  explicit Places(const BlockMatrix& b)
      : words((b.block * b.bits + 31) / 32),
        lead((b.has_zero_points ? 2 : 1) * Lanes()),
        block(lead + words * Lanes()),
        blocks((b.depth + b.block - 1) / b.block),
        last_words(((b.depth - (blocks - 1) * b.block) * b.bits + 31) / 32),
        tile((blocks - 1) * block + lead + last_words * Lanes()) {}

  int64_t words;                // of a column in a block
  int64_t lead, block, blocks;  // floats before a block's elements; with them; blocks
  int64_t last_words, tile;     // of the last block; floats of a tile
};

// Elements in words as real numbers. In words of kBits each, the first lowest.
template <int kBits>
class Decoder {
 public:
  Decoder() {
    if constexpr (kByTable) {
      HWY_ALIGN float numbers[16];
      for (int i = 0; i < 16; ++i) {
        const int low = i & ((1 << kBits) - 1);
        numbers[i] = static_cast<float>(low < (1 << (kBits - 1)) ? low : low - (1 << kBits));
      }
      table_ = hn::Load(D(), numbers);
    }
  }

  // Element `at` of each lane's word.
  HWY_INLINE V operator()(VI words, int at) const {
    if constexpr (kByTable) {
      const VI low = hn::ShiftRightSame(words, at * kBits);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
      // Only the lowest four bits of each index count.
      return V{_mm512_permutexvar_ps(low.raw, table_.raw)};
#else
      return hn::TableLookupLanes(table_, hn::IndicesFromVec(D(), hn::And(low, hn::Set(DI(), 15))));
#endif
    } else {
      const VI high = hn::ShiftLeftSame(words, 32 - kBits - at * kBits);
      return hn::ConvertTo(D(), hn::ShiftRight<32 - kBits>(high));
    }
  }

 private:
  static constexpr bool kByTable = kBits <= 4 && hn::MaxLanes(D()) == 16;
  V table_ = hn::Zero(D());
};

#define PT_ALWAYS_INLINE __attribute__((always_inline))

// f(word, i, k) for elements begin to end of the depth, which begin a block: element i of each column's word, where i
// is a constant except for a last word that is not full.
template <int kBits, typename F>
HWY_INLINE void ForElements(int64_t begin, int64_t end, const F& f) {
  constexpr int kPerWord = 32 / kBits;
  int64_t k = begin, word = 0;
  for (; k + kPerWord <= end; k += kPerWord, ++word) {
    [&]<int... i>(std::integer_sequence<int, i...>) PT_ALWAYS_INLINE {
      (f(word, std::integral_constant<int, i>(), k + i), ...);
    }
    (std::make_integer_sequence<int, kPerWord>());
  }
  for (int i = 0; k + i < end; ++i) f(word, i, k + i);
}

// Sums to C, with what follows them.
HWY_INLINE void Put(const BlockCall& call, int64_t row, int64_t column, V sum) {
  const D d;
  const int64_t left = std::min(Lanes(), call.columns - column);
  if (call.bias != nullptr) sum = hn::Add(sum, LoadRest(d, call.bias + column, left));
  if (call.bounds) sum = Bounded(hn::Set(d, call.bounds->low), hn::Set(d, call.bounds->high), sum);
  float* c = call.c + row * call.c_stride + column;
  if (left == Lanes()) {
    hn::StoreU(sum, d, c);
  } else {
    StoreRest(d, sum, c, left);
  }
}

// Short streams beside each other end before the processor has seen that they are streams.
HWY_INLINE void FetchAhead(const float* x, int64_t count) {
  constexpr int64_t kLine = 16, kMost = 16 * kLine;
  for (int64_t i = 0; i < std::min(count, kMost); i += kLine) hwy::Prefetch(x + i);
}

// S tiles by one row: blocks are summed, then scaled.
template <int kBits, bool kZeros, int64_t S>
HWY_INLINE void OneRow(const BlockCall& call, const Places& at, const float* tile, int64_t row, int64_t column) {
  const D d;
  const DI di;
  const Decoder<kBits> decode;
  const int64_t lanes = Lanes();
  const float* a = call.a + row * call.a_stride;
  V sums[S];
  for (int64_t s = 0; s < S; ++s) sums[s] = hn::Zero(d);
  for (int64_t b = 0; b < at.blocks; ++b, tile += at.block) {
    // Two of each, so that additions do not wait for each other.
    V even[S], odd[S], zeros[S];
    for (int64_t s = 0; s < S; ++s) {
      even[s] = odd[s] = hn::Zero(d);
      if constexpr (kZeros) zeros[s] = hn::Load(d, tile + s * at.tile + lanes);
    }
    const float* elements = tile + at.lead;
    for (int64_t s = 0; s < S; ++s) FetchAhead(tile + s * at.tile + 2 * at.block, at.block);
    const auto add = [&](int64_t word, auto i, int64_t k) PT_ALWAYS_INLINE {
      const V x = hn::Set(d, a[k]);
      for (int64_t s = 0; s < S; ++s) {
        V w = decode(hn::BitCast(di, hn::Load(d, elements + s * at.tile + word * lanes)), i);
        if constexpr (kZeros) w = hn::Sub(w, zeros[s]);
        V& sum = i % 2 == 0 ? even[s] : odd[s];
        sum = hn::MulAdd(w, x, sum);
      }
    };
    ForElements<kBits>(b * call.b.block, std::min((b + 1) * call.b.block, call.b.depth), add);
    for (int64_t s = 0; s < S; ++s)
      sums[s] = hn::MulAdd(hn::Add(even[s], odd[s]), hn::Load(d, tile + s * at.tile), sums[s]);
  }
  for (int64_t s = 0; s < S; ++s) Put(call, row, column + s * lanes, sums[s]);
}

// S tiles by R rows: elements are scaled, then summed.
template <int kBits, bool kZeros, int64_t R, int64_t S>
HWY_INLINE void SomeRows(const BlockCall& call, const Places& at, const float* tile, int64_t row, int64_t column) {
  const D d;
  const DI di;
  const Decoder<kBits> decode;
  const int64_t lanes = Lanes();
  const float* a = call.a + row * call.a_stride;
  V sums[R][S];
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t s = 0; s < S; ++s) sums[r][s] = hn::Zero(d);
  }
  for (int64_t b = 0; b < at.blocks; ++b, tile += at.block) {
    V scales[S], zeros[S];
    for (int64_t s = 0; s < S; ++s) {
      scales[s] = hn::Load(d, tile + s * at.tile);
      if constexpr (kZeros) zeros[s] = hn::Load(d, tile + s * at.tile + lanes);
    }
    const float* elements = tile + at.lead;
    const auto add = [&](int64_t word, auto i, int64_t k) PT_ALWAYS_INLINE {
      V w[S];
      for (int64_t s = 0; s < S; ++s) {
        w[s] = decode(hn::BitCast(di, hn::Load(d, elements + s * at.tile + word * lanes)), i);
        if constexpr (kZeros) w[s] = hn::Sub(w[s], zeros[s]);
        w[s] = hn::Mul(w[s], scales[s]);
      }
      for (int64_t r = 0; r < R; ++r) {
        const V x = hn::Set(d, a[r * call.a_stride + k]);
        for (int64_t s = 0; s < S; ++s) sums[r][s] = hn::MulAdd(w[s], x, sums[r][s]);
      }
    };
    ForElements<kBits>(b * call.b.block, std::min((b + 1) * call.b.block, call.b.depth), add);
  }
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t s = 0; s < S; ++s) Put(call, row + r, column + s * lanes, sums[r][s]);
  }
}

// The last rows, fewer than 2 R: in powers of two, since a kernel for every number takes minutes to compile.
template <int kBits, bool kZeros, int64_t R, int64_t S>
HWY_INLINE void LastRows(const BlockCall& call, const Places& at, const float* tile, int64_t row, int64_t column) {
  if constexpr (R == 1) {
    if (row < call.rows) OneRow<kBits, kZeros, S>(call, at, tile, row, column);
  } else {
    if (call.rows - row >= R) {
      SomeRows<kBits, kZeros, R, S>(call, at, tile, row, column);
      row += R;
    }
    LastRows<kBits, kZeros, R / 2, S>(call, at, tile, row, column);
  }
}

template <int kBits, bool kZeros, int64_t S>
HWY_INLINE void AllRows(const BlockCall& call, const Places& at, const float* tile, int64_t column) {
  int64_t row = 0;
  for (; row + kMostRows <= call.rows; row += kMostRows)
    SomeRows<kBits, kZeros, kMostRows, S>(call, at, tile, row, column);
  LastRows<kBits, kZeros, kMostRows / 2, S>(call, at, tile, row, column);
}

template <int kBits, bool kZeros>
void MultiplyOf(const BlockCall& call) {
  const Places at(call.b);
  const int64_t lanes = Lanes();
  const float* tile = reinterpret_cast<const float*>(call.b.tiles) + call.first / lanes * at.tile;
  int64_t column = 0;
  const auto step = [&](int64_t tiles) {
    column += tiles * lanes;
    tile += tiles * at.tile;
  };
  if (call.rows == 1) {
    for (; column + (kTilesOfOne - 1) * lanes < call.columns; step(kTilesOfOne))
      OneRow<kBits, kZeros, kTilesOfOne>(call, at, tile, 0, column);
  }
  for (; column + lanes < call.columns; step(kTiles)) AllRows<kBits, kZeros, kTiles>(call, at, tile, column);
  if (column < call.columns) AllRows<kBits, kZeros, 1>(call, at, tile, column);
}

template <int kBits>
void MultiplyBits(const BlockCall& call) {
  call.b.has_zero_points ? MultiplyOf<kBits, true>(call) : MultiplyOf<kBits, false>(call);
}

void Multiply(const BlockCall& call) {
  if (call.b.bits == 2) return MultiplyBits<2>(call);
  if (call.b.bits == 4) return MultiplyBits<4>(call);
  MultiplyBits<8>(call);
}

// ---- packing ----

bool IsUnsigned(DataType type) {
  return type == DataType::kUint2 || type == DataType::kUint4 || type == DataType::kUint8;
}

// The middle of the type's range, which elements count from.
int64_t MiddleOf(const PackedMatrix& matrix) {
  return IsUnsigned(matrix.elements.type()) ? int64_t{1} << (matrix.bits() - 1) : 0;
}

std::vector<int64_t> ZeroPointsOf(const PackedMatrix& matrix) {
  if (matrix.zero_points) return matrix.zero_points->ToInts();
  return std::vector<int64_t>(static_cast<size_t>(matrix.scales.element_count()), 0);
}

BlockMatrix Describe(const PackedMatrix& matrix) {
  const int64_t middle = MiddleOf(matrix);
  const auto elsewhere = [&](int64_t zero) { return zero != middle; };
  return {matrix.depth,
          matrix.columns,
          matrix.block,
          static_cast<int>(matrix.bits()),
          std::ranges::any_of(ZeroPointsOf(matrix), elsewhere),
          nullptr};
}

std::optional<uint64_t> Bytes(const BlockMatrix& b) {
  const auto tiles = CheckedAlignUp(static_cast<uint64_t>(b.columns), static_cast<uint64_t>(Lanes()));
  // The depth filled up to words, block by block, takes at most twice as many bits as it has.
  if (!tiles || !CheckedMul(b.depth, int64_t{512})) return std::nullopt;
  const auto floats = CheckedMul(static_cast<int64_t>(*tiles) / Lanes(), Places(b).tile);
  const auto bytes = floats ? CheckedMul(*floats, static_cast<int64_t>(sizeof(float))) : std::nullopt;
  return bytes ? std::optional(static_cast<uint64_t>(*bytes)) : std::nullopt;
}

// One column of a tile; the tile is zero so far.
class ColumnPacker {
 public:
  ColumnPacker(const PackedMatrix& matrix)
      : matrix_(matrix),
        b_(Describe(matrix)),
        at_(b_),
        middle_(MiddleOf(matrix)),
        zeros_(ZeroPointsOf(matrix)),
        bytes_(reinterpret_cast<const uint8_t*>(matrix.elements.bytes().data())) {}

  int64_t tile_floats() const { return at_.tile; }

  void Pack(int64_t column, float* tile) const {
    const int64_t lanes = Lanes(), lane = column % lanes, per_word = 32 / b_.bits;
    const float* scales = matrix_.scales.values<float>().data();
    for (int64_t b = 0; b < at_.blocks; ++b, tile += at_.block) {
      const int64_t p = b * matrix_.block_step + column * matrix_.column_step;
      tile[lane] = scales[p];
      if (b_.has_zero_points) tile[lanes + lane] = static_cast<float>(zeros_[static_cast<size_t>(p)] - middle_);
      const int64_t begin = b * b_.block, end = std::min(begin + b_.block, b_.depth);
      for (int64_t k = begin; k < end; k += per_word) {
        uint32_t word = 0;
        for (int64_t i = 0; i < std::min(per_word, end - k); ++i) word |= ElementAt(k + i, column) << (i * b_.bits);
        std::memcpy(tile + at_.lead + (k - begin) / per_word * lanes + lane, &word, sizeof(word));
      }
    }
  }

 private:
  // Its bits, counted from the middle.
  uint32_t ElementAt(int64_t k, int64_t column) const {
    const int64_t i = matrix_.transposed ? column * b_.depth + k : k * b_.columns + column;
    const int64_t bit = i * b_.bits;
    const uint32_t mask = (1U << b_.bits) - 1;
    return ((static_cast<uint32_t>(bytes_[bit / 8]) >> (bit % 8)) - static_cast<uint32_t>(middle_)) & mask;
  }

  const PackedMatrix& matrix_;
  BlockMatrix b_;
  Places at_;
  int64_t middle_;
  std::vector<int64_t> zeros_;
  const uint8_t* bytes_;
};

void Pack(const PackedMatrix& matrix, std::byte* tiles) {
  const ColumnPacker packer(matrix);
  auto* tile = reinterpret_cast<float*>(tiles);
  for (int64_t column = 0; column < matrix.columns; column += Lanes(), tile += packer.tile_floats()) {
    std::fill_n(tile, packer.tile_floats(), 0.0F);
    for (int64_t j = column; j < std::min(column + Lanes(), matrix.columns); ++j) packer.Pack(j, tile);
  }
}

}  // namespace

BlockProducts FindBlocks() { return {kTilesOfOne * Lanes(), Describe, Bytes, Pack, Multiply}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindBlocks);

}  // namespace

BlockProducts FindBlockProducts() { return HWY_DYNAMIC_DISPATCH(FindBlocks)(); }

}  // namespace pt::host
#endif
