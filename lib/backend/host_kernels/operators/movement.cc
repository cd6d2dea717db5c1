// Elements moved as they are by a rule that dims and attributes alone give.
#include <algorithm>
#include <array>

#include "lib/backend/host_kernels/operators/boxes.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

using Dims = std::vector<int64_t>;

Result<HostRoutine> Transpose(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_ASSIGN(const std::vector<size_t> perm, OrUnsupported(ReadPermutation(site.node(), x.dims().size()), site));
  Box box;
  Dims dims;
  for (size_t d = 0; d < perm.size(); ++d) {
    const size_t from = perm[d];
    dims.push_back(x.dims()[from]);
    box.dims.push_back({x.dims()[from], x.strides()[from], y.strides()[d]});
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  return RoutineOf(site, {box});
}

// Inputs can be slices of the output only where each then lies in one piece.
bool JoinsOutermostDim(const TensorLayout& joined, size_t axis) {
  const std::vector<uint8_t>& order = joined.layout.order;
  const auto at = std::find(order.begin(), order.end(), axis);
  return std::all_of(order.begin(), at, [&](uint8_t dim) { return joined.dims[dim] == 1; });
}

// Every input once, and none constant: else some part of the output has no producer to place there.
bool HasProducers(const HostSite& site) {
  std::vector<ValueId> inputs = site.node().inputs;
  std::sort(inputs.begin(), inputs.end());
  const bool repeats = std::adjacent_find(inputs.begin(), inputs.end()) != inputs.end();
  return !repeats &&
         std::none_of(site.in.begin(), site.in.end(), [](const HostOperand& x) { return x.constant.has_value(); });
}

Result<HostRoutine> Concat(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(std::max<size_t>(1, site.in.size()), site.in.size()));
  const HostOperand& y = site.out[0];
  PT_ASSIGN(const size_t at, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), site.in[0].dims().size()), site));
  std::vector<Box> boxes;
  Dims joined = site.in[0].dims();
  joined[at] = 0;
  for (uint32_t i = 0; i < site.in.size(); ++i) {
    const HostOperand& x = site.in[i];
    if (x.type() != y.type() || x.dims().size() != joined.size()) return site.Unsupported("its inputs do not fit");
    Box box{i, 0, 0, joined[at] * y.strides()[at], {}};
    for (size_t d = 0; d < joined.size(); ++d) {
      if (d != at && x.dims()[d] != joined[d]) return site.Unsupported("its inputs do not fit");
      box.dims.push_back({x.dims()[d], x.strides()[d], y.strides()[d]});
    }
    joined[at] += x.dims()[at];
    boxes.push_back(std::move(box));
  }
  PT_CHECK_OK(site.NeedOutput(0, site.in[0].type(), joined));
  HostRoutine routine = RoutineOf(site, boxes);
  if (JoinsOutermostDim(y.layout, at) && HasProducers(site)) routine.elision = Elision::kSlicesOfOutput;
  return routine;
}

// The sizes of the parts: given, or as equal as the number of outputs allows.
Result<Dims> SplitSizes(const HostSite& site, int64_t dim) {
  PT_ASSIGN(const std::optional<Dims> given, site.Ints(1, "split"));
  const auto parts = static_cast<int64_t>(site.out.size());
  const int64_t each = (dim + parts - 1) / parts;
  Dims sizes(static_cast<size_t>(parts), each);
  sizes.back() = dim - each * (parts - 1);
  if (given) sizes = *given;
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_add_overflow(sum, size, &sum)) return site.Unsupported("its parts do not fit");
  }
  if (sum != dim || static_cast<int64_t>(sizes.size()) != parts) return site.Unsupported("its parts do not fit");
  return sizes;
}

Result<HostRoutine> Split(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  const HostOperand& x = site.in[0];
  PT_ASSIGN(const size_t at, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), x.dims().size()), site));
  PT_ASSIGN(const Dims sizes, SplitSizes(site, x.dims()[at]));
  std::vector<Box> boxes;
  int64_t from = 0;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    Dims dims = x.dims();
    dims[at] = sizes[i];
    PT_CHECK_OK(site.NeedOutput(i, x.type(), dims));
    Box box{0, i, from * x.strides()[at], 0, {}};
    from += sizes[i];
    if (!site.out[i].present()) continue;
    for (size_t d = 0; d < dims.size(); ++d) box.dims.push_back({dims[d], x.strides()[d], site.out[i].strides()[d]});
    boxes.push_back(std::move(box));
  }
  return RoutineOf(site, boxes);
}

Result<HostRoutine> Expand(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_ASSIGN(const std::optional<Dims> given, site.Ints(1, "shape"));
  const Dims shape = given.value_or(Dims());
  Dims dims(std::max(x.dims().size(), shape.size()), 1);
  std::copy_backward(shape.begin(), shape.end(), dims.end());
  Box box;
  const size_t lead = dims.size() - x.dims().size();
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t held = d < lead ? 1 : x.dims()[d - lead];
    if (dims[d] < 0 || (held != 1 && dims[d] != 1 && held != dims[d])) return site.Unsupported("dims do not broadcast");
    if (held != 1) dims[d] = held;
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool repeats = d < lead || x.dims()[d - lead] == 1;
    box.dims.push_back({dims[d], repeats ? 0 : x.strides()[d - lead], y.strides()[d]});
  }
  return RoutineOf(site, {box});
}

Result<HostRoutine> Tile(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_ASSIGN(const std::optional<Dims> given, site.Ints(1, "repeats"));
  const Dims repeats = given.value_or(Dims());
  if (repeats.size() != x.dims().size()) return site.Unsupported("its repeats do not fit");
  Dims dims;
  for (size_t d = 0; d < repeats.size(); ++d) {
    const std::optional<int64_t> dim = CheckedMul(repeats[d], x.dims()[d]);
    if (repeats[d] < 0 || !dim) return site.Unsupported("its repeats do not fit");
    dims.push_back(*dim);
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  Box box;
  for (size_t d = 0; d < dims.size(); ++d) {
    box.dims.push_back({repeats[d], 0, x.dims()[d] * y.strides()[d]});
    box.dims.push_back({x.dims()[d], x.strides()[d], y.strides()[d]});
  }
  return RoutineOf(site, {box});
}

// Both ways the same box: the channels of depth are (block row, block column, rest) or, in mode CRD, (rest, block row,
// block column), and block rows and columns lie between the pixels of space.
template <bool to_space>
Result<HostRoutine> DepthAndSpace(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const DepthSpaceNode blocks, OrUnsupported(ReadDepthSpace(site.node()), site));
  const int64_t b = blocks.block;
  if (site.in[0].rank() != 4) return site.Unsupported("its dims do not fit");
  const Dims& in = site.in[0].dims();
  const int64_t square = b * b;
  if (to_space ? in[1] % square != 0 : in[2] % b != 0 || in[3] % b != 0) return site.Unsupported("its dims do not fit");
  const Dims dims =
      to_space ? Dims{in[0], in[1] / square, in[2] * b, in[3] * b} : Dims{in[0], in[1] * square, in[2] / b, in[3] / b};
  PT_CHECK_OK(site.NeedOutput(0, site.in[0].type(), dims));
  const TensorLayout &depth = to_space ? site.in[0].layout : site.out[0].layout,
                     &space = to_space ? site.out[0].layout : site.in[0].layout;
  const int64_t rest = space.dims[1], channel = depth.strides[1];
  const bool rest_last = blocks.depth_first;
  Box box;
  const auto add = [&](int64_t size, int64_t in_depth, int64_t in_space) {
    box.dims.push_back(to_space ? CopyDim{size, in_depth, in_space} : CopyDim{size, in_space, in_depth});
  };
  add(depth.dims[0], depth.strides[0], space.strides[0]);
  add(rest, rest_last ? channel : channel * square, space.strides[1]);
  add(b, rest_last ? channel * rest * b : channel * b, space.strides[2]);
  add(b, rest_last ? channel * rest : channel, space.strides[3]);
  add(depth.dims[2], depth.strides[2], space.strides[2] * b);
  add(depth.dims[3], depth.strides[3], space.strides[3] * b);
  return RoutineOf(site, {box});
}

constexpr std::array kMovementOperators = {
    HostRow{"Concat", Concat, true},       HostRow{"DepthToSpace", DepthAndSpace<true>, true},
    HostRow{"Expand", Expand, true},       HostRow{"SpaceToDepth", DepthAndSpace<false>, true},
    HostRow{"Split", Split, true},         HostRow{"Tile", Tile, true},
    HostRow{"Transpose", Transpose, true},
};

}  // namespace

std::span<const HostRow> MovementOperators() { return kMovementOperators; }

}  // namespace pt::host
