#include "lib/backend/onednn/winograd_transform.h"

#include <algorithm>
#include <array>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/onednn/winograd_transform.cc"
#include <hwy/foreach_target.h>  // compiles what follows once for each instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pt::onednn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::CappedTag<float, kWinogradChannels>;
using Vector = hn::Vec<Lanes>;
constexpr Lanes kLanes;

HWY_INLINE Vector Number(float value) { return hn::Set(kLanes, value); }

constexpr float kRoot2 = 1.41421356237309505F, kHalfRoot2 = 0.707106781186547524F;

struct Tile2 {
  static constexpr int64_t kTile = 2, kPatch = 4;
  static HWY_INLINE void In(const Vector* d, Vector* r) {
    r[0] = hn::Sub(d[2], d[0]);
    r[1] = hn::Add(d[1], d[2]);
    r[2] = hn::Sub(d[2], d[1]);
    r[3] = hn::Sub(d[3], d[1]);
  }
  static HWY_INLINE void Out(const Vector* m, Vector* y) {
    y[0] = hn::Add(hn::Add(m[0], m[1]), m[2]);
    y[1] = hn::Add(hn::Sub(m[1], m[2]), m[3]);
  }
};

struct Tile4 {
  static constexpr int64_t kTile = 4, kPatch = 6;
  static HWY_INLINE void In(const Vector* d, Vector* r) {
    const Vector e1 = hn::NegMulAdd(Number(2), d[2], d[4]), e2 = hn::NegMulAdd(Number(0.5F), d[2], d[4]);
    const Vector o1 = hn::Mul(Number(kHalfRoot2), hn::NegMulAdd(Number(2), d[1], d[3]));
    const Vector o2 = hn::Mul(Number(kRoot2), hn::NegMulAdd(Number(0.5F), d[1], d[3]));
    r[0] = hn::Add(d[0], hn::NegMulAdd(Number(2.5F), d[2], d[4]));
    r[1] = hn::Add(e1, o1);
    r[2] = hn::Sub(e1, o1);
    r[3] = hn::Add(e2, o2);
    r[4] = hn::Sub(e2, o2);
    r[5] = hn::Add(d[1], hn::NegMulAdd(Number(2.5F), d[3], d[5]));
  }
  static HWY_INLINE void Out(const Vector* m, Vector* y) {
    const Vector s1 = hn::Add(m[1], m[2]), d1 = hn::Sub(m[1], m[2]);
    const Vector s2 = hn::Add(m[3], m[4]), d2 = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(hn::Add(m[0], s1), s2);
    y[1] = hn::MulAdd(Number(kHalfRoot2), d1, hn::Mul(Number(kRoot2), d2));
    y[2] = hn::MulAdd(Number(0.5F), s1, hn::Add(s2, s2));
    y[3] = hn::MulAdd(Number(kHalfRoot2 / 2), d1, hn::MulAdd(Number(2 * kRoot2), d2, m[5]));
  }
};

// Row and column of a tile's first result, its plane and image.
struct Place {
  int64_t image, plane, row, column;
};
// Where the index-th tile along the axis begins: phase by phase.
HWY_INLINE int64_t StartOf(const WinogradAxis& axis, int64_t tile, int64_t index) {
  if (axis.dilation == 1) return index * tile;
  const int64_t tiles = WinogradSizes::TilesOfPhase(axis, tile);
  return index / tiles + index % tiles * tile * axis.dilation;
}
HWY_INLINE Place PlaceOf(const WinogradSizes& sizes, int64_t tile) {
  const int64_t wide = sizes.tiles_wide(), high = sizes.tiles_high();
  const int64_t plane = tile / (wide * high);
  return {plane / sizes.planes.out, plane % sizes.planes.out,
          StartOf(sizes.rows, sizes.tile_rows(), tile / wide % high), StartOf(sizes.columns, sizes.tile, tile % wide)};
}

HWY_INLINE int64_t ChannelOffset(const ChannelPlanes& planes, int64_t channel) {
  return channel / planes.block * planes.block_stride + channel % planes.block;
}

// Of the window's planes, and of its parts along rows and columns.
struct Part {
  int64_t plane, row, column;
};

// The patch that a part of the window reads.
template <typename T, bool kLine>
void PatchIn(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, const Place& place,
             const Part& part, float* patches, int64_t stride) {
  constexpr int64_t kPatch = T::kPatch, kHigh = kLine ? 1 : kPatch;
  const WinogradAxis &rows = sizes.rows, &columns = sizes.columns;
  const int64_t plane = place.plane * sizes.planes.stride + part.plane * sizes.planes.dilation - sizes.planes.pad;
  const int64_t top = place.row - rows.pad + 3 * part.row * rows.dilation,
                left = place.column - columns.pad + 3 * part.column * columns.dilation;
  const int64_t bottom = top + (kHigh - 1) * rows.dilation, right = left + (kPatch - 1) * columns.dilation;
  const bool on_plane = plane >= 0 && plane < sizes.planes.in;
  const bool inside = on_plane && top >= 0 && left >= 0 && bottom < rows.in && right < columns.in;
  const int64_t row = rows.dilation * planes.row, column = columns.dilation * planes.column;
  for (int64_t c = 0; c < sizes.in_channels; c += static_cast<int64_t>(hn::Lanes(kLanes))) {
    const float* from = x + place.image * planes.image + ChannelOffset(planes, c) + plane * planes.plane +
                        top * planes.row + left * planes.column;
    Vector down[kPatch][kHigh];  // transformed along the rows, by column
    for (int64_t j = 0; j < kPatch; ++j) {
      Vector d[kPatch];
      for (int64_t i = 0; i < kHigh; ++i) {
        const int64_t y = top + i * rows.dilation, z = left + j * columns.dilation;
        const bool there = inside || (on_plane && y >= 0 && y < rows.in && z >= 0 && z < columns.in);
        d[i] = there ? hn::LoadU(kLanes, from + i * row + j * column) : hn::Zero(kLanes);
      }
      if constexpr (kLine) {
        down[j][0] = d[0];
      } else {
        T::In(d, down[j]);
      }
    }
    for (int64_t i = 0; i < kHigh; ++i) {
      Vector d[kPatch], r[kPatch];
      for (int64_t j = 0; j < kPatch; ++j) d[j] = down[j][i];
      T::In(d, r);
      for (int64_t j = 0; j < kPatch; ++j) hn::StoreU(r[j], kLanes, patches + (i * kPatch + j) * stride + c);
    }
  }
}

template <typename T, bool kLine>
void TileIn(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, int64_t tile, float* patches,
            int64_t stride) {
  const Place place = PlaceOf(sizes, tile);
  const int64_t high = sizes.rows.parts(), wide = sizes.columns.parts();
  for (int64_t p = 0; p < sizes.parts(); ++p) {
    const Part part{p / (high * wide), p / wide % high, p % wide};
    PatchIn<T, kLine>(sizes, x, planes, place, part, patches + p * sizes.in_channels, stride);
  }
}

// One step on all results of a tile; offsets of each result's element in the step's tensor.
template <int64_t n>
HWY_INLINE void Apply(const WinogradStep& step, int64_t channel, const float* tensor, const int64_t* offsets,
                      const bool* there, Vector* y) {
  const auto operand = [&](int64_t i) { return there[i] ? hn::LoadU(kLanes, tensor + offsets[i]) : hn::Zero(kLanes); };
  switch (step.kind) {
    case WinogradStep::Kind::kLinear:
      for (int64_t i = 0; i < n; ++i) y[i] = hn::MulAdd(Number(step.a), y[i], Number(step.b));
      return;
    case WinogradStep::Kind::kClip:
      // The operand that may be NaN comes second: it is what x86 returns.
      for (int64_t i = 0; i < n; ++i) y[i] = hn::Min(Number(step.b), hn::Max(Number(step.a), y[i]));
      return;
    case WinogradStep::Kind::kLeaky:
      for (int64_t i = 0; i < n; ++i) {
        y[i] = hn::IfThenElse(hn::Lt(y[i], hn::Zero(kLanes)), hn::Mul(Number(step.a), y[i]), y[i]);
      }
      return;
    case WinogradStep::Kind::kAddChannel:
      for (int64_t i = 0; i < n; ++i) y[i] = hn::Add(y[i], hn::LoadU(kLanes, step.channel + channel));
      return;
    case WinogradStep::Kind::kMulChannel:
      for (int64_t i = 0; i < n; ++i) y[i] = hn::Mul(y[i], hn::LoadU(kLanes, step.channel + channel));
      return;
    case WinogradStep::Kind::kAddTensor:
      for (int64_t i = 0; i < n; ++i) y[i] = hn::Add(y[i], operand(i));
      return;
    case WinogradStep::Kind::kMulTensor:
      for (int64_t i = 0; i < n; ++i) y[i] = hn::Mul(y[i], operand(i));
      return;
  }
}

template <typename T, bool kLine>
void TileOut(const WinogradSizes& sizes, const float* products, int64_t stride, int64_t tile,
             std::span<const WinogradStep> steps, float* y, const ChannelPlanes& planes) {
  constexpr int64_t kPatch = T::kPatch, kTile = T::kTile, kHigh = kLine ? 1 : kPatch, kTileHigh = kLine ? 1 : kTile;
  constexpr int64_t kResults = kTileHigh * kTile;
  const WinogradAxis &rows = sizes.rows, &columns = sizes.columns;
  const Place place = PlaceOf(sizes, tile);
  bool there[kResults];
  for (int64_t i = 0; i < kResults; ++i) {
    there[i] =
        place.row + i / kTile * rows.dilation < rows.out && place.column + i % kTile * columns.dilation < columns.out;
  }
  const auto offsets_in = [&](const ChannelPlanes& of, int64_t* offsets) {
    for (int64_t i = 0; i < kResults; ++i) {
      offsets[i] = i / kTile * rows.dilation * of.row + i % kTile * columns.dilation * of.column;
    }
  };
  const auto start_in = [&](const ChannelPlanes& of, int64_t channel) {
    return place.image * of.image + ChannelOffset(of, channel) + place.plane * of.plane + place.row * of.row +
           place.column * of.column;
  };
  int64_t out_offsets[kResults];
  offsets_in(planes, out_offsets);
  for (int64_t c = 0; c < sizes.out_channels; c += static_cast<int64_t>(hn::Lanes(kLanes))) {
    Vector down[kPatch][kTileHigh];
    for (int64_t j = 0; j < kPatch; ++j) {
      Vector m[kPatch];
      for (int64_t i = 0; i < kHigh; ++i) m[i] = hn::LoadU(kLanes, products + (i * kPatch + j) * stride + c);
      if constexpr (kLine) {
        down[j][0] = m[0];
      } else {
        T::Out(m, down[j]);
      }
    }
    Vector results[kResults];
    for (int64_t i = 0; i < kTileHigh; ++i) {
      Vector m[kPatch];
      for (int64_t j = 0; j < kPatch; ++j) m[j] = down[j][i];
      T::Out(m, results + i * kTile);
    }
    for (const WinogradStep& step : steps) {
      int64_t offsets[kResults] = {};
      if (step.tensor != nullptr) offsets_in(step.planes, offsets);
      const float* tensor = step.tensor == nullptr ? nullptr : step.tensor + start_in(step.planes, c);
      Apply<kResults>(step, c, tensor, offsets, there, results);
    }
    float* to = y + start_in(planes, c);
    for (int64_t i = 0; i < kResults; ++i) {
      if (there[i]) hn::StoreU(results[i], kLanes, to + out_offsets[i]);
    }
  }
}

// Calls it with the kind of tile that the sizes ask for, and whether tiles are lines.
template <typename Function>
void ForTile(const WinogradSizes& sizes, const Function& function) {
  if (sizes.tile == 2) {
    sizes.line ? function(Tile2(), std::true_type()) : function(Tile2(), std::false_type());
  } else {
    sizes.line ? function(Tile4(), std::true_type()) : function(Tile4(), std::false_type());
  }
}

void TilesIn(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, int64_t first, int64_t count,
             float* patches, int64_t stride) {
  ForTile(sizes, [&]<typename T, bool kLine>(T, std::bool_constant<kLine>) {
    for (int64_t t = 0; t < count; ++t) {
      TileIn<T, kLine>(sizes, x, planes, first + t, patches + t * sizes.inner(), stride);
    }
  });
}

void TilesOut(const WinogradSizes& sizes, const float* products, int64_t stride, int64_t first, int64_t count,
              std::span<const WinogradStep> steps, float* y, const ChannelPlanes& planes) {
  ForTile(sizes, [&]<typename T, bool kLine>(T, std::bool_constant<kLine>) {
    for (int64_t t = 0; t < count; ++t) {
      TileOut<T, kLine>(sizes, products + t * sizes.out_channels, stride, first + t, steps, y, planes);
    }
  });
}

// Rows of the matrix that a 3-vector of weights is multiplied with.
using WeightRows = double[6][3];
constexpr double kRoot = 1.41421356237309504880;
constexpr WeightRows kRows2 = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}, {}, {}};
constexpr WeightRows kRows4 = {{1, 0, 0},
                               {-1 / 1.5, -kRoot / 3, -0.5 / 1.5},
                               {-1 / 1.5, kRoot / 3, -0.5 / 1.5},
                               {1.0 / 6, kRoot / 6, 2.0 / 6},
                               {1.0 / 6, -kRoot / 6, 2.0 / 6},
                               {0, 0, 1}};

constexpr int64_t kBlock = 16;
using WeightBlock = double[3][3][kBlock];  // of one input channel and kBlock output channels, by row and column

// What the window has in this part for up to kBlock output channels from o on; zeros beyond its edges.
void ReadPart(const WinogradSizes& sizes, const float* weights, const Part& part, int64_t c, int64_t o,
              WeightBlock& w) {
  const int64_t high = sizes.rows.window, wide = sizes.columns.window, count = std::min(kBlock, sizes.out_channels - o);
  const int64_t planes = sizes.planes.window, top = 3 * part.row, left = 3 * part.column;
  for (int64_t b = 0; b < kBlock; ++b) {
    const int64_t plane = ((o + b) * sizes.in_channels + c) * planes + part.plane;
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        const bool there = b < count && top + i < high && left + j < wide;
        w[i][j][b] = there ? static_cast<double>(weights[(plane * high + top + i) * wide + left + j]) : 0.0;
      }
    }
  }
}

// Into 6x6 or 4x4 results for each output channel (of lines 6 or 4), `stride` elements apart. Plain loops, which
// compilers turn into vectors.
void TransformBlock(const WeightRows& rows, const WinogradSizes& sizes, const WeightBlock& w, int64_t count, float* to,
                    int64_t stride) {
  const int64_t patch = sizes.patch();
  for (int64_t i = 0; i < (sizes.line ? 1 : patch); ++i) {
    double row[3][kBlock];  // row i of G·w; of a line its only row as it is
    for (int64_t l = 0; l < 3; ++l) {
      for (int64_t o = 0; o < kBlock; ++o) {
        row[l][o] =
            sizes.line ? w[0][l][o] : rows[i][0] * w[0][l][o] + rows[i][1] * w[1][l][o] + rows[i][2] * w[2][l][o];
      }
    }
    for (int64_t j = 0; j < patch; ++j) {
      float sums[kBlock];
      for (int64_t o = 0; o < kBlock; ++o) {
        sums[o] = static_cast<float>(row[0][o] * rows[j][0] + row[1][o] * rows[j][1] + row[2][o] * rows[j][2]);
      }
      std::copy_n(sums, count, to + (i * patch + j) * stride);
    }
  }
}

void WeightsIn(const WinogradSizes& sizes, const float* weights, float* to) {
  const WeightRows& rows = sizes.tile == 2 ? kRows2 : kRows4;
  const int64_t in = sizes.in_channels, out = sizes.out_channels, inner = sizes.inner();
  const int64_t high = sizes.rows.parts(), wide = sizes.columns.parts();
  for (int64_t o = 0; o < out; o += kBlock) {
    for (int64_t at = 0; at < inner; ++at) {
      const int64_t p = at / in;
      WeightBlock w;
      ReadPart(sizes, weights, {p / (high * wide), p / wide % high, p % wide}, at % in, o, w);
      TransformBlock(rows, sizes, w, std::min(kBlock, out - o), to + at * out + o, inner * out);
    }
  }
}

int64_t LaneCount() { return static_cast<int64_t>(hn::Lanes(kLanes)); }

}  // namespace pt::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::onednn {

HWY_EXPORT(TilesIn);
HWY_EXPORT(TilesOut);
HWY_EXPORT(WeightsIn);
HWY_EXPORT(LaneCount);

int64_t WinogradLanes() { return HWY_DYNAMIC_DISPATCH(LaneCount)(); }

void TransformWeights(const WinogradSizes& sizes, std::span<const float> weights, float* to) {
  HWY_DYNAMIC_DISPATCH(WeightsIn)(sizes, weights.data(), to);
}

void TransformInput(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, int64_t first,
                    int64_t count, float* patches, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(TilesIn)(sizes, x, planes, first, count, patches, stride);
}

void TransformOutput(const WinogradSizes& sizes, const float* products, int64_t stride, int64_t first, int64_t count,
                     std::span<const WinogradStep> steps, float* y, const ChannelPlanes& planes) {
  HWY_DYNAMIC_DISPATCH(TilesOut)(sizes, products, stride, first, count, steps, y, planes);
}

}  // namespace pt::onednn
#endif
