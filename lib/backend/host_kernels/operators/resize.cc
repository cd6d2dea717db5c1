// Resize of float32, uint8 and int8 by weighted sums, dim by dim in the order of the definition. The last two dims that
// change are one stage: each row of the result is made of rows of the input in the cache, then along itself.
#include "lib/backend/host_kernels/operators/resize.h"

#include <array>
#include <limits>
#include <memory>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/arrangement.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/kernels/weighted_rows.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/alignment.h"

namespace pt::host {
namespace {

constexpr int64_t kWide = 16;      // elements that lie together: from this many on they are rows of their own
constexpr int64_t kBlock = 256;    // sums before they become integers
constexpr int64_t kPartsEach = 4;  // shares of a core
constexpr size_t kNoDim = ~size_t{0};
constexpr size_t kMostRowsHeld = 4;                                     // rows made along themselves
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();  // whose places are counted in 32 bits

// Output index o is the sum of weights[k] · x[offsets[k]] for k in [first[o], first[o + 1]).
template <typename W>
struct AxisTaps {
  std::vector<int64_t> first{0}, offsets;  // in elements of the source
  std::vector<W> weights;
  std::vector<bool> outside;  // the extrapolation value instead

  int64_t out() const { return static_cast<int64_t>(outside.size()); }
  int64_t count(int64_t o) const { return first[static_cast<size_t>(o) + 1] - first[static_cast<size_t>(o)]; }
};

template <typename W>
AxisTaps<W> TapsOf(const ResizeNode& node, const ResizedAxis& axis, int64_t stride) {
  AxisTaps<W> taps;
  for (int64_t o = 0; o < axis.out; ++o) {
    const double source = SourceOf(node, axis, o);
    taps.outside.push_back(IsOutside(node, axis, source));
    ForTaps(node, axis, taps.outside.back() ? 0 : source, [&](int64_t at, double weight) {
      taps.offsets.push_back(at * stride);
      taps.weights.push_back(static_cast<W>(weight));
    });
    taps.first.push_back(static_cast<int64_t>(taps.offsets.size()));
  }
  return taps;
}

// Of a dim that stays as it is.
template <typename W>
AxisTaps<W> OneTap() {
  return {{0, 1}, {0}, {1}, {false}};
}

// The taps of all elements of a row, padded to as many for each by a zero that lies behind the row.
template <typename W>
struct ElementTaps {
  int64_t taps = 0, n = 0;
  std::vector<int32_t> places;
  std::vector<W> weights;
  std::vector<int32_t> windows;  // as WeighElements wants them
};

// Where the elements begin that hold all that each vector of results is made of; -1 where they are too far apart.
template <typename W>
std::vector<int32_t> WindowsOf(const ElementTaps<W>& spread, int64_t line) {
  const int64_t lanes = VectorElements<W>();
  std::vector<int32_t> windows;
  for (int64_t i = 0; i + lanes <= spread.n; i += lanes) {
    int64_t least = line, most = 0;
    for (int64_t k = 0; k < spread.taps; ++k) {
      const auto begin = spread.places.begin() + k * spread.n + i;
      const auto [low, high] = std::minmax_element(begin, begin + lanes);
      least = std::min<int64_t>(least, *low);
      most = std::max<int64_t>(most, *high);
    }
    least = std::min(least, line - lanes);  // nothing is read behind the line
    windows.push_back(least >= 0 && most < least + lanes ? static_cast<int32_t>(least) : -1);
  }
  return windows;
}

template <typename W>
ElementTaps<W> SpreadOver(const AxisTaps<W>& axis, int64_t inner, int64_t zero) {
  ElementTaps<W> spread{0, axis.out() * inner, {}, {}, {}};
  for (int64_t o = 0; o < axis.out(); ++o) spread.taps = std::max(spread.taps, axis.count(o));
  spread.places.assign(static_cast<size_t>(spread.taps * spread.n), static_cast<int32_t>(zero));
  spread.weights.assign(spread.places.size(), 0);
  for (int64_t o = 0; o < axis.out(); ++o) {
    for (int64_t k = 0; k < axis.count(o); ++k) {
      const auto tap = static_cast<size_t>(axis.first[static_cast<size_t>(o)] + k);
      for (int64_t i = 0; i < inner; ++i) {
        const auto at = static_cast<size_t>(k * spread.n + o * inner + i);
        spread.places[at] = static_cast<int32_t>(axis.offsets[tap] + i);
        spread.weights[at] = axis.weights[tap];
      }
    }
  }
  spread.windows = WindowsOf(spread, zero + 1);
  return spread;
}

// One pass over the tensor, or two at once.
template <typename W>
struct Stage {
  Walk<2> outer;          // offsets in source and result
  AxisTaps<W> rows;       // offsets in the source
  int64_t rows_from = 0;  // stride in the source
  int64_t rows_to = 0;    // stride in the result
  bool has_along = false;
  AxisTaps<W> along;  // offsets in a line: the `along_in` elements of `inner` each without gaps
  int64_t along_in = 1, along_from = 0, along_to = 0;
  int64_t inner = 1;      // elements that lie together
  ElementTaps<W> spread;  // where inner is small
  int64_t held = 0;       // rows of the source that are made along themselves before they are weighed; 0: weighed first

  int64_t line() const { return along_in * inner; }
  int64_t result() const { return has_along ? along.out() * inner : inner; }
  uint64_t scratch() const {  // of a part, in elements
    return has_along ? static_cast<uint64_t>(line() + 1 + std::max<int64_t>(held, 1) * result()) : 0;
  }
};

template <typename From, typename W>
void WeighRow(const AxisTaps<W>& taps, int64_t o, const From* x, int64_t n, W* y) {
  const auto first = static_cast<size_t>(taps.first[static_cast<size_t>(o)]);
  WeighRows(RowsCall<From, W>{x, taps.offsets.data() + first, taps.weights.data() + first, taps.count(o), n, y});
}

template <typename W, typename To>
void StoreRow(const W* x, To* y, int64_t n) {
  if constexpr (std::is_same_v<W, To>) {
    if (x != y) std::copy_n(x, n, y);
  } else {
    StoreResized(x, y, n);
  }
}

// Row o of a stage without `along`.
template <typename From, typename To, typename W>
void MakeRow(const Stage<W>& s, int64_t o, const From* x, To* y, W outside) {
  if (s.rows.outside[static_cast<size_t>(o)]) {
    std::fill_n(y, s.inner, static_cast<To>(outside));
    return;
  }
  if constexpr (std::is_same_v<W, To>) {
    WeighRow(s.rows, o, x, s.inner, y);
  } else {
    std::array<W, kBlock> sums;
    for (int64_t i = 0; i < s.inner; i += kBlock) {
      const int64_t n = std::min(kBlock, s.inner - i);
      WeighRow(s.rows, o, x + i, n, sums.data());
      StoreRow(sums.data(), y + i, n);
    }
  }
}

// What row o is made of along itself, followed by a zero.
template <typename From, typename W>
void FillLine(const Stage<W>& s, int64_t o, const From* x, W* line, W outside) {
  line[s.line()] = 0;
  if (s.rows.outside[static_cast<size_t>(o)]) {
    std::fill_n(line, s.line(), outside);
  } else if (s.along_from == s.inner) {
    WeighRow(s.rows, o, x, s.line(), line);
  } else {
    for (int64_t i = 0; i < s.along_in; ++i) WeighRow(s.rows, o, x + i * s.along_from, s.inner, line + i * s.inner);
  }
}

template <typename To, typename W>
void MakeAlong(const Stage<W>& s, const W* line, W* sums, To* y, W outside) {
  const bool together = s.along_to == s.inner;
  if constexpr (std::is_same_v<W, To>) {
    if (together) sums = y;
  }
  if (s.spread.n > 0) {
    const ElementTaps<W>& e = s.spread;
    WeighElements(ElementsCall<W>{line, e.places.data(), e.weights.data(), e.windows.data(), e.taps, e.n, sums});
  } else {
    for (int64_t o = 0; o < s.along.out(); ++o) WeighRow(s.along, o, line, s.inner, sums + o * s.inner);
  }
  for (int64_t o = 0; o < s.along.out(); ++o) {
    if (s.along.outside[static_cast<size_t>(o)]) std::fill_n(sums + o * s.inner, s.inner, outside);
  }
  if (together) return StoreRow(sums, y, s.result());
  for (int64_t o = 0; o < s.along.out(); ++o) StoreRow(sums + o * s.inner, y + o * s.along_to, s.inner);
}

// Rows of the source made along themselves, the last `held` of them: neighbours in the result share them.
class AlongRows {
 public:
  // `line` and what follows it: the part's scratch.
  AlongRows(const Stage<float>& s, float* line) : s_(s), line_(line), rows_(line + s.line() + 1) {}

  // Row o of the result of which the source begins at x.
  void MakeRow(int64_t o, const float* x, float* y) {
    if (x != source_) known_.fill(-1);
    source_ = x;
    const int64_t taps = s_.rows.count(o);
    const auto first = static_cast<size_t>(s_.rows.first[static_cast<size_t>(o)]);
    std::array<int64_t, kMostRowsHeld> places;
    for (int64_t k = 0; k < taps; ++k)
      places[static_cast<size_t>(k)] = Hold(s_.rows.offsets[first + static_cast<size_t>(k)]);
    WeighRows(RowsCall<float, float>{rows_, places.data(), s_.rows.weights.data() + first, taps, s_.result(), y});
  }

 private:
  // Where the row is whose elements begin there in the source.
  int64_t Hold(int64_t offset) {
    const int64_t slot = offset / s_.rows_from % s_.held;
    int64_t& known = known_[static_cast<size_t>(slot)];
    float* row = rows_ + slot * s_.result();
    if (known != offset) {
      known = offset;
      if (s_.along_from == s_.inner) {
        std::copy_n(source_ + offset, s_.line(), line_);
      } else {
        for (int64_t i = 0; i < s_.along_in; ++i) {
          std::copy_n(source_ + offset + i * s_.along_from, s_.inner, line_ + i * s_.inner);
        }
      }
      line_[s_.line()] = 0;
      MakeAlong(s_, line_, row, row, 0.0F);
    }
    return slot * s_.result();
  }

  const Stage<float>& s_;
  float *line_, *rows_;
  const float* source_ = nullptr;
  std::array<int64_t, kMostRowsHeld> known_{};  // what each slot holds: offsets in the source
};

// How many rows of the source to hold made along themselves; 0 where rows do not become more, where that would not give
// the same result, or where rows of the result are made of rows far apart.
int64_t RowsToHold(const Stage<float>& s, int64_t rows_in) {
  const auto any = [](const std::vector<bool>& outside) { return std::ranges::find(outside, true) != outside.end(); };
  if (!s.has_along || s.along_to != s.inner || s.rows.out() <= rows_in || any(s.rows.outside) || any(s.along.outside))
    return 0;
  int64_t held = 1;
  for (int64_t o = 0; o < s.rows.out(); ++o) {
    const auto begin = s.rows.offsets.begin() + s.rows.first[static_cast<size_t>(o)];
    const auto [least, most] = std::minmax_element(begin, begin + s.rows.count(o));
    held = std::max(held, (*most - *least) / s.rows_from + 1);
    if (s.rows.count(o) > static_cast<int64_t>(kMostRowsHeld)) return 0;
  }
  return held <= static_cast<int64_t>(kMostRowsHeld) ? held : 0;
}

template <typename From, typename To, typename W>
void RunStage(const Stage<W>& s, const From* x, To* y, W outside, W* scratch, Team* team) {
  const int64_t rows = s.rows.out(), items = s.outer.count * rows;
  const auto taps = [](const AxisTaps<W>& t) { return static_cast<double>(t.weights.size()); };
  double work = static_cast<double>(s.line()) * taps(s.rows) / static_cast<double>(std::max<int64_t>(rows, 1));
  if (s.has_along) work += 2 * static_cast<double>(s.inner) * taps(s.along);
  const int64_t most = (team == nullptr ? 1 : team->width()) * kPartsEach;
  ParallelParts(team, items, work * 0.2 + 10, most, [&](int64_t part, int64_t begin, int64_t end) {
    W* line = scratch + part * static_cast<int64_t>(s.scratch());
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, float>) {
      if (s.held > 0) {
        AlongRows held(s, line);
        for (int64_t item = begin; item < end; ++item) {
          const Walk<2>::Offsets at = s.outer.At(item / rows);
          held.MakeRow(item % rows, x + at[0], y + at[1] + item % rows * s.rows_to);
        }
        return;
      }
    }
    for (int64_t item = begin; item < end; ++item) {
      const Walk<2>::Offsets at = s.outer.At(item / rows);
      To* to = y + at[1] + item % rows * s.rows_to;
      if (s.has_along) {
        FillLine(s, item % rows, x + at[0], line, outside);
        MakeAlong(s, line, line + s.line() + 1, to, outside);
      } else {
        MakeRow(s, item % rows, x + at[0], to, outside);
      }
    }
  });
}

// Strides of dims of these sizes that lie without gaps.
void LayDense(std::vector<ResizedMemoryDim>& dims, int64_t ResizedMemoryDim::*stride, int64_t ResizedAxis::*size) {
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    dims[d].*stride = step;
    step *= dims[d].axis.*size;
  }
}

// The stage that resizes dims[row], dims[along] or both (kNoDim: none such); all others keep their sizes.
template <typename W>
Stage<W> MakeStage(const ResizeNode& node, std::span<const ResizedMemoryDim> dims, size_t row, size_t along) {
  Stage<W> s;
  s.has_along = along != kNoDim;
  const size_t trailing = TrailingDims(dims.subspan((s.has_along ? along : row) + 1), s.inner);
  for (size_t d = dims.size() - trailing; d-- > 0;) {
    if (d != row && d != along) s.outer.Push(dims[d].axis.in, {dims[d].from, dims[d].to});
  }
  s.rows = row != kNoDim ? TapsOf<W>(node, dims[row].axis, dims[row].from) : OneTap<W>();
  if (row != kNoDim) {
    s.rows_from = dims[row].from;
    s.rows_to = dims[row].to;
  }
  if (!s.has_along) return s;
  const ResizedMemoryDim& dim = dims[along];
  s.along = TapsOf<W>(node, dim.axis, s.inner);
  s.along_in = dim.axis.in;
  s.along_from = dim.from;
  s.along_to = dim.to;
  if (s.inner < kWide) s.spread = SpreadOver(s.along, s.inner, s.line());
  if constexpr (std::is_same_v<W, float>) s.held = row == kNoDim ? 0 : RowsToHold(s, dims[row].axis.in);
  return s;
}

template <typename W>
struct Stages {
  std::vector<Stage<W>> list;
  int64_t between = 0;  // elements of the largest tensor between two stages
  uint64_t lines = 0;   // elements that the parts of a stage need
};

// As the stage sees them that resizes these two: all others have one size.
std::vector<ResizedMemoryDim> DimsOfStage(std::vector<ResizedMemoryDim> dims, size_t row, size_t along) {
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d].changes = d == row || d == along;
    if (!dims[d].changes) dims[d].axis.out = dims[d].axis.in;
  }
  return dims;
}

template <typename W>
Stages<W> MakeStages(const ResizeNode& node, const std::vector<ResizedMemoryDim>& all, uint32_t width) {
  Stages<W> stages;
  std::vector<size_t> changing;
  for (size_t d = 0; d < all.size(); ++d) {
    if (all[d].changes) changing.push_back(d);
  }
  std::vector<ResizedMemoryDim> now = all;  // `in` and `from` as the stages before made it
  for (size_t done = 0; done < changing.size(); ++done) {
    size_t row = changing[done], along = done + 2 == changing.size() ? changing[++done] : kNoDim;
    const bool last = done + 1 == changing.size();
    std::vector<ResizedMemoryDim> dims = DimsOfStage(now, row, along);
    if (!last) LayDense(dims, &ResizedMemoryDim::to, &ResizedAxis::out);
    int64_t inner = 1, count = 1;
    TrailingDims(std::span(dims).subspan(row + 1), inner);
    if (along == kNoDim && inner < kWide) std::swap(row, along);
    stages.list.push_back(MakeStage<W>(node, dims, row, along));
    stages.lines = std::max(stages.lines, stages.list.back().scratch() * width * kPartsEach);
    for (size_t d = 0; d < now.size(); ++d) count *= now[d].axis.in = dims[d].axis.out;
    if (!last) stages.between = std::max(stages.between, count);
    LayDense(now, &ResizedMemoryDim::from, &ResizedAxis::in);
  }
  return stages;
}

template <typename T>
HostRoutine WeightedRoutine(const HostSite& site, const ResizeNode& node, const std::vector<ResizedMemoryDim>& dims) {
  using W = std::conditional_t<std::is_same_v<T, float>, float, double>;
  const auto stages = std::make_shared<Stages<W>>(MakeStages<W>(node, dims, site.width));
  const auto outside = static_cast<W>(node.extrapolation);
  HostRoutine routine;
  const uint64_t between = AlignUp(static_cast<uint64_t>(stages->between) * sizeof(W));
  routine.scratch_bytes = 2 * between + stages->lines * sizeof(W);
  routine.run = [stages, outside, between](const HostCall& run) -> Status {
    W* now = reinterpret_cast<W*>(run.scratch);
    W* next = reinterpret_cast<W*>(run.scratch + between);
    W* lines = reinterpret_cast<W*>(run.scratch + 2 * between);
    const size_t count = stages->list.size();
    for (size_t i = 0; i < count; ++i) {
      const Stage<W>& s = stages->list[i];
      if (i == 0 && count == 1) {
        RunStage(s, run.input<T>(0), run.output<T>(0), outside, lines, run.team);
      } else if (i == 0) {
        RunStage(s, run.input<T>(0), now, outside, lines, run.team);
      } else if (i + 1 == count) {
        RunStage(s, now, run.output<T>(0), outside, lines, run.team);
      } else {
        RunStage(s, now, next, outside, lines, run.team);
        std::swap(now, next);
      }
    }
    return {};
  };
  return routine;
}

Result<std::vector<ResizedMemoryDim>> DimsInMemory(const HostSite& site, const ConstantResize& resize) {
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (!x.layout.layout.blocks.empty() || x.layout.layout != y.layout.layout) {
    return site.Unsupported("input and result lie in blocks, or in different orders");
  }
  std::vector<ResizedMemoryDim> dims;
  std::optional<size_t> before;
  for (const size_t d : x.layout.layout.order) {
    const bool changes = IsResized(resize.node, resize.dims[d]);
    dims.push_back({resize.dims[d], changes, x.strides()[d], y.strides()[d]});
    if (!changes) continue;
    if (before > d) return site.Unsupported("the dims that change lie in another order than their own");
    before = d;
  }
  if (!before) return site.Unsupported("nothing changes");
  return dims;
}

template <typename T>
bool Holds(double value) {
  return std::is_floating_point_v<T> || (value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                                         value <= static_cast<double>(std::numeric_limits<T>::max()));
}

Result<HostRoutine> Resize(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 4));
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_ASSIGN(const ConstantResize resize, OrUnsupported(ReadConstantResize(site.graph, site.node()), site));
  PT_CHECK_OK(site.NeedOutput(0, x.type(), y.dims()));
  PT_ASSIGN(const std::vector<ResizedMemoryDim> dims, DimsInMemory(site, resize));
  if (x.count() >= kMostElements || y.count() >= kMostElements) return site.Unsupported("it is too large");
  const auto make = [&]<typename T>() -> Result<HostRoutine> {
    if (!Holds<T>(resize.node.extrapolation)) return site.Unsupported("its type does not hold the extrapolation value");
    if (resize.node.mode == ResizeMode::kNearest) return NearestRoutine(site, resize.node, dims);
    return WeightedRoutine<T>(site, resize.node, dims);
  };
  if (x.type() == DataType::kFloat32) return make.template operator()<float>();
  if (x.type() == DataType::kUint8) return make.template operator()<uint8_t>();
  if (x.type() == DataType::kInt8) return make.template operator()<int8_t>();
  const bool moves = resize.node.mode == ResizeMode::kNearest && !resize.node.crops();
  const bool is_number = IsInteger(x.type()) || (IsFloating(x.type()) && BitsOf(x.type()) >= 16);
  if (!moves || !is_number) {
    return site.Unsupported("its elements are not float32, uint8 or int8");
  }
  return NearestRoutine(site, resize.node, dims);
}

constexpr std::array kResizeOperators = {HostRow{"Resize", Resize, true}, HostRow{"Upsample", Resize, true}};

}  // namespace

size_t TrailingDims(std::span<const ResizedMemoryDim> dims, int64_t& inner) {
  inner = 1;
  size_t count = 0;
  for (size_t d = dims.size(); d-- > 0; ++count) {
    const ResizedMemoryDim& dim = dims[d];
    const bool together = dim.from == inner && dim.to == inner;
    if (dim.changes || (!together && dim.axis.in != 1)) break;
    inner *= dim.axis.in;
  }
  return count;
}

std::span<const HostRow> ResizeOperators() { return kResizeOperators; }

}  // namespace pt::host
