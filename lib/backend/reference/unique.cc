// Unique: the distinct elements of a tensor, or its distinct slices along an axis. What is distinct is worked out when
// the routine is made, from the input's contents.
#include <algorithm>
#include <array>
#include <numeric>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/selections.h"

namespace pt::reference {
namespace {

// The slices [outer, slices, inner] of a tensor; of a flat one each element is a slice.
struct Slices {
  int64_t outer = 1, count = 1, inner = 1;
};

// An order of all elements: 0 and -0 are equal, NaN equals NaN and comes last, as numpy sorts. Complex numbers are
// ordered by their real parts, then by their imaginary ones; numbers with a NaN in them come last.
template <typename T>
int Order(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return (a != a) - (b != b);
  }
  return (a > b) - (a < b);
}

template <typename T>
int Order(std::complex<T> a, std::complex<T> b) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan != b_nan) return a_nan ? 1 : -1;
  const int real = Order(a.real(), b.real());
  return real != 0 ? real : Order(a.imag(), b.imag());
}

// Slices are ordered by their first element that differs.
template <typename T>
int OrderSlices(const T* data, const Slices& slices, int64_t a, int64_t b) {
  for (int64_t o = 0; o < slices.outer; ++o) {
    const T* plane = data + o * slices.count * slices.inner;
    for (int64_t i = 0; i < slices.inner; ++i) {
      if (const int order = Order(plane[a * slices.inner + i], plane[b * slices.inner + i]); order != 0) return order;
    }
  }
  return 0;
}

// The distinct slices in the order of the output, and what belongs to them.
struct Distinct {
  std::vector<int64_t> first;    // by distinct slice: where it is met first
  std::vector<int64_t> inverse;  // by slice: which distinct slice it is
  std::vector<int64_t> counts;   // by distinct slice: how often it is met
};

template <typename T>
Distinct FindDistinct(const T* data, const Slices& slices, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(slices.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return OrderSlices(data, slices, a, b) < 0; });
  // The stretches of equals in `order`. The sort is stable: each begins with the slice that is met first.
  std::vector<std::span<const int64_t>> groups;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    end = begin + 1;
    while (end < order.size() && OrderSlices(data, slices, order[begin], order[end]) == 0) ++end;
    groups.push_back(std::span(order).subspan(begin, end - begin));
  }
  if (!sorted) {
    std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.front() < b.front(); });
  }
  Distinct distinct;
  distinct.inverse.resize(order.size());
  for (const std::span<const int64_t>& group : groups) {
    for (const int64_t at : group) {
      distinct.inverse[static_cast<size_t>(at)] = static_cast<int64_t>(distinct.first.size());
    }
    distinct.first.push_back(group.front());
    distinct.counts.push_back(static_cast<int64_t>(group.size()));
  }
  return distinct;
}

Result<Distinct> FindDistinct(const ReferenceSite& site, const Slices& slices) {
  const TensorFacts& in = site.in[0];
  const std::byte* data = in.constant->bytes().data();
  const bool sorted = SortsDistinctElements(site.node);
  return VisitType(in.type, [&]<typename T>() -> Result<Distinct> {
    if constexpr (std::is_same_v<T, bool>) {
      return FindDistinct(reinterpret_cast<const uint8_t*>(data), slices, sorted);
    } else if constexpr (std::is_arithmetic_v<T> || kIsComplex<T>) {
      return FindDistinct(reinterpret_cast<const T*>(data), slices, sorted);
    }
    return UnsupportedType(site, in.type);
  });
}

Result<ReferenceRoutine> Unique(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(site.NeedContent(0));
  const TensorFacts& in = site.in[0];
  Slices slices{1, in.count(), 1};
  std::vector<int64_t> out = {0};
  size_t axis = 0;
  if (HasAxis(site.node)) {
    PT_ASSIGN(axis, OrInvalid(ReadAxis(site.node, site.opset, in.dims.size()), site));
    slices.count = in.dims[axis];
    for (size_t d = 0; d < in.dims.size(); ++d) {
      if (d != axis) (d < axis ? slices.outer : slices.inner) *= in.dims[d];
    }
    out = in.dims;
  }
  PT_CHECK_OK(site.Out(2, DataType::kInt64, {slices.count}));
  PT_ASSIGN(Distinct distinct, FindDistinct(site, slices));
  const auto found = static_cast<int64_t>(distinct.first.size());
  out[axis] = found;
  PT_CHECK_OK(site.Out(0, in.type, out));
  PT_CHECK_OK(site.Out(1, DataType::kInt64, {found}));
  PT_CHECK_OK(site.Out(3, DataType::kInt64, {found}));
  return VisitSizes(site, in.type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[slices, distinct = std::move(distinct)](const TensorCall& run) -> Status {
      T* to = run.out<T>();
      for (int64_t o = 0; o < slices.outer && to != nullptr; ++o) {
        for (const int64_t at : distinct.first) {
          to = std::copy_n(run.in<T>(0) + (o * slices.count + at) * slices.inner, slices.inner, to);
        }
      }
      const std::array lists = {&distinct.first, &distinct.inverse, &distinct.counts};
      for (size_t i = 0; i < lists.size(); ++i) {
        if (run.out<int64_t>(i + 1) != nullptr) std::copy(lists[i]->begin(), lists[i]->end(), run.out<int64_t>(i + 1));
      }
      return {};
    }};
  });
}

constexpr std::array kUniqueOperators = {
    ReferenceRow{.op = "Unique", .make = Unique, .feeding = Feeding::kWidened, .since = 11, .by_content = Inputs({0})},
};

}  // namespace

std::span<const ReferenceRow> UniqueOperators() { return kUniqueOperators; }

}  // namespace pt::reference
