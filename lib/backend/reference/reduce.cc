// Reductions over axes, arg-reductions along one, and running sums.
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/broadcast.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt::reference {
namespace {

// Sizes and input strides of some dims, innermost first; neighbours merged.
struct Walk {
  std::array<int64_t, kMaxRank> sizes{}, strides{};
  size_t rank = 0;
  int64_t count = 1;

  void Push(int64_t size, int64_t stride) {
    count *= size;
    if (size == 1 && rank > 0) return;
    if (rank > 0 && strides[rank - 1] * sizes[rank - 1] == stride) {
      sizes[rank - 1] *= size;
      return;
    }
    sizes[rank] = size;
    strides[rank++] = stride;
  }
  int64_t Offset(int64_t item) const {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) {
      offset += item % sizes[d] * strides[d];
      item /= sizes[d];
    }
    return offset;
  }
};

// What is kept and what is summed over. Fixed size: axes may not be known until run time.
struct Axes {
  Walk kept, reduced;
  std::array<int64_t, kMaxRank> out_dims{};
  size_t out_rank = 0;
};

using Mask = std::array<bool, kMaxRank>;

Axes SplitAxes(std::span<const int64_t> dims, const Mask& reduced, bool keep) {
  Axes axes;
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    (reduced[d] ? axes.reduced : axes.kept).Push(dims[d], stride);
    stride *= dims[d];
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!reduced[d] || keep) axes.out_dims[axes.out_rank++] = reduced[d] ? 1 : dims[d];
  }
  return axes;
}

// Marks the axes; false where one does not exist.
bool MarkAxes(const Indices& axes, int64_t count, int64_t rank, Mask& mask) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return false;
    mask[static_cast<size_t>(axis)] = true;
  }
  return true;
}

// How the reduction finds its axes: settled before the run, or from input 1 in it.
struct Reduction {
  Axes axes;
  std::vector<int64_t> in, out;
  bool in_run = false, keep = true;
  int64_t axis_count = 0;

  // The axes of this run; false where they do not give the planned output.
  bool Find(const TensorCall& run, Axes& found) const {
    if (!in_run) {
      found = axes;
      return true;
    }
    Mask mask{};
    if (!MarkAxes({run.in<void>(1), true}, axis_count, static_cast<int64_t>(in.size()), mask)) return false;
    found = SplitAxes(in, mask, keep);
    return std::equal(out.begin(), out.end(), found.out_dims.begin(),
                      found.out_dims.begin() + static_cast<ptrdiff_t>(found.out_rank));
  }
};

Result<Reduction> ReadReduction(ReferenceSite& site) {
  Reduction reduction;
  reduction.in = site.in[0].dims;
  reduction.keep = KeepsReducedDims(site.node);
  const int64_t rank = site.in[0].rank();
  if (site.has(1) && !site.is_constant(1) && site.in[1].count() > 0) {
    if (site.in[1].type != DataType::kInt64 || site.in[1].rank() != 1)
      return site.Invalid("the axes are not a list of int64");
    reduction.in_run = true;
    reduction.axis_count = site.in[1].count();
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, reduction.keep ? rank : site.out[0].rank()));
    reduction.out = site.out[0].dims;
    return reduction;
  }
  const auto content = site.has(1) ? site.in[1].constant : std::nullopt;
  PT_ASSIGN(const std::vector<bool> reduced,
            OrInvalid(ReadReducedDims(site.node, site.in[0].dims.size(), content), site));
  Mask mask{};
  std::ranges::copy(reduced, mask.begin());
  reduction.axes = SplitAxes(reduction.in, mask, reduction.keep);
  const Axes& axes = reduction.axes;
  PT_CHECK_OK(site.Out(0, site.in[0].type,
                       {axes.out_dims.begin(), axes.out_dims.begin() + static_cast<ptrdiff_t>(axes.out_rank)}));
  return reduction;
}

// Accumulators: Add(x), then Get(). Integers wrap around in int64; floats sum in double.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

template <typename T>
struct Sum {
  Wide<T> sum{};
  void Add(T x) { sum += static_cast<Wide<T>>(x); }
  T Get(int64_t) const { return static_cast<T>(sum); }
};
template <typename T>
struct Mean : Sum<T> {
  T Get(int64_t n) const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(this->sum / static_cast<double>(n));
    } else if constexpr (std::is_signed_v<T>) {
      return n == 0 ? T{0} : static_cast<T>(static_cast<int64_t>(this->sum) / n);
    } else {
      return n == 0 ? T{0} : static_cast<T>(this->sum / static_cast<uint64_t>(n));
    }
  }
};
template <typename T>
struct Product {
  Wide<T> product{1};
  void Add(T x) { product *= static_cast<Wide<T>>(x); }
  T Get(int64_t) const { return static_cast<T>(product); }
};
template <typename T>
struct SumSquare : Sum<T> {
  void Add(T x) { this->sum += static_cast<Wide<T>>(x) * static_cast<Wide<T>>(x); }
};
template <typename T>
struct L1 : Sum<T> {
  void Add(T x) {
    const auto wide = static_cast<Wide<T>>(x);
    this->sum += x < T{0} ? Wide<T>{} - wide : wide;
  }
};
template <typename T>
struct L2 : SumSquare<T> {
  T Get(int64_t) const { return static_cast<T>(std::sqrt(static_cast<double>(this->sum))); }
};
template <typename T>
struct LogSum : Sum<T> {
  T Get(int64_t) const { return static_cast<T>(std::log(static_cast<double>(this->sum))); }
};
template <typename T>
struct LogSumExp {  // rescaled when a larger one comes, so that nothing overflows
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  void Add(T value) {
    const auto x = static_cast<double>(value);
    if (x > most) {
      sum = sum * std::exp(most - x) + 1;
      most = x;
    } else if (x == most) {
      sum += 1;
    } else {
      sum += std::exp(x - most);
    }
  }
  T Get(int64_t) const {
    return static_cast<T>(sum == 0 ? -std::numeric_limits<double>::infinity() : most + std::log(sum));
  }
};
template <typename T>
struct Most {
  T most =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  void Add(T x) { most = x > most || x != x ? x : most; }
  T Get(int64_t) const { return most; }
};
template <typename T>
struct Least {
  T least = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  void Add(T x) { least = x < least || x != x ? x : least; }
  T Get(int64_t) const { return least; }
};

// One element of the output from those that `reduced` walks, from `in` on.
using ReduceOne = void (*)(const void* in, const Walk& reduced, void* out);

template <typename T, typename Accumulator>
void AccumulateInto(const void* from, const Walk& reduced, void* out) {
  const T* in = static_cast<const T*>(from);
  Accumulator accumulator;
  if (reduced.rank <= 1) {
    for (int64_t i = 0; i < reduced.count; ++i) accumulator.Add(in[i * reduced.strides[0]]);
  } else {
    for (int64_t i = 0; i < reduced.count; ++i) accumulator.Add(in[reduced.Offset(i)]);
  }
  *static_cast<T*>(out) = accumulator.Get(reduced.count);
}

ReferenceRoutine ReduceRoutine(Reduction reduction, ReduceOne reduce_one, int64_t bytes) {
  return {[reduction = std::move(reduction), reduce_one, bytes](const TensorCall& run) -> Status {
    Axes axes;
    if (!reduction.Find(run, axes)) {
      return MakeError(ErrorCode::kInvalidInput, "reference.shape", "a reduction's axes are not the ones planned for");
    }
    const std::byte* in = run.in<std::byte>(0);
    std::byte* out = run.out<std::byte>();
    const double work = static_cast<double>(axes.reduced.count) + 5;
    ParallelRanges(run.team, axes.kept.count, work, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) reduce_one(in + axes.kept.Offset(o) * bytes, axes.reduced, out + o * bytes);
    });
    return {};
  }};
}

template <template <typename> typename Accumulator>
Result<ReferenceRoutine> Reduce(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  PT_ASSIGN(const Reduction reduction, ReadReduction(site));
  if (site.in[0].type == DataType::kBool) {
    if constexpr (std::is_same_v<Accumulator<float>, Most<float>> || std::is_same_v<Accumulator<float>, Least<float>>) {
      return ReduceRoutine(reduction, AccumulateInto<uint8_t, Accumulator<uint8_t>>, 1);
    }
  }
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReduceRoutine(reduction, AccumulateInto<T, Accumulator<T>>, sizeof(T));
  });
}

// A tensor seen along one axis.
struct Line {
  int64_t outer = 1, n = 1, inner = 1;
};
Line LineAlong(const ReferenceSite& site, size_t axis) {
  Line line;
  for (size_t d = 0; d < site.in[0].dims.size(); ++d) {
    (d < axis ? line.outer : d == axis ? line.n : line.inner) *= site.in[0].dims[d];
  }
  return line;
}

template <bool most>
Result<ReferenceRoutine> ArgReduce(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const ArgReductionNode arg,
            OrInvalid(ReadArgReduction(site.node, site.opset, site.in[0].dims.size()), site));
  const Line line = LineAlong(site, arg.axis);
  if (line.n == 0) return site.Invalid("the axis is empty");
  std::vector<int64_t> dims = site.in[0].dims;
  if (arg.keeps_dim) {
    dims[arg.axis] = 1;
  } else {
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(arg.axis));
  }
  PT_CHECK_OK(site.Out(0, DataType::kInt64, dims));
  const bool last = arg.takes_last;
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[line, last](const TensorCall& run) -> Status {
      ParallelRanges(run.team, line.outer * line.inner, static_cast<double>(line.n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* in = run.in<T>(0) + i / line.inner * line.inner * line.n + i % line.inner;
          int64_t best = 0;
          for (int64_t k = 1; k < line.n; ++k) {
            const T x = in[k * line.inner], held = in[best * line.inner];
            if (most ? x > held : x < held) best = k;
            if (last && x == held) best = k;
          }
          run.out<int64_t>()[i] = best;
        }
      });
      return {};
    }};
  });
}

// CumSum and CumProd: combine(what came before, the next element), beginning with `neutral`.
template <int neutral, typename Combine>
Result<ReferenceRoutine> Cumulate(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  PT_CHECK_OK(site.Out(0, site.in[0].type, site.in[0].dims));
  if (!IsIndexType(site.in[1].type) || site.in[1].count() != 1) return site.Invalid("the axis is not an integer");
  const auto read = ReadCumulative(site.node);
  const bool exclusive = read.exclusive, reverse = read.reverse;
  std::vector<Line> lines;  // along each axis: the axis may be known only at run time
  for (size_t d = 0; d < site.in[0].dims.size(); ++d) lines.push_back(LineAlong(site, d));
  const bool wide = site.in[1].type == DataType::kInt64;
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      const auto rank = static_cast<int64_t>(lines.size());
      const int64_t given = Indices{run.in<void>(1), wide}[0], axis = given < 0 ? given + rank : given;
      if (axis < 0 || axis >= rank) {
        return MakeError(ErrorCode::kInvalidInput, "reference.axis",
                         "the axis " + std::to_string(given) + " to cumulate along does not exist");
      }
      const Line& line = lines[static_cast<size_t>(axis)];
      for (int64_t i = 0; i < line.outer * line.inner && line.n > 0; ++i) {
        const int64_t start = i / line.inner * line.inner * line.n + i % line.inner;
        auto so_far = static_cast<Wide<T>>(neutral);
        for (int64_t k = 0; k < line.n; ++k) {
          const int64_t at = start + (reverse ? line.n - 1 - k : k) * line.inner;
          const auto x = static_cast<Wide<T>>(run.in<T>(0)[at]);
          if (!exclusive) so_far = Combine()(so_far, x);
          run.out<T>()[at] = static_cast<T>(so_far);
          if (exclusive) so_far = Combine()(so_far, x);
        }
      }
      return {};
    }};
  });
}

constexpr ReferenceRow Row(std::string_view op, Result<ReferenceRoutine> (*make)(ReferenceSite&)) {
  return {.op = op, .make = make, .feeding = Feeding::kWidened};
}

constexpr std::array kReduceOperators = {
    Row("ArgMax", ArgReduce<true>),
    Row("ArgMin", ArgReduce<false>),
    ReferenceRow{.op = "CumProd", .make = Cumulate<1, std::multiplies<>>, .feeding = Feeding::kWidened, .since = 26},
    Row("CumSum", Cumulate<0, std::plus<>>),
    Row("ReduceL1", Reduce<L1>),
    Row("ReduceL2", Reduce<L2>),
    Row("ReduceLogSum", Reduce<LogSum>),
    Row("ReduceLogSumExp", Reduce<LogSumExp>),
    Row("ReduceMax", Reduce<Most>),
    Row("ReduceMean", Reduce<Mean>),
    Row("ReduceMin", Reduce<Least>),
    Row("ReduceProd", Reduce<Product>),
    Row("ReduceSum", Reduce<Sum>),
    Row("ReduceSumSquare", Reduce<SumSquare>),
};

}  // namespace

std::span<const ReferenceRow> ReduceOperators() { return kReduceOperators; }

}  // namespace pt::reference
