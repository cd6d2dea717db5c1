// Operators that change what a tensor is called, not its elements: Reshape, Squeeze, Identity...; and those that
// ask for its dims.
#include <array>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/views.h"

namespace pt::reference {
namespace {

void CopyBytes(const TensorCall& run, size_t output, int64_t bytes) {
  const auto* in = run.in<std::byte>(0);
  auto* out = run.out<std::byte>(output);
  if (in == out) return;  // placed onto its input
  ParallelRanges(run.team, bytes, 0.1, [&](int64_t begin, int64_t end) {
    std::memcpy(out + begin, in + begin, static_cast<size_t>(end - begin));
  });
}

Result<ReferenceRoutine> View(ReferenceSite& site, std::vector<int64_t> dims) {
  PT_CHECK_OK(site.Out(0, site.in[0].type, std::move(dims)));
  const int64_t bytes = site.in[0].count() * FedBytes(site.in[0].type);
  return ReferenceRoutine{[bytes](const TensorCall& run) -> Status {
    CopyBytes(run, 0, bytes);
    return {};
  }};
}

Result<ReferenceRoutine> Identity(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  return View(site, site.in[0].dims);
}

// What the requested dims mean for an input: 0 copies, -1 is what is left. nullopt when they do not fit.
bool ResolveShape(const std::vector<int64_t>& in, int64_t count, bool zero_is_zero, std::span<int64_t> dims) {
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && !zero_is_zero) {
      if (d >= in.size()) return false;
      dims[d] = in[d];
    }
    if (dims[d] < -1 || (dims[d] == -1 && open)) return false;
    if (dims[d] == -1) {
      open = d;
    } else if (__builtin_mul_overflow(known, dims[d], &known)) {
      return false;
    }
  }
  if (open) {
    if (known == 0 || count % known != 0) return false;
    dims[*open] = count / known;
    return true;
  }
  return known == count;
}

Result<ReferenceRoutine> Reshape(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  const bool zero_is_zero = TakesZeroAsZero(site.node);
  const std::vector<int64_t>& in = site.in[0].dims;
  const int64_t count = site.in[0].count();
  if (!site.has(1) || site.is_constant(1)) {
    PT_ASSIGN(std::optional<std::vector<int64_t>> shape, site.Ints(1, "shape"));
    if (!shape) return site.Invalid("no shape is given");
    if (!ResolveShape(in, count, zero_is_zero, *shape)) {
      return site.Invalid("a tensor of " + std::to_string(count) + " elements does not take the requested shape");
    }
    return View(site, std::move(*shape));
  }
  if (site.in[1].type != DataType::kInt64 || site.in[1].rank() != 1)
    return site.Invalid("the shape is not a list of int64");
  const size_t rank = static_cast<size_t>(site.in[1].dims[0]);
  PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, static_cast<int64_t>(rank)));
  if (rank > kMaxRank || site.out[0].count() != count) return site.Invalid("its output has another number of elements");
  return ReferenceRoutine{[=, expected = site.out[0].dims,
                           bytes = count * FedBytes(site.in[0].type)](const TensorCall& run) -> Status {
    std::array<int64_t, kMaxRank> shape{};
    std::copy(run.in<int64_t>(1), run.in<int64_t>(1) + rank, shape.begin());
    if (!ResolveShape(in, count, zero_is_zero, std::span(shape).first(rank)) ||
        !std::equal(expected.begin(), expected.end(), shape.begin())) {
      return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Reshape: the shape is not the one planned for");
    }
    CopyBytes(run, 0, bytes);
    return {};
  }};
}

Result<ReferenceRoutine> Flatten(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const size_t at, OrInvalid(ReadFlatten(site.node, in.size()), site));
  int64_t rows = 1, cols = 1;
  for (size_t d = 0; d < in.size(); ++d) (d < at ? rows : cols) *= in[d];
  return View(site, {rows, cols});
}

// Squeeze and Unsqueeze by axes not known until run time: the output is what the graph says, checked dim by dim.
Result<ReferenceRoutine> ViewByAxesInRun(ReferenceSite& site, bool inserts) {
  const int64_t count = site.in[1].count(), rank = site.in[0].rank() + (inserts ? count : -count);
  if (site.in[1].type != DataType::kInt64 || site.in[1].rank() != 1 || rank < 0)
    return site.Invalid("the axes are not a list of int64");
  PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, rank));
  // Of the two shapes, the longer has ones at the axes and the shorter's dims elsewhere.
  const std::vector<int64_t> shorter = inserts ? site.in[0].dims : site.out[0].dims,
                             longer = inserts ? site.out[0].dims : site.in[0].dims;
  if (site.out[0].count() != site.in[0].count()) return site.Invalid("its output has another number of elements");
  return ReferenceRoutine{[=, bytes = site.in[0].count() * FedBytes(site.in[0].type)](const TensorCall& run) -> Status {
    std::array<bool, kMaxRank> named{};
    const auto longer_rank = static_cast<int64_t>(longer.size());
    bool fits = true;
    for (int64_t i = 0; i < count && fits; ++i) {
      const int64_t given = run.in<int64_t>(1)[i], axis = given < 0 ? given + longer_rank : given;
      fits = axis >= 0 && axis < longer_rank && longer[static_cast<size_t>(axis)] == 1 &&
             !named[static_cast<size_t>(axis)];
      if (fits) named[static_cast<size_t>(axis)] = true;
    }
    size_t next = 0;
    for (size_t d = 0; d < longer.size() && fits; ++d) {
      if (!named[d]) fits = next < shorter.size() && shorter[next++] == longer[d];
    }
    if (!fits) return MakeError(ErrorCode::kInvalidInput, "reference.shape", "the axes are not the ones planned for");
    CopyBytes(run, 0, bytes);
    return {};
  }};
}

Result<ReferenceRoutine> Squeeze(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  if (site.has(1) && !site.is_constant(1)) return ViewByAxesInRun(site, false);
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const std::optional<std::vector<int64_t>> axes, site.Ints(1, "axes"));
  std::vector<bool> drop(in.size(), false);
  for (size_t d = 0; d < in.size() && !axes; ++d) drop[d] = in[d] == 1;
  for (int64_t a : axes.value_or(std::vector<int64_t>())) {
    PT_ASSIGN(const int64_t axis, site.Axis(a, site.in[0].rank()));
    if (in[static_cast<size_t>(axis)] != 1) return site.Invalid("dim " + std::to_string(axis) + " is not 1");
    drop[static_cast<size_t>(axis)] = true;
  }
  std::vector<int64_t> dims;
  for (size_t d = 0; d < in.size(); ++d) {
    if (!drop[d]) dims.push_back(in[d]);
  }
  return View(site, std::move(dims));
}

Result<ReferenceRoutine> Unsqueeze(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  if (site.has(1) && !site.is_constant(1)) return ViewByAxesInRun(site, true);
  PT_ASSIGN(const std::optional<std::vector<int64_t>> axes, site.Ints(1, "axes"));
  if (!axes) return site.Invalid("no axes are given");
  const size_t rank = site.in[0].dims.size() + axes->size();
  if (rank > kMaxRank) return site.Unsupported("has an output of rank " + std::to_string(rank));
  std::vector<int64_t> dims(rank, -1);
  for (int64_t a : *axes) {
    PT_ASSIGN(const int64_t axis, site.Axis(a, static_cast<int64_t>(rank)));
    if (dims[static_cast<size_t>(axis)] == 1) return site.Invalid("axis " + std::to_string(axis) + " is named twice");
    dims[static_cast<size_t>(axis)] = 1;
  }
  size_t next = 0;
  for (int64_t& dim : dims) {
    if (dim == -1) dim = site.in[0].dims[next++];
  }
  return View(site, std::move(dims));
}

Result<ReferenceRoutine> KnownInts(ReferenceSite& site, std::vector<int64_t> dims, std::vector<int64_t> values) {
  PT_CHECK_OK(site.Out(0, DataType::kInt64, std::move(dims)));
  return ReferenceRoutine{[values = std::move(values)](const TensorCall& run) -> Status {
    std::copy(values.begin(), values.end(), run.out<int64_t>());
    return {};
  }};
}

Result<ReferenceRoutine> Shape(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& in = site.in[0].dims;
  const auto [begin, end] = ReadShapeRange(site.node, in.size());
  std::vector<int64_t> values(in.begin() + static_cast<ptrdiff_t>(begin), in.begin() + static_cast<ptrdiff_t>(end));
  const auto count = static_cast<int64_t>(values.size());
  return KnownInts(site, {count}, std::move(values));
}

Result<ReferenceRoutine> Size(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  return KnownInts(site, {}, {site.in[0].count()});
}

constexpr ReferenceRow ViewRow(std::string_view op, Result<ReferenceRoutine> (*make)(ReferenceSite&)) {
  return {.op = op, .make = make, .elision = Elision::kViewOfInput};
}

constexpr std::array kViewOperators = {
    ViewRow("Flatten", Flatten),
    ViewRow("Identity", Identity),
    ViewRow("Reshape", Reshape),
    ReferenceRow{.op = "Shape", .make = Shape},
    ReferenceRow{.op = "Size", .make = Size},
    ViewRow("Squeeze", Squeeze),
    ViewRow("Unsqueeze", Unsqueeze),
};

}  // namespace

std::span<const ReferenceRow> ViewOperators() { return kViewOperators; }

}  // namespace pt::reference
