// Gather and GatherND: whole slices of the input at indices that only the run may know.
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/strided_copy.h"
#include "lib/backend/host_kernels/operators/indices.h"
#include "lib/backend/visit_bytes.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::host {
namespace {

// Copies one slice. What is as large as a number, such as the usual single element, is moved as one.
template <typename T>
struct ElementSlice {
  static void Copy(const StridedCopy&, const std::byte* from, std::byte* to) { std::memcpy(to, from, sizeof(T)); }
};
struct RunSlice {
  static void Copy(const StridedCopy& copy, const std::byte* from, std::byte* to) {
    std::memcpy(to, from, static_cast<size_t>(copy.run_bytes()));
  }
};
struct AnySlice {
  static void Copy(const StridedCopy& copy, const std::byte* from, std::byte* to) { copy.Run(from, to, nullptr); }
};

// f.operator()<How>() for the way to copy slices.
template <typename F>
void VisitSlice(const StridedCopy& copy, F&& f) {
  const int64_t bytes = copy.run_bytes();
  if (bytes > 0 && bytes <= 16 && std::has_single_bit(static_cast<uint64_t>(bytes))) {
    VisitBytes(bytes, [&]<typename T>() { f.template operator()<ElementSlice<T>>(); });
  } else if (bytes != 0) {
    f.template operator()<RunSlice>();
  } else {
    f.template operator()<AnySlice>();
  }
}

// The dims of one slice, from dim `first` of the input and `first_out` of the output on.
struct Slice {
  StridedCopy copy;
  int64_t elements;
};
Slice SliceOf(const HostOperand& x, size_t first, const HostOperand& y, size_t first_out) {
  std::vector<CopyDim> dims;
  int64_t elements = 1;
  for (size_t d = first; d < x.dims().size(); ++d) {
    dims.push_back({x.dims()[d], x.strides()[d], y.strides()[d - first + first_out]});
    elements *= x.dims()[d];
  }
  return {StridedCopy(dims, BytesOf(x.type())), elements};
}

double WorkOf(const Slice& slice, int64_t bytes) { return static_cast<double>(slice.elements * bytes) * 0.06 + 3; }

struct Gathering {
  Walk<2> outer;        // dims before the axis: offsets in input and output
  Walk<2> indices;      // offsets in the indices and in the output
  Walk<1> order;        // of the indices
  Slice inner;          // dims behind the axis
  int64_t dim, stride;  // of the axis
  int64_t bytes;        // of an element
  DataType index_type;
};

// The indices from `begin` to before `end`, for one position of the outer dims. False where one does not exist.
template <class How, typename Index>
bool GatherSome(const Gathering& g, const Index* indices, int64_t begin, int64_t end, const std::byte* x,
                std::byte* y) {
  // Copies of what the loop needs: the elements written might be parts of `g` as far as the compiler knows.
  const int64_t size = g.indices.inner_size(), dim = g.dim, bytes = g.bytes, place_bytes = g.stride * g.bytes;
  const Walk<2>::Offsets step = g.indices.inner_stride();
  for (int64_t i = begin; i < end;) {
    const Walk<2>::Offsets at = g.indices.At(i);
    const int64_t n = std::min(end - i, size - i % size);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t place = PlaceOf(indices[at[0] + k * step[0]], dim);
      if (!IsPlace(place, dim)) return false;
      How::Copy(g.inner.copy, x + place * place_bytes, y + (at[1] + k * step[1]) * bytes);
    }
    i += n;
  }
  return true;
}

Status RunGather(const Gathering& g, const HostCall& run) {
  const auto check = [&] { return CheckIndices("Gather", run.in[1], g.index_type, g.order, {&g.dim, 1}); };
  if (g.inner.elements == 0 || g.outer.count == 0) return check();
  std::atomic<bool> exist = true;
  const int64_t each = g.indices.count;
  const auto gather = [&]<class How, typename Index>() {
    ParallelRanges(run.team, g.outer.count * each, WorkOf(g.inner, g.bytes), [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end;) {
        const int64_t first = item % each, last = std::min(each, first + end - item);
        const Walk<2>::Offsets at = g.outer.At(item / each);
        if (!GatherSome<How>(g, run.input<Index>(1), first, last, run.input<std::byte>(0) + at[0] * g.bytes,
                             run.output<std::byte>(0) + at[1] * g.bytes)) {
          exist = false;
          return;
        }
        item += last - first;
      }
    });
  };
  VisitIndexType(g.index_type, [&]<typename Index>() {
    VisitSlice(g.inner.copy, [&]<class How>() { gather.template operator()<How, Index>(); });
  });
  return exist ? Status() : check();
}

Result<HostRoutine> Gather(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const HostOperand &x = site.in[0], &where = site.in[1], &y = site.out[0];
  if (!IsIndexType(where.type())) return site.Unsupported("its indices are not integers");
  PT_ASSIGN(const size_t at, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), x.dims().size()), site));
  const size_t span = where.dims().size();
  std::vector<int64_t> dims = x.dims();
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(at));
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(at), where.dims().begin(), where.dims().end());
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  Walk<2> outer, indices;
  for (size_t d = at; d-- > 0;) outer.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  for (size_t d = span; d-- > 0;) indices.Push(where.dims()[d], {where.strides()[d], y.strides()[at + d]});
  Gathering g{outer,        indices,         InOrder(where),    SliceOf(x, at + 1, y, at + span),
              x.dims()[at], x.strides()[at], BytesOf(x.type()), where.type()};
  return HostRoutine{[g](const HostCall& run) { return RunGather(g, run); }};
}

// Tuples of indices, each of which names a slice.
struct TupleGathering {
  Walk<3> tuples;                      // offsets in the indices, in the output, and of the batch entry in the input
  Walk<1> order;                       // of the indices
  std::vector<int64_t> dims, strides;  // of the input that a tuple walks
  int64_t step;                        // between the indices of a tuple
  Slice inner;
  int64_t bytes;
};

template <class How>
bool GatherTuples(const TupleGathering& g, int64_t begin, int64_t end, const HostCall& run) {
  Cursor<3> cursor(g.tuples, begin);
  for (int64_t t = begin; t < end; ++t, cursor.Next()) {
    const Walk<3>::Offsets& at = cursor.offsets();
    const int64_t* tuple = run.input<int64_t>(1) + at[0];
    int64_t from = at[2];
    for (size_t k = 0; k < g.dims.size(); ++k, tuple += g.step) {
      const int64_t place = PlaceOf(*tuple, g.dims[k]);
      if (!IsPlace(place, g.dims[k])) return false;
      from += place * g.strides[k];
    }
    How::Copy(g.inner.copy, run.input<std::byte>(0) + from * g.bytes, run.output<std::byte>(0) + at[1] * g.bytes);
  }
  return true;
}

Status RunGatherNd(const TupleGathering& g, const HostCall& run) {
  const auto check = [&]() -> Status {
    if (g.dims.empty()) return {};
    return CheckIndices("GatherND", run.in[1], DataType::kInt64, g.order, g.dims);
  };
  if (g.inner.elements == 0) return check();
  std::atomic<bool> exist = true;
  VisitSlice(g.inner.copy, [&]<class How>() {
    ParallelRanges(run.team, g.tuples.count, WorkOf(g.inner, g.bytes), [&](int64_t begin, int64_t end) {
      if (!GatherTuples<How>(g, begin, end, run)) exist = false;
    });
  });
  return exist ? Status() : check();
}

Result<HostRoutine> GatherNd(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const HostOperand &x = site.in[0], &where = site.in[1], &y = site.out[0];
  if (where.type() != DataType::kInt64 || where.dims().empty()) return site.Unsupported("its indices are not tuples");
  const int64_t batch = ReadBatchDims(site.node()), depth = where.dims().back();
  if (batch < 0 || batch >= where.rank() || batch + depth > x.rank()) {
    return site.Unsupported("its indices do not fit its input");
  }
  const auto first = static_cast<size_t>(batch), behind = static_cast<size_t>(batch + depth);
  if (!std::equal(x.dims().begin(), x.dims().begin() + batch, where.dims().begin())) {
    return site.Unsupported("its batch dims differ");
  }
  const size_t span = where.dims().size() - 1;
  std::vector<int64_t> dims(where.dims().begin(), where.dims().end() - 1);
  dims.insert(dims.end(), x.dims().begin() + batch + depth, x.dims().end());
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  Walk<3> tuples;
  for (size_t d = span; d-- > 0;) {
    tuples.Push(where.dims()[d], {where.strides()[d], y.strides()[d], d < first ? x.strides()[d] : 0});
  }
  const auto of_tuples = [&](const std::vector<int64_t>& all) {
    return std::vector<int64_t>(all.begin() + batch, all.begin() + batch + depth);
  };
  TupleGathering g{tuples,
                   InOrder(where),
                   of_tuples(x.dims()),
                   of_tuples(x.strides()),
                   where.strides().back(),
                   SliceOf(x, behind, y, span),
                   BytesOf(x.type())};
  return HostRoutine{[g = std::move(g)](const HostCall& run) { return RunGatherNd(g, run); }};
}

constexpr std::array kGatherOperators = {HostRow{"Gather", Gather}, HostRow{"GatherND", GatherNd}};

}  // namespace

std::span<const HostRow> GatherOperators() { return kGatherOperators; }

}  // namespace pt::host
