// Elements moved as they are by a rule that the shapes alone give: Transpose, Concat, Split, Expand, Tile...
#include <array>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/broadcast.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

Result<ReferenceRoutine> ReadRoutine(const ReferenceSite& site, const StridedRead& read) {
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[read](const TensorCall& run) -> Status {
      read.Copy(run.in<T>(0), run.out<T>(), run.team);
      return {};
    }};
  });
}

Result<ReferenceRoutine> Transpose(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const std::vector<size_t> perm, OrInvalid(ReadPermutation(site.node, in.size()), site));
  const std::vector<int64_t> strides = DenseStrides(in);
  StridedRead read;
  std::vector<int64_t> out;
  for (const size_t p : perm) {
    out.push_back(in[p]);
    read.Push(out.back(), strides[p]);
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  return ReadRoutine(site, read);
}

Result<ReferenceRoutine> Concat(ReferenceSite& site) {
  if (site.in.empty()) return site.Invalid("has no inputs");
  PT_CHECK_OK(site.NeedInputs(site.in.size(), site.in.size()));
  std::vector<int64_t> out = site.in[0].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  const auto at = static_cast<size_t>(axis);
  const int64_t bytes = FedBytes(site.in[0].type);
  int64_t outer = 1, inner = bytes;
  for (size_t d = 0; d < out.size(); ++d) (d < at ? outer : inner) *= d == at ? 1 : out[d];
  out[at] = 0;
  std::vector<int64_t> rows;  // bytes of one row of each input
  for (const TensorFacts& input : site.in) {
    std::vector<int64_t> dims = input.dims;
    if (dims.size() != out.size() || input.type != site.in[0].type)
      return site.Invalid("its inputs do not fit each other");
    rows.push_back(dims[at] * inner);
    out[at] += dims[at];
    dims[at] = out[at];
    if (dims != out) {
      return site.Invalid("dims " + DimsText(site.in[0].dims) + " and " + DimsText(input.dims) +
                          " differ in a dim that is not joined");
    }
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  return ReferenceRoutine{[rows, outer, row = out[at] * inner](const TensorCall& run) -> Status {
    auto* to = run.out<std::byte>();
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto* from = run.in<std::byte>(i);
      const auto length = static_cast<size_t>(rows[i]);
      if (length != 0 && from != to) {  // equal: the input was placed as a slice of the output
        ParallelRanges(run.team, outer, static_cast<double>(length) * 0.1, [&](int64_t begin, int64_t end) {
          for (int64_t o = begin; o < end; ++o) std::memcpy(to + o * row, from + o * rows[i], length);
        });
      }
      to += length;
    }
    return {};
  }};
}

// The sizes of the parts: given, equal, or as equal as num_outputs allows.
Result<std::vector<int64_t>> SplitSizes(const ReferenceSite& site, int64_t dim) {
  PT_ASSIGN(const std::optional<std::vector<int64_t>> given, site.Ints(1, "split"));
  const auto parts = static_cast<int64_t>(site.out.size());
  if (given) {
    int64_t sum = 0;
    for (int64_t size : *given) {
      if (size < 0 || __builtin_add_overflow(sum, size, &sum))
        return site.Invalid("a split size is negative or too large");
    }
    if (static_cast<int64_t>(given->size()) != parts || sum != dim)
      return site.Invalid("the split sizes do not add up to the dim");
    return *given;
  }
  if (const int64_t named = ReadPartCount(site.node).value_or(parts); named != parts)
    return site.Invalid("num_outputs is " + std::to_string(named) + ", its outputs are " + std::to_string(parts));
  if (site.opset < 18 && dim % parts != 0)
    return site.Invalid("the dim has no " + std::to_string(parts) + " equal parts");
  const int64_t each = (dim + parts - 1) / parts;
  std::vector<int64_t> sizes(static_cast<size_t>(parts), each);
  sizes.back() = dim - each * (parts - 1);
  if (sizes.back() < 0) return site.Invalid("the dim is too small for " + std::to_string(parts) + " parts");
  return sizes;
}

Result<ReferenceRoutine> Split(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  if (site.out.empty()) return site.Invalid("has no outputs");
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> sizes;
  if (site.has(1) && !site.is_constant(1)) {
    // The parts' sizes are what the graph says; a run checks them.
    for (const TensorFacts& out : site.out) {
      if (!out.settled || !out.present() || out.rank() != site.in[0].rank()) {
        return site.Unsupported("takes \"split\" from a value known only at run time");
      }
      sizes.push_back(out.dims[at]);
    }
    int64_t sum = 0;
    for (int64_t size : sizes) sum += size;
    if (sum != in[at] || site.in[1].type != DataType::kInt64 ||
        site.in[1].count() != static_cast<int64_t>(sizes.size())) {
      return site.Invalid("the split sizes do not add up to the dim");
    }
  } else {
    PT_ASSIGN(sizes, SplitSizes(site, in[at]));
  }
  int64_t outer = 1, inner = FedBytes(site.in[0].type);
  for (size_t d = 0; d < in.size(); ++d) (d < at ? outer : inner) *= d == at ? 1 : in[d];
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<int64_t> dims = in;
    dims[at] = sizes[i];
    PT_CHECK_OK(site.Out(i, site.in[0].type, std::move(dims)));
  }
  const bool checked = site.has(1) && !site.is_constant(1);
  return ReferenceRoutine{[sizes, outer, inner, checked, row = in[at] * inner](const TensorCall& run) -> Status {
    if (checked && !std::equal(sizes.begin(), sizes.end(), run.in<int64_t>(1))) {
      return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Split: the sizes are not the ones planned for");
    }
    const auto* from = run.in<std::byte>(0);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto length = static_cast<size_t>(sizes[i] * inner);
      auto* to = run.out<std::byte>(i);
      if (to != nullptr && length != 0) {
        ParallelRanges(run.team, outer, static_cast<double>(length) * 0.1, [&](int64_t begin, int64_t end) {
          for (int64_t o = begin; o < end; ++o) std::memcpy(to + o * sizes[i] * inner, from + o * row, length);
        });
      }
      from += length;
    }
    return {};
  }};
}

// The list of int64 at input 1, or the graph's output dims where it is known only at run time.
Result<ReferenceRoutine> Expand(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  std::vector<int64_t> shape;
  const bool known = site.is_constant(1);
  if (known) {
    PT_ASSIGN(std::optional<std::vector<int64_t>> given, site.Ints(1, "shape"));
    if (!given) return site.Invalid("no shape is given");
    shape = std::move(*given);
    for (int64_t dim : shape) {
      if (dim < 0) return site.Invalid("a dim of the shape is negative");
    }
  } else {
    if (site.in[1].type != DataType::kInt64 || site.in[1].rank() != 1)
      return site.Invalid("the shape is not a list of int64");
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, std::max(site.in[0].rank(), site.in[1].dims[0])));
    if (!site.out[0].settled) return site.Unsupported("has an output whose size is known only at run time");
    shape = site.out[0].dims;
  }
  const std::array<TensorFacts, 2> pair = {site.in[0], TensorFacts{site.in[0].type, shape, {}, true}};
  PT_ASSIGN(const std::vector<int64_t> out, BroadcastDims(site, pair));
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  const std::vector<int64_t> strides = DenseStrides(site.in[0].dims);
  StridedRead read;
  const size_t lead = out.size() - site.in[0].dims.size();
  for (size_t d = 0; d < out.size(); ++d) {
    read.Push(out[d], d < lead || site.in[0].dims[d - lead] == 1 ? 0 : strides[d - lead]);
  }
  if (known) return ReadRoutine(site, read);
  const size_t given = static_cast<size_t>(site.in[1].dims[0]);
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, in = site.in[0].dims](const TensorCall& run) -> Status {
      for (size_t i = 0; i < given; ++i) {
        const size_t d = out.size() - given + i;
        const int64_t held = d < lead ? 1 : in[d - lead], asked = run.in<int64_t>(1)[i];
        if (asked != out[d] && !(asked == 1 && held == out[d])) {
          return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Expand: the shape is not the one planned for");
        }
      }
      read.Copy(run.in<T>(0), run.out<T>(), run.team);
      return {};
    }};
  });
}

Result<ReferenceRoutine> Tile(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  std::vector<int64_t> repeats;
  const bool known = site.is_constant(1);
  if (known) {
    PT_ASSIGN(std::optional<std::vector<int64_t>> given, site.Ints(1, "repeats"));
    if (!given) return site.Invalid("no repeats are given");
    repeats = std::move(*given);
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, site.in[0].rank()));
    for (size_t d = 0; d < in.size(); ++d) repeats.push_back(in[d] == 0 ? 1 : site.out[0].dims[d] / in[d]);
    if (site.in[1].type != DataType::kInt64 || site.in[1].count() != site.in[0].rank())
      return site.Invalid("the repeats do not fit the input");
  }
  if (repeats.size() != in.size()) return site.Invalid("the repeats do not fit the input");
  const std::vector<int64_t> strides = DenseStrides(in);
  StridedRead read;
  std::vector<int64_t> out;
  for (size_t d = 0; d < in.size(); ++d) {
    int64_t dim = 0;
    if (repeats[d] < 0 || __builtin_mul_overflow(repeats[d], in[d], &dim))
      return site.Invalid("a repeat is negative or too large");
    out.push_back(dim);
    read.Push(repeats[d], 0);
    read.Push(in[d], strides[d]);
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  if (known) return ReadRoutine(site, read);
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      for (size_t d = 0; d < repeats.size(); ++d) {
        if (in[d] != 0 && run.in<int64_t>(1)[d] != repeats[d]) {
          return MakeError(ErrorCode::kInvalidInput, "reference.shape",
                           "Tile: the repeats are not the ones planned for");
        }
      }
      read.Copy(run.in<T>(0), run.out<T>(), run.team);
      return {};
    }};
  });
}

template <bool to_space>
Result<ReferenceRoutine> DepthAndSpace(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.size() != 4) return site.Invalid("needs four dims");
  PT_ASSIGN(const DepthSpaceNode blocks, OrInvalid(ReadDepthSpace(site.node), site));
  const int64_t b = blocks.block;
  const bool depth_first = blocks.depth_first;
  const int64_t n = in[0], c = in[1], h = in[2], w = in[3];
  StridedRead read;
  if (to_space) {
    if (c % (b * b) != 0) return site.Invalid("the channels are not a multiple of the squared blocksize");
    const int64_t d = c / (b * b), plane = h * w;
    PT_CHECK_OK(site.Out(0, site.in[0].type, {n, d, h * b, w * b}));
    read.Push(n, c * plane);
    read.Push(d, depth_first ? plane : plane * b * b);
    read.Push(h, w);
    read.Push(b, depth_first ? plane * d * b : plane * b);
    read.Push(w, 1);
    read.Push(b, depth_first ? plane * d : plane);
  } else {
    if (h % b != 0 || w % b != 0) return site.Invalid("height or width is not a multiple of the blocksize");
    PT_CHECK_OK(site.Out(0, site.in[0].type, {n, c * b * b, h / b, w / b}));
    read.Push(n, c * h * w);
    if (!depth_first) read.Push(c, h * w);
    read.Push(b, w);
    read.Push(b, 1);
    if (depth_first) read.Push(c, h * w);
    read.Push(h / b, w * b);
    read.Push(w / b, b);
  }
  return ReadRoutine(site, read);
}

// Reverses the first lengths[b] steps of each batch entry.
Result<ReferenceRoutine> ReverseSequence(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const ReverseSequenceNode node, OrInvalid(ReadReverseSequence(site.node), site));
  if (in.size() < 2) return site.Invalid("its input does not have two dims");
  const int64_t batch = in[node.batch_axis], time = in[node.time_axis];
  if (site.in[1].type != DataType::kInt64 || site.in[1].dims != std::vector<int64_t>{batch})
    return site.Invalid("the lengths are not one int64 a batch entry");
  PT_CHECK_OK(site.Out(0, site.in[0].type, in));
  int64_t inner = 1;
  for (size_t d = 2; d < in.size(); ++d) inner *= in[d];
  const int64_t batch_step = node.batch_axis == 0 ? time * inner : inner,
                time_step = node.time_axis == 0 ? batch * inner : inner;
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      for (int64_t b = 0; b < batch; ++b) {
        const int64_t length = run.in<int64_t>(1)[b];
        if (length < 0 || length > time) {
          return MakeError(ErrorCode::kInvalidInput, "reference.length",
                           "ReverseSequence: length " + std::to_string(length) + " is out of range");
        }
        for (int64_t t = 0; t < time; ++t) {
          const T* from = run.in<T>(0) + b * batch_step + (t < length ? length - 1 - t : t) * time_step;
          std::copy(from, from + inner, run.out<T>() + b * batch_step + t * time_step);
        }
      }
      return {};
    }};
  });
}

// Keeps one triangle of each matrix, zeros elsewhere.
Result<ReferenceRoutine> Trilu(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.size() < 2) return site.Invalid("its input is not a matrix");
  if (site.has(1) && (site.in[1].type != DataType::kInt64 || site.in[1].count() != 1))
    return site.Invalid("k is not int64");
  PT_CHECK_OK(site.Out(0, site.in[0].type, in));
  const bool upper = KeepsUpperTriangle(site.node);
  const int64_t rows = in[in.size() - 2], cols = in.back();
  const int64_t all_rows = cols == 0 ? 0 : site.in[0].count() / cols;
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      const int64_t given = run.in<int64_t>(1) != nullptr ? *run.in<int64_t>(1) : 0;
      const int64_t k = std::clamp(given, -rows - cols, rows + cols);
      for (int64_t r = 0; r < all_rows; ++r) {
        const int64_t edge = r % rows + k;  // column on the diagonal
        for (int64_t c = 0; c < cols; ++c) {
          const bool keep = upper ? c >= edge : c <= edge;
          run.out<T>()[r * cols + c] = keep ? run.in<T>(0)[r * cols + c] : T{};
        }
      }
      return {};
    }};
  });
}

constexpr std::array kMovementOperators = {
    ReferenceRow{.op = "Concat", .make = Concat, .elision = Elision::kSlicesOfOutput},
    ReferenceRow{.op = "DepthToSpace", .make = DepthAndSpace<true>},
    ReferenceRow{.op = "Expand", .make = Expand},
    ReferenceRow{.op = "ReverseSequence", .make = ReverseSequence},
    ReferenceRow{.op = "SpaceToDepth", .make = DepthAndSpace<false>},
    ReferenceRow{.op = "Split", .make = Split, .since = 2},
    ReferenceRow{.op = "Tile", .make = Tile, .since = 6},
    ReferenceRow{.op = "Transpose", .make = Transpose},
    ReferenceRow{.op = "Trilu", .make = Trilu},
};

}  // namespace

std::span<const ReferenceRow> MovementOperators() { return kMovementOperators; }

}  // namespace pt::reference
