// TopK of float32, int32 and int64 along one axis. An element becomes a key that is greater the earlier the element
// comes in the result: by its number, and of equals by the lower index. The keys seen so far that may be among the
// first k lie in a reservoir; when it is full, all but the greatest k are dropped, and only greater ones enter it after
// that.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/entering.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt::host {
namespace {

// Keys that a reservoir has at least, so that few of them are dropped at a time.
constexpr int64_t kLeastCapacity = 32;

struct TopKs {
  Walk<3> lines;  // dims beside the axis: offsets in the input, the numbers and the indices
  int64_t n = 0, k = 0;
  int64_t step = 1, number_step = 1, index_step = 1;  // along the axis
  int64_t capacity = 0;                               // of a reservoir
  bool largest = true;
};

// As an unsigned number of the same order.
inline uint32_t OrderOf(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000U; }
inline uint64_t OrderOf(int64_t x) { return static_cast<uint64_t>(x) ^ 0x8000000000000000U; }
// NaN counts as largest, whatever its bits; zeros of both signs are equal.
inline uint32_t OrderOf(float x) {
  if (x != x) return 0xFFFFFFFFU;
  const uint32_t bits = std::bit_cast<uint32_t>(x + 0.0F);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// Of elements of four bytes one number holds both.
struct NarrowKey {
  uint64_t bits;
  NarrowKey() = default;
  NarrowKey(uint32_t order, int64_t index)
      : bits(uint64_t{order} << 32 | (0xFFFFFFFFU - static_cast<uint32_t>(index))) {}
  int64_t index() const { return static_cast<int64_t>(0xFFFFFFFFU - static_cast<uint32_t>(bits)); }
  bool operator>(const NarrowKey& other) const { return bits > other.bits; }
};
struct WideKey {
  uint64_t order;
  int64_t place;
  WideKey() = default;
  WideKey(uint64_t rank, int64_t index) : order(rank), place(index) {}
  int64_t index() const { return place; }
  bool operator>(const WideKey& other) const {
    return order != other.order ? order > other.order : place < other.place;
  }
};
template <typename T>
using Key = std::conditional_t<sizeof(T) == 4, NarrowKey, WideKey>;

// The next element from `i` on that may come before `held`, which lies before it: NaN may.
template <typename T>
int64_t NextEntering(const TopKs& t, const Entering<T>& entering, const T* x, int64_t i, T held) {
  if (t.step == 1) return i + (t.largest ? entering.greater : entering.less)(x + i, t.n - i, held);
  if (t.largest) {
    while (i < t.n && x[i * t.step] <= held) ++i;
  } else {
    while (i < t.n && x[i * t.step] >= held) ++i;
  }
  return i;
}

// The greatest k keys of the line, in order, at the start of `keys`.
template <typename T>
void Select(const TopKs& t, const Entering<T>& entering, const T* x, Key<T>* keys) {
  const auto key_at = [&](int64_t i) {
    const auto order = OrderOf(x[i * t.step]);
    return Key<T>(t.largest ? order : ~order, i);
  };
  int64_t count = 0;
  for (; count < t.capacity; ++count) keys[count] = key_at(count);
  const auto drop = [&] {
    if (count > t.k) std::nth_element(keys, keys + t.k - 1, keys + count, std::greater<>());
    count = std::min(count, t.k);
    return x[keys[t.k - 1].index() * t.step];
  };
  T held = drop();
  for (int64_t i = t.capacity; (i = NextEntering(t, entering, x, i, held)) < t.n; ++i) {
    keys[count++] = key_at(i);
    if (count == t.capacity) held = drop();
  }
  drop();
  std::sort(keys, keys + t.k, std::greater<>());
}

template <typename T>
void RunLine(const TopKs& t, const Entering<T>& entering, const T* x, T* numbers, int64_t* indices, Key<T>* keys) {
  Select(t, entering, x, keys);
  for (int64_t i = 0; i < t.k; ++i) {
    const int64_t at = keys[i].index();
    if (numbers != nullptr) numbers[i * t.number_step] = x[at * t.step];
    if (indices != nullptr) indices[i * t.index_step] = at;
  }
}

template <typename T>
void RunTopK(const TopKs& t, const Entering<T>& entering, const HostCall& run) {
  if (t.k == 0 || t.n == 0) return;
  const int64_t most = run.team == nullptr ? 1 : run.team->width();
  const double work = static_cast<double>(t.n) * 0.8 + static_cast<double>(t.capacity) * 10;
  ParallelParts(run.team, t.lines.count, work, most, [&](int64_t part, int64_t begin, int64_t end) {
    auto* keys = reinterpret_cast<Key<T>*>(run.scratch) + part * t.capacity;
    Cursor<3> at(t.lines, begin);
    for (int64_t line = begin; line < end; ++line, at.Next()) {
      T* numbers = run.output<T>(0);
      int64_t* indices = run.out.size() > 1 ? run.output<int64_t>(1) : nullptr;
      RunLine(t, entering, run.input<T>(0) + at.offsets()[0], numbers == nullptr ? nullptr : numbers + at.offsets()[1],
              indices == nullptr ? nullptr : indices + at.offsets()[2], keys);
    }
  });
}

// k from an attribute (older operator sets), a constant, or the planned output; the run then checks it.
Result<int64_t> KOf(const HostSite& site, const TopKNode& top) {
  if (!site.has(1)) return top.k.value_or(-1);
  if (site.in[1].type() != DataType::kInt64 || site.in[1].count() != 1) return site.Unsupported("k is not one int64");
  if (site.is_constant(1)) return site.in[1].constant->ToInts()[0];
  for (const HostOperand& y : site.out) {
    if (y.present() && y.rank() == site.in[0].rank()) return y.dims()[top.axis];
  }
  return site.Unsupported("k is known only at run time");
}

Result<TopKs> TopKsOf(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  const HostOperand& x = site.in[0];
  PT_ASSIGN(const TopKNode top, OrUnsupported(ReadTopK(site.node(), site.graph.opset(), x.dims().size()), site));
  const size_t along = top.axis;
  TopKs t;
  t.n = x.dims()[along];
  PT_ASSIGN(t.k, KOf(site, top));
  if (t.k < 0 || t.k > t.n || t.n > std::numeric_limits<int32_t>::max()) return site.Unsupported("k does not fit");
  std::vector<int64_t> dims = x.dims();
  dims[along] = t.k;
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  PT_CHECK_OK(site.NeedOutput(1, DataType::kInt64, dims));
  const auto stride = [&](size_t output, size_t d) {
    const bool there = output < site.out.size() && site.out[output].present();
    return there ? site.out[output].strides()[d] : 0;
  };
  for (size_t d = dims.size(); d-- > 0;) {
    if (d != along) t.lines.Push(x.dims()[d], {x.strides()[d], stride(0, d), stride(1, d)});
  }
  t.step = x.strides()[along];
  t.number_step = stride(0, along);
  t.index_step = stride(1, along);
  t.capacity = std::min(t.n, std::max(2 * t.k, kLeastCapacity));
  t.largest = top.largest;
  return t;
}

template <typename T>
HostRoutine RoutineOf(const HostSite& site, const TopKs& t) {
  HostRoutine routine;
  routine.scratch_bytes = static_cast<uint64_t>(t.capacity) * sizeof(Key<T>) * site.width;
  routine.run = [t, entering = FindEntering<T>(), given = site.has(1)](const HostCall& run) -> Status {
    if (given && *run.input<int64_t>(1) != t.k) {
      return MakeError(ErrorCode::kInvalidInput, "host.shape", "TopK: k is not the one planned for");
    }
    RunTopK<T>(t, entering, run);
    return {};
  };
  return routine;
}

Result<HostRoutine> TopK(const HostSite& site) {
  PT_ASSIGN(const TopKs t, TopKsOf(site));
  if (site.in[0].type() == DataType::kFloat32) return RoutineOf<float>(site, t);
  if (site.in[0].type() == DataType::kInt32) return RoutineOf<int32_t>(site, t);
  if (site.in[0].type() == DataType::kInt64) return RoutineOf<int64_t>(site, t);
  return site.Unsupported("its input is neither float32 nor int32 or int64");
}

constexpr std::array kTopKOperators = {HostRow{"TopK", TopK}};

}  // namespace

std::span<const HostRow> TopKOperators() { return kTopKOperators; }

}  // namespace pt::host
