// Slice and Pad. Their parameters are often inputs, so both are worked out from plain integers, before the run or in
// it.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Integer lists of a node, wherever they come from; data null: not given.
struct List {
  Indices values;
  int64_t count = 0;
  bool given() const { return values.data != nullptr || count > 0; }
};

// What is sliced: output dims, and where each starts and how it walks.
struct SlicePlan {
  std::array<int64_t, kMaxRank> dims{}, start{}, step{};
};

// False where axes or steps make no sense.
bool PlanSlice(std::span<const int64_t> in, const List& starts, const List& ends, const List& axes, const List& steps,
               SlicePlan& plan) {
  const auto rank = static_cast<int64_t>(in.size());
  for (size_t d = 0; d < in.size(); ++d) {
    plan.dims[d] = in[d];
    plan.start[d] = 0;
    plan.step[d] = 1;
  }
  for (int64_t i = 0; i < starts.count; ++i) {
    int64_t axis = axes.given() ? axes.values[i] : i;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return false;
    const auto d = static_cast<size_t>(axis);
    const int64_t dim = in[d], step = steps.given() ? steps.values[i] : 1;
    if (step == 0 || step == std::numeric_limits<int64_t>::min()) return false;
    int64_t start = starts.values[i], end = ends.values[i];
    if (start < 0) start += dim;
    if (end < 0 && end > std::numeric_limits<int64_t>::min() + dim) end += dim;
    start = std::clamp<int64_t>(start, 0, step > 0 ? dim : std::max<int64_t>(0, dim - 1));
    end = std::clamp<int64_t>(end, step > 0 ? 0 : -1, dim);
    const int64_t distance = step > 0 ? end - start : start - end;
    plan.dims[d] = distance <= 0 || dim == 0 ? 0 : (distance - 1) / std::abs(step) + 1;
    plan.start[d] = start;
    plan.step[d] = step;
  }
  return true;
}

StridedRead ReadOf(const SlicePlan& plan, std::span<const int64_t> strides) {
  StridedRead read;
  for (size_t d = 0; d < strides.size(); ++d) {
    read.base += plan.dims[d] == 0 ? 0 : plan.start[d] * strides[d];
    // One element has no direction, and its step may be too large to multiply.
    read.Push(plan.dims[d], plan.dims[d] <= 1 ? 0 : plan.step[d] * strides[d]);
  }
  return read;
}

struct SliceLists {
  std::array<List, 4> lists;  // starts, ends, axes, steps
};

Status CheckSliceInputs(const ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 5));
  for (size_t i = 1; i < site.in.size(); ++i) {
    if (!site.has(i)) continue;
    if (!IsIndexType(site.in[i].type) || site.in[i].rank() != 1 || site.in[i].dims != site.in[1].dims) {
      return site.Invalid("starts, ends, axes and steps are not lists of the same length");
    }
  }
  return {};
}

Result<ReferenceRoutine> SliceByInputs(ReferenceSite& site) {
  PT_CHECK_OK(CheckSliceInputs(site));
  const std::vector<int64_t>& in = site.in[0].dims;
  const int64_t count = site.in[1].dims[0];
  std::array<bool, 5> wide{};
  bool known = true;
  for (size_t i = 1; i < site.in.size(); ++i) {
    wide[i] = site.in[i].type == DataType::kInt64;
    known = known && (!site.has(i) || site.is_constant(i));
  }
  // Where the lists are when the routine runs.
  const auto lists_at = [count, wide](auto&& data) {
    SliceLists lists;
    for (size_t i = 1; i < 5; ++i) {
      const void* values = data(i);
      lists.lists[i - 1] = {{values, wide[i]}, values == nullptr && i > 2 ? 0 : count};
    }
    return lists;
  };
  if (known) {
    const SliceLists l =
        lists_at([&](size_t i) -> const void* { return site.has(i) ? site.in[i].constant->bytes().data() : nullptr; });
    SlicePlan plan;
    if (!PlanSlice(in, l.lists[0], l.lists[1], l.lists[2], l.lists[3], plan))
      return site.Invalid("an axis or step makes no sense");
    PT_CHECK_OK(
        site.Out(0, site.in[0].type, {plan.dims.begin(), plan.dims.begin() + static_cast<ptrdiff_t>(in.size())}));
    return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
      return ReferenceRoutine{[read = ReadOf(plan, DenseStrides(in))](const TensorCall& run) -> Status {
        read.Copy(run.in<T>(0), run.out<T>(), run.team);
        return {};
      }};
    });
  }
  PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, site.in[0].rank()));
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, strides = DenseStrides(in),
                             expected = site.out[0].dims](const TensorCall& run) -> Status {
      const SliceLists l = lists_at([&](size_t i) { return run.in<void>(i); });
      SlicePlan plan;
      if (!PlanSlice(in, l.lists[0], l.lists[1], l.lists[2], l.lists[3], plan) ||
          !std::equal(expected.begin(), expected.end(), plan.dims.begin())) {
        return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Slice: the slice is not the one planned for");
      }
      ReadOf(plan, strides).Copy(run.in<T>(0), run.out<T>(), run.team);
      return {};
    }};
  });
}

Result<ReferenceRoutine> SliceByAttributes(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const SliceNode node, OrInvalid(ReadSlice(site.node), site));
  const std::vector<int64_t>&starts = node.starts, &ends = node.ends, &axes = node.axes;
  const int64_t count = std::ssize(starts);
  SlicePlan plan;
  const List axes_list{{axes.empty() ? nullptr : axes.data(), true}, axes.empty() ? 0 : count};
  if (!PlanSlice(site.in[0].dims, {{starts.data(), true}, count}, {{ends.data(), true}, count}, axes_list, {}, plan))
    return site.Invalid("an axis makes no sense");
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_CHECK_OK(site.Out(0, site.in[0].type, {plan.dims.begin(), plan.dims.begin() + static_cast<ptrdiff_t>(in.size())}));
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[read = ReadOf(plan, DenseStrides(in))](const TensorCall& run) -> Status {
      read.Copy(run.in<T>(0), run.out<T>(), run.team);
      return {};
    }};
  });
}

Result<ReferenceRoutine> Slice(ReferenceSite& site) {
  return site.opset < 10 ? SliceByAttributes(site) : SliceByInputs(site);
}

// The input index that output index `i` of a padded dim shows; -1: the constant.
int64_t PaddedFrom(PadMode mode, int64_t i, int64_t pad_begin, int64_t dim) {
  const int64_t at = i - pad_begin;
  if (at >= 0 && at < dim) return at;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return at < 0 ? 0 : dim - 1;
    case PadMode::kWrap:
      return ((at % dim) + dim) % dim;
    case PadMode::kReflect:
      break;
  }
  if (dim == 1) return 0;
  const int64_t period = 2 * (dim - 1), phase = ((at % period) + period) % period;
  return phase < dim ? phase : period - phase;
}

// Indices that are moved by it stay within 64 bits.
bool IsPad(int64_t pad) { return pad >= -(int64_t{1} << 62) && pad <= int64_t{1} << 62; }

struct PadPlan {
  PadMode mode = PadMode::kConstant;
  std::vector<int64_t> in, out, strides;
  std::vector<int64_t> axes;  // which dim each pair of pads is for
  bool axes_in_run = false;   // input 3 tells them; `axes` has their number only
  bool fits(std::span<const int64_t> pad_begin, std::span<const int64_t> pad_end) const {
    for (size_t d = 0; d < in.size(); ++d) {
      int64_t sum = 0;
      if (!IsPad(pad_begin[d]) || !IsPad(pad_end[d])) return false;
      if (__builtin_add_overflow(pad_begin[d], pad_end[d], &sum) || __builtin_add_overflow(sum, in[d], &sum) ||
          sum != out[d])
        return false;
      if (in[d] == 0 && mode != PadMode::kConstant && out[d] > 0) return false;
    }
    return true;
  }
};

// Spreads the given pads over all dims; false where an axis does not exist. `axes`: of the run, where they are its own.
bool SpreadPads(const PadPlan& plan, const Indices& pads, const Indices& axes, std::array<int64_t, kMaxRank>& pad_begin,
                std::array<int64_t, kMaxRank>& pad_end) {
  const size_t n = plan.axes.size();
  const auto rank = static_cast<int64_t>(plan.in.size());
  for (size_t i = 0; i < n; ++i) {
    int64_t axis = plan.axes_in_run ? axes[static_cast<int64_t>(i)] : plan.axes[i];
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return false;
    pad_begin[static_cast<size_t>(axis)] = pads[static_cast<int64_t>(i)];
    pad_end[static_cast<size_t>(axis)] = pads[static_cast<int64_t>(i + n)];
  }
  return true;
}

// A row of the last dim: `from` is where the input's row begins, null for a row of constants.
template <typename T>
void PadRow(PadMode mode, int64_t pad_begin, int64_t dim, std::span<T> to, T fill, const T* from) {
  const auto size = static_cast<int64_t>(to.size());
  if (from == nullptr || size == 0) {
    std::ranges::fill(to, fill);
    return;
  }
  // What lies inside is copied: from the pad on, or from the row's beginning where the pad cuts that off.
  const int64_t begin = std::clamp<int64_t>(pad_begin, 0, size);
  const int64_t end = std::clamp<int64_t>(pad_begin + dim, begin, size);
  const auto pad = [&](int64_t i, int64_t until) {
    for (; i < until; ++i) {
      const int64_t at = PaddedFrom(mode, i, pad_begin, dim);
      to[static_cast<size_t>(i)] = at < 0 ? fill : from[at];
    }
  };
  pad(0, begin);
  if (begin < end) std::copy_n(from + (begin - pad_begin), end - begin, to.begin() + begin);
  pad(end, size);
}

template <typename T>
void RunPad(const PadPlan& plan, std::span<const int64_t> pad_begin, T fill, const TensorCall& run) {
  const size_t rank = plan.in.size();
  if (rank == 0) {
    *run.out<T>() = *run.in<T>(0);
    return;
  }
  const size_t last = rank - 1;
  const int64_t inner = plan.out[last];
  int64_t rows = 1;
  for (size_t d = 0; d < last; ++d) rows *= plan.out[d];
  ParallelRanges(run.team, inner == 0 ? 0 : rows, static_cast<double>(inner) + 5, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, offset = 0;
      bool outside = false;
      for (size_t d = last; d-- > 0;) {
        const int64_t from = PaddedFrom(plan.mode, rest % plan.out[d], pad_begin[d], plan.in[d]);
        rest /= plan.out[d];
        outside = outside || from < 0;
        offset += from * plan.strides[d];
      }
      PadRow<T>(plan.mode, pad_begin[last], plan.in[last], {run.out<T>() + row * inner, static_cast<size_t>(inner)},
                fill, outside ? nullptr : run.in<T>(0) + offset);
    }
  });
}

Result<PadPlan> ReadPad(const ReferenceSite& site) {
  PadPlan plan;
  plan.in = site.in[0].dims;
  plan.strides = DenseStrides(plan.in);
  PT_ASSIGN(plan.mode, OrInvalid(ReadPadMode(site.node), site));
  if (site.has(3) && !site.is_constant(3)) {
    if (!IsIndexType(site.in[3].type) || site.in[3].rank() != 1) return site.Invalid("the axes are not integers");
    plan.axes_in_run = true;
    plan.axes.resize(static_cast<size_t>(site.in[3].count()));
  } else if (site.has(3)) {
    for (int64_t a : site.in[3].constant->ToInts()) {
      PT_ASSIGN(const int64_t axis, site.Axis(a, site.in[0].rank()));
      plan.axes.push_back(axis);
    }
  } else {
    for (int64_t d = 0; d < site.in[0].rank(); ++d) plan.axes.push_back(d);
  }
  return plan;
}

// Pads known before the run settle the output; those not known until run time must agree with it.
Status SettlePadded(ReferenceSite& site, PadPlan& plan, const Indices* pads) {
  if (pads == nullptr) {
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, site.in[0].rank()));
    plan.out = site.out[0].dims;
    return {};
  }
  std::array<int64_t, kMaxRank> pad_begin{}, pad_end{};
  SpreadPads(plan, *pads, {}, pad_begin, pad_end);
  plan.out = plan.in;
  for (size_t d = 0; d < plan.in.size(); ++d) {
    if (!IsPad(pad_begin[d]) || !IsPad(pad_end[d]) || __builtin_add_overflow(plan.out[d], pad_begin[d], &plan.out[d]) ||
        __builtin_add_overflow(plan.out[d], pad_end[d], &plan.out[d]) || plan.out[d] < 0) {
      return site.Invalid("the pads make a dim negative or too large");
    }
  }
  if (!plan.fits(pad_begin, pad_end)) return site.Invalid("an empty dim cannot be padded with its own elements");
  return site.Out(0, site.in[0].type, plan.out);
}

Result<ReferenceRoutine> Pad(ReferenceSite& site) {
  const bool by_attribute = site.opset < 11;
  PT_CHECK_OK(site.NeedInputs(by_attribute ? 1 : 2, 4));
  PT_ASSIGN(PadPlan plan, ReadPad(site));
  const std::vector<int64_t> attribute = ReadPads(site.node);
  const int64_t count = by_attribute ? static_cast<int64_t>(attribute.size()) : site.in[1].count();
  if (!by_attribute && !IsIndexType(site.in[1].type)) return site.Invalid("the pads are not integers");
  if (count != 2 * static_cast<int64_t>(plan.axes.size())) return site.Invalid("the pads do not fit the input");
  if (site.has(2) && (site.in[2].type != site.in[0].type || site.in[2].count() != 1))
    return site.Invalid("the constant is not a scalar of the input's type");
  const bool wide = by_attribute || site.in[1].type == DataType::kInt64;
  Indices known{by_attribute ? attribute.data() : nullptr, true};
  if (!by_attribute && site.is_constant(1)) known = {site.in[1].constant->bytes().data(), wide};
  PT_CHECK_OK(SettlePadded(site, plan, (known.data != nullptr || count == 0) && !plan.axes_in_run ? &known : nullptr));
  const bool wide_axes = site.has(3) && site.in[3].type == DataType::kInt64;
  const float value = ReadPadValue(site.node);
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    T attribute_fill{};
    if constexpr (sizeof(T) == 4) {
      if (site.in[0].type == DataType::kFloat32) attribute_fill = std::bit_cast<T>(value);
    } else if (by_attribute && value != 0) {
      return site.Unsupported("with a value is supported for float32 only in old opsets");
    }
    ReferenceRoutine routine;
    routine.run = [=](const TensorCall& run) -> Status {
      std::array<int64_t, kMaxRank> pad_begin{}, pad_end{};
      const Indices pads = by_attribute ? Indices{attribute.data(), true} : Indices{run.in<void>(1), wide};
      if (!SpreadPads(plan, pads, {run.in<void>(3), wide_axes}, pad_begin, pad_end) || !plan.fits(pad_begin, pad_end)) {
        return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Pad: the pads are not the ones planned for");
      }
      const T fill = run.in<T>(2) != nullptr ? *run.in<T>(2) : attribute_fill;
      RunPad<T>(plan, pad_begin, fill, run);
      return {};
    };
    return routine;
  });
}

constexpr std::array kSliceOperators = {
    ReferenceRow{.op = "Pad", .make = Pad, .since = 2},
    ReferenceRow{.op = "Slice", .make = Slice},
};

}  // namespace

std::span<const ReferenceRow> SliceOperators() { return kSliceOperators; }

}  // namespace pt::reference
