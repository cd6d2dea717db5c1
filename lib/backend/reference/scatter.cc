// Elements written at given indices into a copy of the data: ScatterElements, ScatterND.
#include <array>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Elements of 16 bytes are complex numbers, which are replaced alone.
inline void Combine(ScatterReduction, Bytes16& held, const Bytes16& update) { held = update; }

template <typename T>
void Combine(ScatterReduction reduction, T& held, T update) {
  using Arithmetic = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
  switch (reduction) {
    case ScatterReduction::kNone:
      held = update;
      break;
    case ScatterReduction::kAdd:
      held = static_cast<T>(static_cast<Arithmetic>(held) + static_cast<Arithmetic>(update));
      break;
    case ScatterReduction::kMul:
      held = static_cast<T>(static_cast<Arithmetic>(held) * static_cast<Arithmetic>(update));
      break;
    case ScatterReduction::kMax:
      held = held < update ? update : held;
      break;
    case ScatterReduction::kMin:
      held = update < held ? update : held;
      break;
  }
}

// Rounded after every update, as the results of the operators they stand for are.
template <typename Small>
requires(std::is_same_v<Small, Half> || std::is_same_v<Small, Bfloat16>) void Combine(ScatterReduction reduction,
                                                                                      Small& held, Small update) {
  auto sum = NumberOf<float>(held);
  Combine(reduction, sum, NumberOf<float>(update));
  held = ElementOf<Small>(sum);
}

Error OutOfRange(std::string_view op, int64_t index, int64_t dim) {
  return MakeError(
      ErrorCode::kInvalidInput, "reference.index",
      std::string(op) + ": index " + std::to_string(index) + " is outside a dim of " + std::to_string(dim));
}

Status CheckScatter(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  if (!IsIndexType(site.in[1].type)) return site.Invalid("the indices are not integers");
  if (site.in[2].type != site.in[0].type) return site.Invalid("data and updates are of different types");
  return site.Out(0, site.in[0].type, site.in[0].dims);
}

// make.operator()<T>(reduction): by size where elements are only moved, else by number type.
template <typename F>
Result<ReferenceRoutine> VisitReduction(const ReferenceSite& site, F&& make) {
  PT_ASSIGN(const ScatterReduction reduction, OrInvalid(ReadScatterReduction(site.node), site));
  if (reduction == ScatterReduction::kNone) {
    return VisitSizes(site, site.in[0].type,
                      [&]<typename T>() -> Result<ReferenceRoutine> { return make.template operator()<T>(reduction); });
  }
  const DataType type = site.in[0].type;
  if (type == DataType::kFloat16) return make.template operator()<Half>(reduction);
  if (type == DataType::kBfloat16) return make.template operator()<Bfloat16>(reduction);
  return VisitNumbers(site, type,
                      [&]<typename T>() -> Result<ReferenceRoutine> { return make.template operator()<T>(reduction); });
}

Result<ReferenceRoutine> ScatterElements(ReferenceSite& site) {
  PT_CHECK_OK(CheckScatter(site));
  const std::vector<int64_t>& in = site.in[0].dims;
  const std::vector<int64_t>& where = site.in[1].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  if (where != site.in[2].dims || where.size() != in.size()) return site.Invalid("indices and updates differ in shape");
  for (size_t d = 0; d < in.size(); ++d) {
    if (d != static_cast<size_t>(axis) && where[d] > in[d]) return site.Invalid("the indices are larger than the data");
  }
  const bool wide = site.in[1].type == DataType::kInt64;
  return VisitReduction(site, [&]<typename T>(ScatterReduction reduction) -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, count = site.in[0].count(), updates = site.in[1].count(), strides = DenseStrides(in),
                             dim = in[static_cast<size_t>(axis)]](const TensorCall& run) -> Status {
      T* out = run.out<T>();
      if (run.in<T>(0) != out) std::copy(run.in<T>(0), run.in<T>(0) + count, out);
      const Indices indices{run.in<void>(1), wide};
      for (int64_t i = 0; i < updates; ++i) {
        const int64_t given = indices[i];
        if (given < -dim || given >= dim) return OutOfRange("ScatterElements", given, dim);
        int64_t rest = i, offset = (given < 0 ? given + dim : given) * strides[static_cast<size_t>(axis)];
        for (size_t d = where.size(); d-- > 0;) {
          if (static_cast<int64_t>(d) != axis) offset += rest % where[d] * strides[d];
          rest /= where[d];
        }
        Combine(reduction, out[offset], run.in<T>(2)[i]);
      }
      return {};
    }};
  });
}

Result<ReferenceRoutine> ScatterNd(ReferenceSite& site) {
  PT_CHECK_OK(CheckScatter(site));
  const std::vector<int64_t>& in = site.in[0].dims;
  const std::vector<int64_t>& where = site.in[1].dims;
  if (where.empty() || where.back() > site.in[0].rank()) return site.Invalid("the indices do not fit the data");
  const auto depth = static_cast<size_t>(where.back());
  std::vector<int64_t> expected(where.begin(), where.end() - 1);
  expected.insert(expected.end(), in.begin() + static_cast<ptrdiff_t>(depth), in.end());
  if (site.in[2].dims != expected) return site.Invalid("the updates do not fit the indices");
  int64_t inner = 1, tuples = 1;
  for (size_t d = depth; d < in.size(); ++d) inner *= in[d];
  for (size_t d = 0; d + 1 < where.size(); ++d) tuples *= where[d];
  const bool wide = site.in[1].type == DataType::kInt64;
  return VisitReduction(site, [&]<typename T>(ScatterReduction reduction) -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
      T* out = run.out<T>();
      if (run.in<T>(0) != out) std::copy(run.in<T>(0), run.in<T>(0) + count, out);
      const Indices indices{run.in<void>(1), wide};
      for (int64_t t = 0; t < tuples; ++t) {
        int64_t offset = 0;
        for (size_t k = 0; k < depth; ++k) {
          const int64_t given = indices[t * static_cast<int64_t>(depth) + static_cast<int64_t>(k)];
          if (given < -in[k] || given >= in[k]) return OutOfRange("ScatterND", given, in[k]);
          offset = offset * in[k] + (given < 0 ? given + in[k] : given);
        }
        for (int64_t i = 0; i < inner; ++i) Combine(reduction, out[offset * inner + i], run.in<T>(2)[t * inner + i]);
      }
      return {};
    }};
  });
}

constexpr std::array kScatterOperators = {
    ReferenceRow{.op = "Scatter", .make = ScatterElements},
    ReferenceRow{.op = "ScatterElements", .make = ScatterElements},
    ReferenceRow{.op = "ScatterND", .make = ScatterNd},
};

}  // namespace

std::span<const ReferenceRow> ScatterOperators() { return kScatterOperators; }

}  // namespace pt::reference
