// ScatterND whose indices are known before the run and walk a box of the output, as assignments to slices are exported:
// the data, and on top of it the updates, each as one strided copy.
#include <algorithm>
#include <array>

#include "lib/backend/host_kernels/boxes.h"

namespace pt::host {
namespace {

// The indices as offsets in the output: one for each slice of updates, in order. kUnsupported where one does not exist.
Result<std::vector<int64_t>> OffsetsOf(const Site& site, size_t depth) {
  const Operand& y = site.out[0];
  const std::vector<int64_t> indices = site.in[1].constant->ToInts();
  std::vector<int64_t> offsets;
  for (size_t at = 0; at + depth <= indices.size(); at += depth) {
    int64_t offset = 0;
    for (size_t k = 0; k < depth; ++k) {
      const int64_t dim = y.dims()[k], given = indices[at + k], index = given < 0 ? given + dim : given;
      if (index < 0 || index >= dim) return site.Unsupported("index " + std::to_string(given) + " does not exist");
      offset += index * y.strides()[k];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

// How far the offset moves along each of the dims, where it does so evenly: nullopt where any offset is elsewhere.
std::optional<std::vector<int64_t>> StepsOf(std::span<const int64_t> dims, const std::vector<int64_t>& offsets) {
  std::vector<int64_t> steps(dims.size(), 0);
  Walk<1> walk;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] > 1) steps[d] = offsets[static_cast<size_t>(walk.count)] - offsets[0];
    walk.Push(dims[d], {steps[d]});
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != offsets[0] + walk.At(static_cast<int64_t>(i))[0]) return std::nullopt;
  }
  return steps;
}

// Whether no element is written twice: each dim steps over all that the dims with smaller steps reach.
bool AreDisjoint(std::vector<CopyDim> dims) {
  std::sort(dims.begin(), dims.end(), [](const CopyDim& a, const CopyDim& b) { return a.to < b.to; });
  int64_t reach = 1;
  for (const CopyDim& dim : dims) {
    if (dim.size == 1) continue;
    if (dim.to < reach) return false;
    reach += (dim.size - 1) * dim.to;
  }
  return true;
}

Result<Routine> ScatterNd(const Site& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const Operand &x = site.in[0], &where = site.in[1], &updates = site.in[2], &y = site.out[0];
  if (!where.constant) return site.Unsupported("its indices are known only at run time");
  if (site.node().string_or("reduction", "none") != "none") return site.Unsupported("it combines what meets");
  PT_CHECK_OK(site.NeedOutput(0, x.type(), x.dims()));
  const bool fits_none = where.dims().empty() || where.dims().back() < 1 || where.dims().back() > x.rank();
  if (fits_none || !y.present() || updates.type() != x.type()) return site.Unsupported("its operands do not fit");
  const auto depth = static_cast<size_t>(where.dims().back());
  const std::span<const int64_t> slices = std::span(where.dims()).first(where.dims().size() - 1);
  std::vector<int64_t> expected(slices.begin(), slices.end());
  expected.insert(expected.end(), x.dims().begin() + where.dims().back(), x.dims().end());
  if (updates.dims() != expected) return site.Unsupported("its updates do not fit the indices");

  Box data{0, 0, 0, 0, {}}, box{2, 0, 0, 0, {}};
  for (size_t d = 0; d < x.dims().size(); ++d) data.dims.push_back({x.dims()[d], x.strides()[d], y.strides()[d]});
  std::vector<Box> boxes = {data};
  PT_ASSIGN(const std::vector<int64_t> offsets, OffsetsOf(site, depth));
  if (!offsets.empty()) {
    const std::optional<std::vector<int64_t>> steps = StepsOf(slices, offsets);
    if (!steps) return site.Unsupported("its indices walk no box");
    box.to = offsets[0];
    for (size_t d = 0; d < expected.size(); ++d) {
      const int64_t to = d < slices.size() ? (*steps)[d] : y.strides()[d - slices.size() + depth];
      box.dims.push_back({expected[d], updates.strides()[d], to});
    }
    if (!AreDisjoint(box.dims)) return site.Unsupported("its indices name an element twice, or run backwards");
    boxes.push_back(box);
  }
  Routine routine = RoutineOf(site, boxes);
  routine.in_place = {0};
  return routine;
}

constexpr std::array kRows = {OperatorRow{"ScatterND", ScatterNd}};

}  // namespace

std::span<const OperatorRow> ScatterOperators() { return kRows; }

}  // namespace pt::host
