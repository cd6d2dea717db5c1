// Pooling: AveragePool, MaxPool, LpPool and their global forms.
#include <array>
#include <cmath>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/sliding_window.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

// The part of one window that lies inside the input, per dim: indices first, first + dilation, ... below end.
struct Inner {
  std::array<int64_t, 3> first{}, end{}, step{};
  int64_t padded = 1;  // window positions inside the padded input
};

Inner InnerWindow(const SlidingWindow& w, int64_t position) {
  Inner inner;
  for (size_t d = 3; d-- > 0;) {
    const int64_t start = position % w.out[d] * w.stride[d] - w.pad_begin[d];
    position /= w.out[d];
    const int64_t stop = start + w.kernel[d] * w.dilation[d];
    inner.step[d] = w.dilation[d];
    inner.first[d] = start >= 0 ? start : start + (-start + w.dilation[d] - 1) / w.dilation[d] * w.dilation[d];
    inner.end[d] = std::min(stop, w.in[d]);
    const int64_t padded_stop = std::min(stop, w.in[d] + w.pad_end[d]);
    inner.padded *= std::max<int64_t>(0, (padded_stop - start + w.dilation[d] - 1) / w.dilation[d]);
  }
  return inner;
}

// f(offset) for each position of the window inside the input, in order.
template <typename F>
void ForEach(const Inner& inner, const SlidingWindow& w, F&& f) {
  for (int64_t z = inner.first[0]; z < inner.end[0]; z += inner.step[0]) {
    for (int64_t y = inner.first[1]; y < inner.end[1]; y += inner.step[1]) {
      for (int64_t x = inner.first[2]; x < inner.end[2]; x += inner.step[2]) f((z * w.in[1] + y) * w.in[2] + x);
    }
  }
}

struct Pooling {
  SlidingWindow window;  // three dims
  int64_t planes = 0;    // batch × channels
  int64_t in_plane = 1, out_plane = 1;
  double work = 1;  // of one plane
};

// The whole input at once.
SlidingWindow GlobalWindow(const std::vector<int64_t>& in) {
  SlidingWindow window;
  window.in = window.kernel = in;
  for (auto* ones : {&window.stride, &window.dilation, &window.out}) ones->assign(in.size(), 1);
  for (auto* zeros : {&window.pad_begin, &window.pad_end}) zeros->assign(in.size(), 0);
  return window;
}

// Pads at least as wide as the window make windows that see padding only: a maximum or mean of nothing. A dilated
// window may step over all of a narrow input as well.
Status NeedInputInEveryWindow(const ReferenceSite& site, const SlidingWindow& w) {
  for (size_t d = 0; d < w.in.size(); ++d) {
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d];
    const auto sees_input = [&](int64_t position) {
      const int64_t start = position * w.stride[d] - w.pad_begin[d];
      const int64_t first = start >= 0 ? start : start + (-start + w.dilation[d] - 1) / w.dilation[d] * w.dilation[d];
      return first < w.in[d] && first <= start + reach;
    };
    if (w.pad_begin[d] > reach || w.pad_end[d] > reach) {
      return site.Invalid("pads " + std::to_string(w.pad_begin[d]) + " and " + std::to_string(w.pad_end[d]) +
                          " of spatial dim " + std::to_string(d) + " must be smaller than its window of " +
                          std::to_string(reach + 1));
    }
    for (int64_t position = 0; position < w.out[d]; ++position) {
      if (sees_input(position)) continue;
      return site.Invalid("window " + std::to_string(position) + " of spatial dim " + std::to_string(d) +
                          " sees nothing of an input of dims " + DimsText(w.in));
    }
  }
  return {};
}

Result<Pooling> ReadPooling(ReferenceSite& site, bool global) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& x = site.in[0].dims;
  if (x.size() < 3) return site.Invalid("its input has no spatial dims");
  if (x.size() > 5) return site.Unsupported("is not supported for more than three spatial dims");
  const std::vector<int64_t> spatial(x.begin() + 2, x.end());
  SlidingWindow window;
  if (global) {
    window = GlobalWindow(spatial);
  } else {
    PT_ASSIGN(window, ReadWindow(site, spatial, ReadKernelShape(site.node).value_or(std::vector<int64_t>())));
    if (x[0] * x[1] > 0) PT_CHECK_OK(NeedInputInEveryWindow(site, window));
  }
  std::vector<int64_t> out = {x[0], x[1]};
  out.insert(out.end(), window.out.begin(), window.out.end());
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  Pooling p{ToThreeDims(std::move(window)), x[0] * x[1]};
  for (size_t d = 0; d < 3; ++d) {
    p.in_plane *= p.window.in[d];
    p.out_plane *= p.window.out[d];
    p.work *= static_cast<double>(p.window.out[d] * p.window.kernel[d]);
  }
  return p;
}

// out[i] = pool(in plane, window): once for each output position of each plane.
template <typename T, typename F>
ReferenceRoutine PoolRoutine(Pooling p, F pool) {
  return {[p = std::move(p), pool](const TensorCall& run) -> Status {
    ParallelRanges(run.team, p.planes, p.work, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const T* in = run.in<T>(0) + plane * p.in_plane;
        T* out = run.out<T>() + plane * p.out_plane;
        for (int64_t i = 0; i < p.out_plane; ++i) out[i] = pool(in, InnerWindow(p.window, i), p.window);
      }
    });
    return {};
  }};
}

template <bool global>
Result<ReferenceRoutine> AveragePool(ReferenceSite& site) {
  PT_ASSIGN(Pooling p, ReadPooling(site, global));
  const bool include_pad = ReadPoolingNode(site.node).counts_pads;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return PoolRoutine<T>(std::move(p), [include_pad](const T* in, const Inner& inner, const SlidingWindow& w) {
      T sum = 0;
      int64_t count = 0;
      ForEach(inner, w, [&](int64_t at) {
        sum += in[at];
        ++count;
      });
      return sum / static_cast<T>(include_pad ? inner.padded : count);
    });
  });
}

template <bool global>
Result<ReferenceRoutine> LpPool(ReferenceSite& site) {
  PT_ASSIGN(Pooling p, ReadPooling(site, global));
  const auto power = static_cast<double>(ReadPoolingNode(site.node).power);
  if (power <= 0) return site.Invalid("p is not positive");
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return PoolRoutine<T>(std::move(p), [power](const T* in, const Inner& inner, const SlidingWindow& w) {
      double sum = 0;
      ForEach(inner, w, [&](int64_t at) { sum += std::pow(std::fabs(static_cast<double>(in[at])), power); });
      return static_cast<T>(std::pow(sum, 1 / power));
    });
  });
}

template <typename T>
T MaxOf(const T* in, const Inner& inner, const SlidingWindow& w) {
  T most = std::numeric_limits<T>::lowest();
  if constexpr (std::is_floating_point_v<T>) most = -std::numeric_limits<T>::infinity();
  ForEach(inner, w, [&](int64_t at) {
    if (in[at] > most || in[at] != in[at]) most = in[at];
  });
  return most;
}

// Where the largest lies in the whole input, for the second output; the first of equals.
template <typename T>
ReferenceRoutine MaxPoolIndices(Pooling p, bool column_major) {
  return {[p = std::move(p), column_major](const TensorCall& run) -> Status {
    const SlidingWindow& w = p.window;
    ParallelRanges(run.team, p.planes, p.work * 2, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const T* in = run.in<T>(0) + plane * p.in_plane;
        for (int64_t i = 0; i < p.out_plane; ++i) {
          int64_t best = -1;
          ForEach(InnerWindow(w, i), w, [&](int64_t at) {
            if (best < 0 || in[at] > in[best]) best = at;
          });
          run.out<T>(0)[plane * p.out_plane + i] = best < 0 ? std::numeric_limits<T>::lowest() : in[best];
          if (column_major && best >= 0) {
            const int64_t x = best % w.in[2], y = best / w.in[2] % w.in[1], z = best / w.in[2] / w.in[1];
            best = z + w.in[0] * (y + w.in[1] * x);
            if (w.in[0] == 1) best = y + w.in[1] * x;
          }
          run.out<int64_t>(1)[plane * p.out_plane + i] = best < 0 ? -1 : plane * p.in_plane + best;
        }
      }
    });
    return {};
  }};
}

template <bool global>
Result<ReferenceRoutine> MaxPool(ReferenceSite& site) {
  PT_ASSIGN(Pooling p, ReadPooling(site, global));
  const bool indices = site.out.size() > 1 && site.wants(1);
  if (indices) {
    std::vector<int64_t> out = site.out[0].dims;
    PT_CHECK_OK(site.Out(1, DataType::kInt64, out));
  }
  const bool column_major = ReadPoolingNode(site.node).column_major;
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if (indices) return MaxPoolIndices<T>(std::move(p), column_major);
    return PoolRoutine<T>(std::move(p), MaxOf<T>);
  });
}

constexpr std::array kPoolOperators = {
    ReferenceRow{.op = "AveragePool", .make = AveragePool<false>, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "GlobalAveragePool", .make = AveragePool<true>, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "GlobalLpPool", .make = LpPool<true>, .feeding = Feeding::kWidened, .since = 2},
    ReferenceRow{.op = "GlobalMaxPool", .make = MaxPool<true>, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "LpPool", .make = LpPool<false>, .feeding = Feeding::kWidened, .since = 2},
    ReferenceRow{.op = "MaxPool", .make = MaxPool<false>, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> PoolOperators() { return kPoolOperators; }

}  // namespace pt::reference
