// ScatterND: slices of updates written into a copy of the data. Where the indices are known before the run and walk a
// box of the output, as assignments to slices are exported, each of the two is one strided copy; else tuple by tuple.
#include <algorithm>
#include <array>
#include <atomic>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/operators/boxes.h"
#include "lib/backend/host_kernels/operators/merge.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::host {
namespace {

// The operands, checked, and the dims of the updates.
struct Scattering {
  size_t depth = 0;              // indices of a tuple
  std::vector<int64_t> updates;  // dims: those of the tuples, and of a slice
  size_t tuple_rank = 0;         // how many of them are the tuples'

  std::span<const int64_t> tuples() const { return std::span(updates).first(tuple_rank); }
};

Result<Scattering> ReadScattering(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const HostOperand &x = site.in[0], &where = site.in[1], &updates = site.in[2];
  PT_CHECK_OK(site.NeedOutput(0, x.type(), x.dims()));
  const bool fits = !where.dims().empty() && where.dims().back() >= 1 && where.dims().back() <= x.rank();
  if (!fits || !IsIndexType(where.type()) || updates.type() != x.type()) {
    return site.Unsupported("its operands do not fit");
  }
  Scattering s;
  s.depth = static_cast<size_t>(where.dims().back());
  s.tuple_rank = where.dims().size() - 1;
  s.updates.assign(where.dims().begin(), where.dims().end() - 1);
  s.updates.insert(s.updates.end(), x.dims().begin() + where.dims().back(), x.dims().end());
  if (updates.dims() != s.updates) return site.Unsupported("its updates do not fit the indices");
  return s;
}

// The indices as offsets in the output: one for each slice of updates, in order. Nothing where one does not exist.
std::optional<std::vector<int64_t>> OffsetsOf(const HostSite& site, size_t depth) {
  const HostOperand& y = site.out[0];
  const std::vector<int64_t> indices = site.in[1].constant->ToInts();
  std::vector<int64_t> offsets;
  for (size_t at = 0; at + depth <= indices.size(); at += depth) {
    int64_t offset = 0;
    for (size_t k = 0; k < depth; ++k) {
      const int64_t place = PlaceOf(indices[at + k], y.dims()[k]);
      if (!IsPlace(place, y.dims()[k])) return std::nullopt;
      offset += place * y.strides()[k];
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

std::vector<CopyDim> DataDims(const HostSite& site) {
  const HostOperand &x = site.in[0], &y = site.out[0];
  std::vector<CopyDim> dims;
  for (size_t d = 0; d < x.dims().size(); ++d) dims.push_back({x.dims()[d], x.strides()[d], y.strides()[d]});
  return dims;
}

// Nothing where the indices are not known until run time, walk no box, or name an element twice.
std::optional<std::vector<Box>> AsBoxes(const HostSite& site, const Scattering& s) {
  if (!site.is_constant(1)) return std::nullopt;
  std::vector<Box> boxes = {{0, 0, 0, 0, DataDims(site)}};
  const std::optional<std::vector<int64_t>> offsets = OffsetsOf(site, s.depth);
  if (!offsets) return std::nullopt;
  if (offsets->empty()) return boxes;
  const std::optional<std::vector<int64_t>> steps = StepsOf(s.tuples(), *offsets);
  if (!steps) return std::nullopt;
  const HostOperand &updates = site.in[2], &y = site.out[0];
  Box box{2, 0, 0, (*offsets)[0], {}};
  for (size_t d = 0; d < s.updates.size(); ++d) {
    const int64_t to = d < s.tuple_rank ? (*steps)[d] : y.strides()[d - s.tuple_rank + s.depth];
    box.dims.push_back({s.updates[d], updates.strides()[d], to});
  }
  if (!AreDisjoint(box.dims)) return std::nullopt;
  boxes.push_back(box);
  return boxes;
}

// What runs the tuples in their order, so that of those that meet the last one counts.
struct Tuples {
  Walk<2> walk;                        // offsets in the indices and in the updates
  Walk<1> order;                       // of the indices
  std::vector<int64_t> dims, strides;  // of the output that a tuple walks
  int64_t step = 1;                    // between the indices of a tuple
  Walk<2> slice;                       // offsets in the updates and in the output
  DataType index_type = DataType::kInt64;
};

Tuples TuplesOf(const HostSite& site, const Scattering& s) {
  const HostOperand &where = site.in[1], &updates = site.in[2], &y = site.out[0];
  Tuples t;
  const auto first = static_cast<ptrdiff_t>(s.depth);
  for (size_t d = s.tuple_rank; d-- > 0;) t.walk.Push(where.dims()[d], {where.strides()[d], updates.strides()[d]});
  for (size_t d = s.updates.size(); d-- > s.tuple_rank;) {
    t.slice.Push(s.updates[d], {updates.strides()[d], y.strides()[d - s.tuple_rank + s.depth]});
  }
  t.order = InOrder(where);
  t.dims.assign(y.dims().begin(), y.dims().begin() + first);
  t.strides.assign(y.strides().begin(), y.strides().begin() + first);
  t.step = where.strides().back();
  t.index_type = where.type();
  return t;
}

// Elements `begin` to before `end` of the innermost run of every slice. False where an index does not exist.
template <Merge merge, typename T, typename Index>
bool ScatterRuns(const Tuples& t, int64_t begin, int64_t end, const HostCall& run) {
  const Walk<2>::Offsets step = t.slice.inner_stride();
  Cursor<2> cursor(t.walk, 0);
  for (int64_t i = 0; i < t.walk.count; ++i, cursor.Next()) {
    const Index* tuple = run.input<Index>(1) + cursor.offsets()[0];
    T* to = run.output<T>(0);
    for (size_t k = 0; k < t.dims.size(); ++k, tuple += t.step) {
      const int64_t place = PlaceOf(*tuple, t.dims[k]);
      if (!IsPlace(place, t.dims[k])) return false;
      to += place * t.strides[k];
    }
    const T* from = run.input<T>(2) + cursor.offsets()[1];
    const auto run_at = [&](const Walk<2>::Offsets& at) {
      for (int64_t k = begin; k < end; ++k) MergeInto<merge>(to[at[1] + k * step[1]], from[at[0] + k * step[0]]);
    };
    if (t.slice.rank < 2) {
      run_at({0, 0});
    } else {
      t.slice.ForEach(1, run_at);
    }
  }
  return true;
}

template <Merge merge, typename T>
Status RunTuples(const Tuples& t, const StridedCopy& copy, const HostCall& run) {
  if (run.in[0] != run.out[0]) copy.Run(run.in[0], run.out[0], run.team);
  const auto check = [&] { return CheckIndices("ScatterND", run.in[1], t.index_type, t.order, t.dims); };
  if (t.slice.count == 0 || t.walk.count == 0) return check();
  std::atomic<bool> exist = true;
  const int64_t size = t.slice.inner_size(), slices = t.walk.count * (t.slice.count / size);
  VisitIndexType(t.index_type, [&]<typename Index>() {
    ParallelShares(run.team, size, static_cast<double>(slices) * 0.3, [&](int64_t begin, int64_t end) {
      if (!ScatterRuns<merge, T, Index>(t, begin, end, run)) exist = false;
    });
  });
  return exist ? Status() : check();
}

Result<HostRoutine> ScatterNd(const HostSite& site) {
  PT_ASSIGN(const Scattering scattering, ReadScattering(site));
  HostRoutine routine;
  const std::optional<std::vector<Box>> boxes = AsBoxes(site, scattering);
  PT_ASSIGN(const ScatterReduction reduction, OrUnsupported(ReadScatterReduction(site.node()), site));
  if (boxes && reduction == ScatterReduction::kNone) {
    routine = RoutineOf(site, *boxes);
  } else {
    const int64_t bytes = BytesOf(site.in[0].type());
    PT_ASSIGN(routine, VisitMerge(site, site.in[0].type(), [&]<Merge merge, typename T>() -> Result<HostRoutine> {
                return HostRoutine{[t = TuplesOf(site, scattering), copy = StridedCopy(DataDims(site), bytes)](
                                       const HostCall& run) { return RunTuples<merge, T>(t, copy, run); }};
              }));
  }
  routine.in_place = {0};
  return routine;
}

constexpr std::array kScatterOperators = {HostRow{"ScatterND", ScatterNd}};

}  // namespace

std::span<const HostRow> ScatterOperators() { return kScatterOperators; }

}  // namespace pt::host
