// DynamicQuantizeLinear: to uint8, with the range of the data, in two passes over them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/operators/dynamic_quantization.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/operators/dynamic_quantization.h"

#ifndef PT_HOST_DYNAMIC_QUANTIZATION
#define PT_HOST_DYNAMIC_QUANTIZATION
namespace pt::host {
namespace {

// Of data, zero included. What is NaN counts for nothing.
struct Range {
  float low = 0, high = 0;
};

struct Steps {
  float scale = 0, zero = 0;
};

struct DataFunctions {
  void (*widen)(const float* x, int64_t n, Range& range) = nullptr;
  void (*quantise)(const float* x, int64_t n, Steps steps, uint8_t* y) = nullptr;
};

}  // namespace
}  // namespace pt::host
#endif

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// Comparisons with NaN are false.
HWY_INLINE V Lower(V low, V x) { return hn::IfThenElse(hn::Lt(x, low), x, low); }
HWY_INLINE V Higher(V high, V x) { return hn::IfThenElse(hn::Gt(x, high), x, high); }

void Widen(const float* x, int64_t n, Range& range) {
  constexpr int64_t kStreams = 4;  // sums that depend on each other would wait
  const D d;
  const int64_t lanes = Lanes();
  V low[kStreams], high[kStreams];
  for (int64_t s = 0; s < kStreams; ++s) {
    low[s] = hn::Set(d, range.low);
    high[s] = hn::Set(d, range.high);
  }
  int64_t i = 0;
  for (; i + kStreams * lanes <= n; i += kStreams * lanes) {
    for (int64_t s = 0; s < kStreams; ++s) {
      const V v = hn::LoadU(d, x + i + s * lanes);
      low[s] = Lower(low[s], v);
      high[s] = Higher(high[s], v);
    }
  }
  for (; i < n; i += lanes) {
    const V v = i + lanes <= n ? hn::LoadU(d, x + i) : LoadRest(d, x + i, n - i);
    low[0] = Lower(low[0], v);
    high[0] = Higher(high[0], v);
  }
  for (int64_t s = 1; s < kStreams; ++s) {
    low[0] = Lower(low[0], low[s]);
    high[0] = Higher(high[0], high[s]);
  }
  range.low = hn::GetLane(hn::MinOfLanes(d, low[0]));
  range.high = hn::GetLane(hn::MaxOfLanes(d, high[0]));
}

// In order: divided, rounded to the nearest (ties to even), moved, kept within 0..255. What is NaN becomes 0.
HWY_INLINE hn::Vec<hn::Rebind<uint8_t, D>> Quantised(V x, V scale, V zero) {
  const D d;
  const V moved = hn::Add(hn::Round(hn::Div(x, scale)), zero);
  const V number = hn::IfThenElseZero(hn::Eq(moved, moved), moved);
  const V within = hn::Min(hn::Max(number, hn::Zero(d)), hn::Set(d, 255.0F));
  return hn::DemoteTo(hn::Rebind<uint8_t, D>(), hn::ConvertTo(hn::Rebind<int32_t, D>(), within));
}

void Quantise(const float* x, int64_t n, Steps steps, uint8_t* y) {
  const D d;
  const hn::Rebind<uint8_t, D> bytes;
  if (steps.scale == 0) {
    std::fill_n(y, n, uint8_t{0});
    return;
  }
  const V scale = hn::Set(d, steps.scale), zero = hn::Set(d, steps.zero);
  int64_t i = 0;
  for (; i + Lanes() <= n; i += Lanes()) hn::StoreU(Quantised(hn::LoadU(d, x + i), scale, zero), bytes, y + i);
  if (i == n) return;
  HWY_ALIGN uint8_t rest[hn::MaxLanes(D())];
  hn::Store(Quantised(LoadRest(d, x + i, n - i), scale, zero), bytes, rest);
  std::copy_n(rest, n - i, y + i);
}

}  // namespace

DataFunctions Find() { return {Widen, Quantise}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(Find);

// Data in pieces whose elements lie side by side, the data's as the result's.
struct Pieces {
  static constexpr int64_t kMost = 4096;  // elements

  Walk<2> rows;  // offsets in the data and the result
  int64_t row = 1, per_row = 1, count = 0;

  // f(offset in the data, offset in the result, elements) for pieces from `begin` to before `end`.
  template <typename F>
  void ForEach(int64_t begin, int64_t end, F&& f) const {
    Cursor<2> at(rows, begin / per_row);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % per_row * kMost;
      f(at.offsets()[0] + first, at.offsets()[1] + first, std::min(kMost, row - first));
      if (i % per_row == per_row - 1) at.Next();
    }
  }
};

Pieces PiecesOf(const HostOperand& x, const std::vector<int64_t>& result_strides) {
  Walk<2> all;
  for (size_t d = x.dims().size(); d-- > 0;) all.Push(x.dims()[d], {x.strides()[d], result_strides[d]});
  const bool side_by_side = all.rank > 0 && all.inner_stride() == Walk<2>::Offsets{1, 1};
  Pieces pieces;
  pieces.rows = side_by_side ? all.Without(0) : all;
  pieces.row = side_by_side ? all.inner_size() : 1;
  if (all.count == 0) return pieces;
  pieces.per_row = (pieces.row + Pieces::kMost - 1) / Pieces::kMost;
  pieces.count = pieces.rows.count * pieces.per_row;
  return pieces;
}

// Where the scale is 0 all data are, and NaN counts as the lower end.
Steps StepsOf(const Range& range) {
  const float scale = (range.high - range.low) / 255.0F;
  const float zero = scale == 0 ? 0 : std::nearbyint(-range.low / scale);
  return {scale, zero >= 0 ? std::min(zero, 255.0F) : 0};
}

struct Quantisation {
  DataFunctions data;
  Pieces pieces;
  bool makes_result = false;
  double piece_elements = 1;

  Range RangeOfData(const HostCall& run) const {
    const int64_t most = run.team == nullptr ? 1 : run.team->width();
    auto* ranges = reinterpret_cast<Range*>(run.scratch);
    std::fill_n(ranges, most, Range());
    ParallelParts(
        run.team, pieces.count, piece_elements * 0.04 + 5, most, [&](int64_t part, int64_t begin, int64_t end) {
          Range range;
          pieces.ForEach(begin, end,
                         [&](int64_t from, int64_t, int64_t n) { data.widen(run.input<float>(0) + from, n, range); });
          ranges[part] = range;
        });
    Range range;
    for (int64_t part = 0; part < most; ++part) {
      range.low = std::min(range.low, ranges[part].low);
      range.high = std::max(range.high, ranges[part].high);
    }
    return range;
  }

  void Quantise(const HostCall& run, const Steps& steps) const {
    ParallelRanges(run.team, pieces.count, piece_elements * 0.1 + 5, [&](int64_t begin, int64_t end) {
      pieces.ForEach(begin, end, [&](int64_t from, int64_t to, int64_t n) {
        data.quantise(run.input<float>(0) + from, n, steps, run.output<uint8_t>(0) + to);
      });
    });
  }
};

Result<HostRoutine> DynamicQuantizeLinear(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const HostOperand& x = site.in[0];
  if (x.type() != DataType::kFloat32) return site.Unsupported("its input is not float32");
  PT_CHECK_OK(site.NeedOutput(0, DataType::kUint8, x.dims()));
  PT_CHECK_OK(site.NeedOutput(1, DataType::kFloat32, {}));
  PT_CHECK_OK(site.NeedOutput(2, DataType::kUint8, {}));
  Quantisation q;
  q.data = HWY_DYNAMIC_DISPATCH(Find)();
  q.makes_result = site.out[0].present();
  q.pieces = PiecesOf(x, q.makes_result ? site.out[0].strides() : x.strides());
  q.piece_elements = static_cast<double>(std::min(q.pieces.row, Pieces::kMost));
  HostRoutine routine;
  routine.scratch_bytes = sizeof(Range) * site.width;
  routine.run = [q](const HostCall& run) -> Status {
    const Steps steps = StepsOf(q.RangeOfData(run));
    if (run.output<float>(1) != nullptr) *run.output<float>(1) = steps.scale;
    if (run.output<uint8_t>(2) != nullptr) *run.output<uint8_t>(2) = static_cast<uint8_t>(steps.zero);
    if (q.makes_result) q.Quantise(run, steps);
    return {};
  };
  return routine;
}

constexpr std::array kDynamicQuantizationOperators = {HostRow{"DynamicQuantizeLinear", DynamicQuantizeLinear}};

}  // namespace

std::span<const HostRow> DynamicQuantizationOperators() { return kDynamicQuantizationOperators; }

}  // namespace pt::host
#endif
