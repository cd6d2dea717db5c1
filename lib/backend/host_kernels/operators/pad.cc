// Pad with pads known before the run: each dim of the output falls into runs that show input elements forwards,
// backwards or one again and again, or the constant; the runs of all dims together are boxes.
#include <algorithm>
#include <array>

#include "lib/backend/host_kernels/operators/boxes.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

using Dims = std::vector<int64_t>;

using Mode = PadMode;

// Neighbouring output indices; of the input: where the first comes from, and the step to the next.
struct Stretch {
  int64_t to = 0, size = 0, from = 0, step = 0;
  bool constant = false;
};

// More of them are no longer fast.
constexpr size_t kMostBoxes = 2048;

// The input index that an output index shows, counted from the first element; -1: the constant.
int64_t ShownAt(Mode mode, int64_t at, int64_t dim) {
  if (at >= 0 && at < dim) return at;
  switch (mode) {
    case Mode::kConstant:
      return -1;
    case Mode::kEdge:
      return at < 0 ? 0 : dim - 1;
    case Mode::kWrap:
      return (at % dim + dim) % dim;
    case Mode::kReflect:
      break;
  }
  if (dim == 1) return 0;
  const int64_t period = 2 * (dim - 1), phase = (at % period + period) % period;
  return phase < dim ? phase : period - phase;
}

std::vector<Stretch> StretchesOf(Mode mode, int64_t dim, int64_t before, int64_t out) {
  std::vector<Stretch> stretches;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t from = ShownAt(mode, i - before, dim);
    if (!stretches.empty() && stretches.back().constant == (from < 0)) {
      Stretch& last = stretches.back();
      const int64_t step = from - last.from - (last.size - 1) * last.step;
      if (last.size == 1 && (step == 1 || step == 0 || step == -1)) last.step = step;
      if (last.constant || step == last.step) {
        ++last.size;
        continue;
      }
    }
    stretches.push_back({i, 1, from, 0, from < 0});
  }
  return stretches;
}

struct Padding {
  const HostSite& site;
  std::vector<std::vector<Stretch>> stretches;  // of each dim
  uint32_t fill = kZeros;                       // the input that holds the constant
  std::vector<Box> boxes = {};

  // All boxes that share what `box` says of the dims before d.
  bool Add(size_t d, const Box& box) {
    if (boxes.size() >= kMostBoxes) return false;
    if (d == stretches.size()) {
      boxes.push_back(box);
      return true;
    }
    const int64_t from_stride = site.in[0].strides()[d], to_stride = site.out[0].strides()[d];
    for (const Stretch& stretch : stretches[d]) {
      Box next = box;
      next.to += stretch.to * to_stride;
      next.dims.push_back({stretch.size, stretch.step * from_stride, to_stride});
      if (stretch.constant) {
        AddConstant(d + 1, std::move(next));
      } else {
        next.from += stretch.from * from_stride;
        if (!Add(d + 1, next)) return false;
      }
    }
    return true;
  }

  // The constant, whatever the other dims say.
  void AddConstant(size_t d, Box box) {
    const HostOperand& y = site.out[0];
    for (; d < stretches.size(); ++d) box.dims.push_back({y.dims()[d], 0, y.strides()[d]});
    for (CopyDim& dim : box.dims) dim.from = 0;
    box.from = 0;
    box.in = fill;
    boxes.push_back(std::move(box));
  }
};

// What is added before and behind each dim, first all before, then all behind.
Result<Dims> PadsOf(const HostSite& site) {
  const int64_t rank = site.in[0].rank();
  PT_ASSIGN(const std::optional<Dims> pads, site.Ints(1, "pads"));
  PT_ASSIGN(std::optional<Dims> axes, site.Ints(3, ""));
  if (!axes) {
    axes = Dims(static_cast<size_t>(rank));
    for (int64_t d = 0; d < rank; ++d) (*axes)[static_cast<size_t>(d)] = d;
  }
  const size_t n = axes->size();
  if (!pads || pads->size() != 2 * n) return site.Unsupported("its pads do not fit");
  Dims all(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < n; ++i) {
    PT_ASSIGN(const int64_t axis, site.Axis((*axes)[i], rank));
    all[static_cast<size_t>(axis)] = (*pads)[i];
    all[static_cast<size_t>(axis + rank)] = (*pads)[i + n];
  }
  return all;
}

Result<HostRoutine> Pad(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 4));
  const HostOperand& x = site.in[0];
  if (ReadPadValue(site.node()) != 0) return site.Unsupported("its constant is an attribute");
  if (site.has(2) && (site.in[2].type() != x.type() || site.in[2].count() != 1)) {
    return site.Unsupported("its constant does not fit");
  }
  PT_ASSIGN(const Mode mode, OrUnsupported(ReadPadMode(site.node()), site));
  PT_ASSIGN(const Dims pads, PadsOf(site));
  Padding padding{site, {}};
  if (site.has(2)) padding.fill = 2;
  Dims dims;
  const size_t rank = x.dims().size();
  for (size_t d = 0; d < rank; ++d) {
    const std::optional<int64_t> begun = CheckedAdd(x.dims()[d], pads[d]);
    const std::optional<int64_t> dim = begun ? CheckedAdd(*begun, pads[d + rank]) : std::nullopt;
    if (!dim || *dim < 0) return site.Unsupported("its pads do not fit");
    if (x.dims()[d] == 0 && mode != Mode::kConstant && *dim > 0) return site.Unsupported("an empty dim is padded");
    dims.push_back(*dim);
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  for (size_t d = 0; d < rank; ++d) padding.stretches.push_back(StretchesOf(mode, x.dims()[d], pads[d], dims[d]));
  if (!padding.Add(0, {})) return site.Unsupported("it falls into too many parts");
  return RoutineOf(site, padding.boxes);
}

constexpr std::array kPadOperators = {HostRow{"Pad", Pad, true}};

}  // namespace

std::span<const HostRow> PadOperators() { return kPadOperators; }

}  // namespace pt::host
