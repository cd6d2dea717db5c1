#include "lib/backend/onednn/winograd_transform.h"

#include <algorithm>
#include <array>

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

// Row and column of a tile's first result, and its image.
struct Place {
  int64_t image, row, column;
};
HWY_INLINE Place PlaceOf(const WinogradSizes& sizes, int64_t tile) {
  const int64_t wide = sizes.tiles_wide(), high = sizes.tiles_high();
  return {tile / (wide * high), tile / wide % high * sizes.tile, tile % wide * sizes.tile};
}

HWY_INLINE int64_t ChannelOffset(const ChannelPlanes& planes, int64_t channel) {
  return channel / planes.block * planes.block_stride + channel % planes.block;
}

template <typename T>
void TileIn(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, int64_t tile, float* patches,
            int64_t stride) {
  constexpr int64_t kPatch = T::kPatch;
  const Place place = PlaceOf(sizes, tile);
  const int64_t top = place.row - sizes.pad_top, left = place.column - sizes.pad_left;
  const bool inside = top >= 0 && left >= 0 && top + kPatch <= sizes.in_height && left + kPatch <= sizes.in_width;
  for (int64_t c = 0; c < sizes.in_channels; c += static_cast<int64_t>(hn::Lanes(kLanes))) {
    const float* from =
        x + place.image * planes.image + ChannelOffset(planes, c) + top * planes.row + left * planes.column;
    Vector columns[kPatch][kPatch];  // transformed along the rows, by column
    for (int64_t j = 0; j < kPatch; ++j) {
      Vector d[kPatch];
      for (int64_t i = 0; i < kPatch; ++i) {
        const bool there =
            inside || (top + i >= 0 && top + i < sizes.in_height && left + j >= 0 && left + j < sizes.in_width);
        d[i] = there ? hn::LoadU(kLanes, from + i * planes.row + j * planes.column) : hn::Zero(kLanes);
      }
      T::In(d, columns[j]);
    }
    for (int64_t i = 0; i < kPatch; ++i) {
      Vector d[kPatch], r[kPatch];
      for (int64_t j = 0; j < kPatch; ++j) d[j] = columns[j][i];
      T::In(d, r);
      for (int64_t j = 0; j < kPatch; ++j) hn::StoreU(r[j], kLanes, patches + (i * kPatch + j) * stride + c);
    }
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

template <typename T>
void TileOut(const WinogradSizes& sizes, const float* products, int64_t stride, int64_t tile,
             std::span<const WinogradStep> steps, float* y, const ChannelPlanes& planes) {
  constexpr int64_t kPatch = T::kPatch, kTile = T::kTile;
  const Place place = PlaceOf(sizes, tile);
  bool there[kTile * kTile];
  for (int64_t i = 0; i < kTile * kTile; ++i) {
    there[i] = place.row + i / kTile < sizes.out_height && place.column + i % kTile < sizes.out_width;
  }
  const auto offsets_in = [&](const ChannelPlanes& of, int64_t* offsets) {
    for (int64_t i = 0; i < kTile * kTile; ++i) offsets[i] = i / kTile * of.row + i % kTile * of.column;
  };
  const auto start_in = [&](const ChannelPlanes& of, int64_t channel) {
    return place.image * of.image + ChannelOffset(of, channel) + place.row * of.row + place.column * of.column;
  };
  int64_t out_offsets[kTile * kTile];
  offsets_in(planes, out_offsets);
  for (int64_t c = 0; c < sizes.out_channels; c += static_cast<int64_t>(hn::Lanes(kLanes))) {
    Vector columns[kPatch][kTile];
    for (int64_t j = 0; j < kPatch; ++j) {
      Vector m[kPatch];
      for (int64_t i = 0; i < kPatch; ++i) m[i] = hn::LoadU(kLanes, products + (i * kPatch + j) * stride + c);
      T::Out(m, columns[j]);
    }
    Vector results[kTile * kTile];
    for (int64_t i = 0; i < kTile; ++i) {
      Vector m[kPatch];
      for (int64_t j = 0; j < kPatch; ++j) m[j] = columns[j][i];
      T::Out(m, results + i * kTile);
    }
    for (const WinogradStep& step : steps) {
      int64_t offsets[kTile * kTile] = {};
      if (step.tensor != nullptr) offsets_in(step.planes, offsets);
      const float* tensor = step.tensor == nullptr ? nullptr : step.tensor + start_in(step.planes, c);
      Apply<kTile * kTile>(step, c, tensor, offsets, there, results);
    }
    float* to = y + start_in(planes, c);
    for (int64_t i = 0; i < kTile * kTile; ++i) {
      if (there[i]) hn::StoreU(results[i], kLanes, to + out_offsets[i]);
    }
  }
}

void TilesIn(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, int64_t first, int64_t count,
             float* patches, int64_t stride) {
  for (int64_t t = 0; t < count; ++t) {
    float* to = patches + t * sizes.in_channels;
    if (sizes.tile == 2) {
      TileIn<Tile2>(sizes, x, planes, first + t, to, stride);
    } else {
      TileIn<Tile4>(sizes, x, planes, first + t, to, stride);
    }
  }
}

void TilesOut(const WinogradSizes& sizes, const float* products, int64_t stride, int64_t first, int64_t count,
              std::span<const WinogradStep> steps, float* y, const ChannelPlanes& planes) {
  for (int64_t t = 0; t < count; ++t) {
    const float* from = products + t * sizes.out_channels;
    if (sizes.tile == 2) {
      TileOut<Tile2>(sizes, from, stride, first + t, steps, y, planes);
    } else {
      TileOut<Tile4>(sizes, from, stride, first + t, steps, y, planes);
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
HWY_EXPORT(LaneCount);

namespace {

// Rows of the matrix that a 3-vector of weights is multiplied with.
using WeightRows = std::array<std::array<double, 3>, 6>;
constexpr double kRoot = 1.41421356237309504880;
constexpr WeightRows kRows2 = {{{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}, {}, {}}};
constexpr WeightRows kRows4 = {{{1, 0, 0},
                                {-1 / 1.5, -kRoot / 3, -0.5 / 1.5},
                                {-1 / 1.5, kRoot / 3, -0.5 / 1.5},
                                {1.0 / 6, kRoot / 6, 2.0 / 6},
                                {1.0 / 6, -kRoot / 6, 2.0 / 6},
                                {0, 0, 1}}};

}  // namespace

int64_t WinogradLanes() { return HWY_DYNAMIC_DISPATCH(LaneCount)(); }

std::vector<float> TransformWeights(const WinogradSizes& sizes, std::span<const float> weights) {
  const WeightRows& rows = sizes.tile == 2 ? kRows2 : kRows4;
  const auto patch = static_cast<size_t>(sizes.patch()), in = static_cast<size_t>(sizes.in_channels),
             out = static_cast<size_t>(sizes.out_channels);
  std::vector<float> result(patch * patch * in * out);
  // Output channels run fastest, so that each of the matrices is written in a row.
  for (size_t c = 0; c < in; ++c) {
    for (size_t o = 0; o < out; ++o) {
      const float* w = weights.data() + (o * in + c) * 9;
      for (size_t i = 0; i < patch; ++i) {
        std::array<double, 3> row{};  // row i of G·w
        for (size_t k = 0; k < 3; ++k) {
          for (size_t l = 0; l < 3; ++l) row[l] += rows[i][k] * static_cast<double>(w[k * 3 + l]);
        }
        for (size_t j = 0; j < patch; ++j) {
          const double sum = row[0] * rows[j][0] + row[1] * rows[j][1] + row[2] * rows[j][2];
          result[((i * patch + j) * in + c) * out + o] = static_cast<float>(sum);
        }
      }
    }
  }
  return result;
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
