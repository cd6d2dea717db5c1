// GatherElements and ScatterElements: for each element the place along one axis where it is read or written. All
// elements that meet have the same place beside the axis, so lines along it are what cores share, and each is walked
// in the order of the indices.
#include <array>
#include <atomic>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/strided_copy.h"
#include "lib/backend/host_kernels/operators/merge.h"
#include "lib/backend/visit_bytes.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::host {
namespace {

struct Elements {
  // Dims beside the axis: offsets in the indices, in the tensor of their dims, and in the one that they point into.
  Walk<3> others;
  Walk<3> outer;                // without the innermost of them
  Walk<3>::Offsets step{};      // the same of neighbours along the axis; nothing in what is pointed into
  int64_t n = 0;                // elements along the axis
  int64_t dim = 0, stride = 0;  // of the axis in what is pointed into
  Walk<1> order;                // of the indices
  DataType index_type = DataType::kInt64;
};

// `each`: the tensor of the indices' dims; `whole`: the one that they point into.
Result<Elements> ElementsOf(const HostSite& site, const HostOperand& where, const HostOperand& each,
                            const HostOperand& whole) {
  if (!IsIndexType(where.type())) return site.Unsupported("its indices are not integers");
  if (where.dims() != each.dims() || where.rank() != whole.rank()) return site.Unsupported("its operands do not fit");
  PT_ASSIGN(const size_t along, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), whole.dims().size()), site));
  Elements e;
  for (size_t d = where.dims().size(); d-- > 0;) {
    if (d == along) continue;
    if (where.dims()[d] > whole.dims()[d]) return site.Unsupported("its indices are larger than what they point into");
    e.others.Push(where.dims()[d], {where.strides()[d], each.strides()[d], whole.strides()[d]});
  }
  e.outer = e.others.Without(0);
  e.n = where.dims()[along];
  e.step = {where.strides()[along], each.strides()[along], 0};
  e.dim = whole.dims()[along];
  e.stride = whole.strides()[along];
  e.order = InOrder(where);
  e.index_type = where.type();
  return e;
}

// f(offset in the tensor of the indices' dims, offset pointed to) for `count` neighbouring lines. False where an index
// does not exist.
template <typename Index, typename F>
bool ForLines(const Elements& e, const Index* indices, Walk<3>::Offsets at, int64_t count, F f) {
  const Walk<3>::Offsets across = e.others.inner_stride();
  // Copies, since the elements written might be parts of `e` as far as the compiler knows.
  const int64_t dim = e.dim, stride = e.stride;
  // The inner loop is along what lies together.
  const bool by_lines = e.step[0] == 1 || count == 1;
  const Walk<3>::Offsets row = by_lines ? across : e.step, column = by_lines ? e.step : across;
  const int64_t rows = by_lines ? count : e.n, columns = by_lines ? e.n : count;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t place = PlaceOf(indices[at[0] + c * column[0]], dim);
      if (!IsPlace(place, dim)) return false;
      f(at[1] + c * column[1], at[2] + c * column[2] + place * stride);
    }
    for (size_t k = 0; k < at.size(); ++k) at[k] += row[k];
  }
  return true;
}

// f as above for all elements.
template <typename F>
Status ForElements(std::string_view op, const Elements& e, const HostCall& run, F f) {
  std::atomic<bool> exist = true;
  const int64_t size = e.others.inner_size();
  VisitIndexType(e.index_type, [&]<typename Index>() {
    ParallelShares(run.team, e.others.count, static_cast<double>(e.n) * 1.5 + 2, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end;) {
        const int64_t count = std::min(end - line, size - line % size);
        if (!ForLines(e, run.input<Index>(1), e.others.At(line), count, f)) {
          exist = false;
          return;
        }
        line += count;
      }
    });
  });
  return exist ? Status() : CheckIndices(op, run.in[1], e.index_type, e.order, {&e.dim, 1});
}

Result<HostRoutine> GatherElements(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const HostOperand& x = site.in[0];
  PT_CHECK_OK(site.NeedOutput(0, x.type(), site.in[1].dims()));
  PT_ASSIGN(const Elements elements, ElementsOf(site, site.in[1], site.out[0], x));
  return VisitBytes(BytesOf(x.type()), [&]<typename T>() -> Result<HostRoutine> {
    return HostRoutine{[e = elements](const HostCall& run) -> Status {
      const T* x = run.input<T>(0);
      T* y = run.output<T>(0);
      return ForElements("GatherElements", e, run, [=](int64_t to, int64_t from) { y[to] = x[from]; });
    }};
  });
}

Result<HostRoutine> ScatterElements(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const HostOperand &x = site.in[0], &updates = site.in[2], &y = site.out[0];
  PT_CHECK_OK(site.NeedOutput(0, x.type(), x.dims()));
  if (updates.type() != x.type()) return site.Unsupported("data and updates are of different types");
  PT_ASSIGN(const Elements elements, ElementsOf(site, site.in[1], updates, y));
  std::vector<CopyDim> data;
  for (size_t d = 0; d < x.dims().size(); ++d) data.push_back({x.dims()[d], x.strides()[d], y.strides()[d]});
  return VisitMerge(site, x.type(), [&]<Merge merge, typename T>() -> Result<HostRoutine> {
    HostRoutine routine;
    routine.in_place = {0};
    routine.run = [e = elements, copy = StridedCopy(data, BytesOf(x.type()))](const HostCall& run) -> Status {
      const T* updates = run.input<T>(2);
      T* y = run.output<T>(0);
      if (run.in[0] != run.out[0]) copy.Run(run.in[0], run.out[0], run.team);
      return ForElements("ScatterElements", e, run,
                         [=](int64_t from, int64_t to) { MergeInto<merge>(y[to], updates[from]); });
    };
    return routine;
  });
}

constexpr std::array kElementIndexOperators = {HostRow{"GatherElements", GatherElements},
                                               HostRow{"ScatterElements", ScatterElements}};

}  // namespace

std::span<const HostRow> ElementIndexOperators() { return kElementIndexOperators; }

}  // namespace pt::host
