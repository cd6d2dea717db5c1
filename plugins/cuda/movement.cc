// Operators that move elements and change none, each from a place that is known before the run: views, Transpose,
// Expand, Concat, Split, Slice, Tile, DepthToSpace, SpaceToDepth.
#include "plugins/cuda/movement.h"

#include <algorithm>
#include <array>
#include <limits>

#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "plugins/cuda/operators.h"

namespace pt::cuda {
namespace {

Side SideOf(const CudaSite& site, const CudaOperand& operand) {
  return {site.NameOf(operand), IndexSpace(operand.dims(), {operand.strides()})};
}

// The same elements in the same order, under other dims.
Result<CudaRoutine> View(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const Side from = SideOf(site, *x), to = SideOf(site, site.out[0]);
  if (from.space.count() != to.space.count()) return site.Unsupported("its result has other elements");
  // What else it reads, dims or axes that the run makes, would be waited for in vain.
  const bool alone = GroupInputs(site.graph, site.nodes).size() == 1 && x->type() == site.out[0].type();
  return CudaRoutine{{CopyKernel(site, from, to)}, {}, alone ? Elision::kViewOfInput : Elision::kNone};
}

// The input's dims in the order of the result's.
Result<std::vector<size_t>> Permutation(const CudaSite& site, const CudaOperand& x, const CudaOperand& y) {
  const size_t rank = x.dims().size();
  PT_ASSIGN(std::vector<size_t> order, OrUnsupported(ReadPermutation(site.node(), rank), site));
  if (rank != y.dims().size()) return site.Unsupported("its result has other dims");
  for (size_t d = 0; d < rank; ++d) {
    if (y.dims()[d] != x.dims()[order[d]]) return site.Unsupported("its result has other dims");
  }
  return order;
}

Result<CudaRoutine> Transpose(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const std::vector<size_t> order, Permutation(site, *x, y));
  std::vector<int64_t> strides;
  for (const size_t d : order) strides.push_back(x->strides()[d]);
  const IndexSpace space(y.dims(), {strides, y.strides()});
  if (auto tiled = TransposeKernel(site, site.NameOf(*x), space)) return CudaRoutine{{std::move(*tiled)}};
  return CudaRoutine{{CopyKernel(site, {site.NameOf(*x), IndexSpace(y.dims(), {strides})}, SideOf(site, y))}};
}

Result<CudaRoutine> Expand(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand& y = site.out[0];
  const auto strides = BroadcastStrides(x->layout, y.dims());
  if (!strides) return site.Unsupported("its input does not broadcast to the result");
  return CudaRoutine{{CopyKernel(site, {site.NameOf(*x), IndexSpace(y.dims(), {*strides})}, SideOf(site, y))}};
}

// A kernel for each input. Placed as slices of the output, they need none.
Result<CudaRoutine> Concat(const CudaSite& site) {
  PT_CHECK_OK(MovedInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const size_t along, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), y.dims().size()), site));
  // Slices lie in one piece where no dim outside the joined one repeats. Every input must have a producer of its own to
  // place it there.
  const bool outermost = std::all_of(y.dims().begin(), y.dims().begin() + static_cast<ptrdiff_t>(along),
                                     [](int64_t dim) { return dim == 1; });
  const bool produced = site.in.size() == site.node().inputs.size() && std::ranges::all_of(site.in, [&](const auto& x) {
                          return x.constant == nullptr && x.type() == y.type();
                        });
  CudaRoutine routine;
  routine.elision = outermost && produced ? Elision::kSlicesOfOutput : Elision::kNone;
  int64_t at = 0;
  for (size_t i = 0; i < site.node().inputs.size(); ++i) {
    const CudaOperand* const input = site.Input(i);
    if (input == nullptr || !AreAlike(*input, y)) return site.Unsupported("an input is of another type");
    std::vector<int64_t> expected = y.dims();
    if (input->dims().size() != expected.size()) return site.Unsupported("an input has other dims");
    expected[along] = input->dims()[along];
    if (input->dims() != expected) return site.Unsupported("an input has other dims");
    Side to{"out0", IndexSpace(input->dims(), {y.strides()}), at * y.strides()[along]};
    routine.kernels.push_back(CopyKernel(site, SideOf(site, *input), to));
    at += expected[along];
  }
  if (at != y.dims()[along]) return site.Unsupported("its result has other dims");
  return routine;
}

// A kernel for each part that somebody reads. The parts' dims are what the graph says; which of them they are, only the
// node's outputs tell.
Result<CudaRoutine> Split(const CudaSite& site) {
  const CudaOperand* const x = site.Input(0);
  if (x == nullptr || CTypeOf(x->type()).empty()) return site.Unsupported("it has no input that kernels know");
  PT_ASSIGN(const size_t along, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), x->dims().size()), site));
  PT_CHECK_OK(site.Ints(1, "split"));  // what is not known until run time could be wrong then
  CudaRoutine routine;
  int64_t at = 0;
  for (const ValueId part : site.node().outputs) {
    if (!part.valid()) return site.Unsupported("one of its parts has no name");
    const auto dims = site.graph.value(part).type.static_dims();
    std::vector<int64_t> expected = x->dims();
    if (!dims || dims->size() != expected.size()) return site.Unsupported("a part has other dims");
    expected[along] = (*dims)[along];
    if (*dims != expected) return site.Unsupported("a part has other dims");
    const auto made = std::ranges::find(site.out, part, &CudaOperand::value);
    if (made != site.out.end()) {
      if (!AreAlike(*x, *made)) return site.Unsupported("a part is of another type");
      Side from{site.NameOf(*x), IndexSpace(expected, {x->strides()}), at * x->strides()[along]};
      routine.kernels.push_back(CopyKernel(site, from, SideOf(site, *made)));
    }
    at += expected[along];
  }
  if (at != x->dims()[along]) return site.Unsupported("its parts do not add up to its input");
  return routine;
}

// What is read along one dim.
struct Stretch {
  int64_t start = 0, step = 1;
};

// Its lists are inputs since operator set 10, attributes before.
Result<std::vector<Stretch>> Stretches(const CudaSite& site, const CudaOperand& x, const CudaOperand& y) {
  PT_ASSIGN(const auto starts, site.Ints(1, "starts"));
  PT_ASSIGN(const auto ends, site.Ints(2, "ends"));
  PT_ASSIGN(const auto axes, site.Ints(3, "axes"));
  PT_ASSIGN(const auto steps, site.Ints(4, "steps"));
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size())) {
    return site.Unsupported("its starts, ends, axes and steps differ in length");
  }
  std::vector<Stretch> stretches(x.dims().size());
  std::vector<int64_t> dims = x.dims();
  for (size_t i = 0; i < starts->size(); ++i) {
    PT_ASSIGN(const size_t d, site.Axis(axes ? (*axes)[i] : static_cast<int64_t>(i), x.dims().size()));
    const int64_t dim = x.dims()[d], step = steps ? (*steps)[i] : 1;
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    if (step == 0 || step == kLeast) return site.Unsupported("a step makes no sense");
    int64_t start = (*starts)[i], end = (*ends)[i];
    start += start < 0 ? dim : 0;
    end += end < 0 && end > kLeast + dim ? dim : 0;
    start = std::clamp<int64_t>(start, 0, step > 0 ? dim : std::max<int64_t>(0, dim - 1));
    end = std::clamp<int64_t>(end, step > 0 ? 0 : -1, dim);
    const int64_t distance = step > 0 ? end - start : start - end;
    dims[d] = distance <= 0 || dim == 0 ? 0 : (distance - 1) / std::abs(step) + 1;
    // One element has no direction, and its step may be too large to multiply.
    stretches[d] = {start, dims[d] <= 1 ? 1 : step};
  }
  if (dims != y.dims()) return site.Unsupported("its result has other dims");
  return stretches;
}

Result<CudaRoutine> Slice(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const std::vector<Stretch> stretches, Stretches(site, *x, y));
  std::vector<int64_t> strides;
  int64_t first = 0;
  for (size_t d = 0; d < stretches.size(); ++d) {
    strides.push_back(stretches[d].step * x->strides()[d]);
    first += y.dims()[d] == 0 ? 0 : stretches[d].start * x->strides()[d];
  }
  return CudaRoutine{{CopyKernel(site, {site.NameOf(*x), IndexSpace(y.dims(), {strides}), first}, SideOf(site, y))}};
}

// Dims of both tensors side by side: what is read and written along each.
struct Walk {
  std::vector<int64_t> dims, read, written;
  void Push(int64_t dim, int64_t from, int64_t to) {
    dims.push_back(dim);
    read.push_back(from);
    written.push_back(to);
  }
};

CudaRoutine WalkRoutine(const CudaSite& site, const CudaOperand& x, const Walk& walk) {
  return {{CopyKernel(site, {site.NameOf(x), IndexSpace(walk.dims, {walk.read})},
                      {"out0", IndexSpace(walk.dims, {walk.written})})}};
}

Result<CudaRoutine> Tile(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const auto repeats, site.Ints(1, "repeats"));
  if (!repeats || repeats->size() != x->dims().size() || y.dims().size() != x->dims().size()) {
    return site.Unsupported("its repeats do not fit its input");
  }
  Walk walk;
  for (size_t d = 0; d < repeats->size(); ++d) {
    const int64_t dim = x->dims()[d], repeat = (*repeats)[d];
    const bool fits =
        repeat >= 0 && (dim == 0 || repeat <= std::numeric_limits<int64_t>::max() / dim) && repeat * dim == y.dims()[d];
    if (!fits) return site.Unsupported("its repeats do not fit its result");
    walk.Push(repeat, 0, dim * y.strides()[d]);
    walk.Push(dim, x->strides()[d], y.strides()[d]);
  }
  return WalkRoutine(site, *x, walk);
}

// Blocks of b x b positions lie in channels of one tensor, the deep one, and beside each other in the other.
Result<CudaRoutine> Blocks(const CudaSite& site, bool to_space) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand &deep = to_space ? *x : site.out[0], &flat = to_space ? site.out[0] : *x;
  PT_ASSIGN(const DepthSpaceNode blocks, OrUnsupported(ReadDepthSpace(site.node()), site));
  const int64_t b = blocks.block;
  if (deep.dims().size() != 4 || flat.dims().size() != 4) return site.Unsupported("it has not four dims");
  const std::vector<int64_t>&d = deep.dims(), &f = flat.dims();
  if (d[0] != f[0] || d[1] != f[1] * b * b || f[2] != d[2] * b || f[3] != d[3] * b) {
    return site.Unsupported("its result has other dims");
  }
  const bool depth_first = blocks.depth_first;
  const int64_t channel = deep.strides()[1];
  const int64_t group = depth_first ? channel : channel * b * b, block = depth_first ? channel * f[1] : channel;
  Walk walk;
  const auto push = [&](int64_t dim, int64_t in_deep, int64_t in_flat) {
    walk.Push(dim, to_space ? in_deep : in_flat, to_space ? in_flat : in_deep);
  };
  push(d[0], deep.strides()[0], flat.strides()[0]);
  push(f[1], group, flat.strides()[1]);
  push(d[2], deep.strides()[2], b * flat.strides()[2]);
  push(b, block * b, flat.strides()[2]);
  push(d[3], deep.strides()[3], b * flat.strides()[3]);
  push(b, block, flat.strides()[3]);
  return WalkRoutine(site, *x, walk);
}

Result<CudaRoutine> DepthToSpace(const CudaSite& site) { return Blocks(site, true); }
Result<CudaRoutine> SpaceToDepth(const CudaSite& site) { return Blocks(site, false); }

constexpr std::array kRows = {
    CudaRow{"Concat", Concat},  CudaRow{"DepthToSpace", DepthToSpace},
    CudaRow{"Expand", Expand},  CudaRow{"Flatten", View},
    CudaRow{"Identity", View},  CudaRow{"Reshape", View},
    CudaRow{"Slice", Slice},    CudaRow{"SpaceToDepth", SpaceToDepth},
    CudaRow{"Split", Split},    CudaRow{"Squeeze", View},
    CudaRow{"Tile", Tile},      CudaRow{"Transpose", Transpose},
    CudaRow{"Unsqueeze", View},
};

}  // namespace

std::span<const CudaRow> MovementOperators() { return kRows; }

}  // namespace pt::cuda
