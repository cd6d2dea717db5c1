// TopK along one axis.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt::reference {
namespace {

// Of equals the lower index comes first; NaN counts as largest.
template <typename T>
bool Precedes(const T* x, int64_t step, bool largest, int64_t a, int64_t b) {
  const T left = x[a * step], right = x[b * step];
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(left) || std::isnan(right)) {
      if (std::isnan(left) && std::isnan(right)) return a < b;
      return std::isnan(left) == largest;
    }
  }
  if (left == right) return a < b;
  return largest ? left > right : left < right;
}

Result<ReferenceRoutine> TopK(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const TopKNode top, OrInvalid(ReadTopK(site.node, site.opset, in.size()), site));
  const size_t at = top.axis;
  int64_t k = top.k.value_or(-1);
  if (site.has(1)) {
    if (site.in[1].type != DataType::kInt64 || site.in[1].count() != 1) return site.Invalid("k is not int64");
    if (site.is_constant(1)) {
      k = site.in[1].constant->ToInts()[0];
    } else {
      const size_t known = site.node.outputs[0].valid() ? 0 : 1;  // either may be left out
      if (known >= site.node.outputs.size() || !site.node.outputs[known].valid()) return site.Invalid("has no output");
      PT_CHECK_OK(site.OutFromGraph(known, known == 0 ? site.in[0].type : DataType::kInt64, site.in[0].rank()));
      k = site.out[known].dims[at];
    }
  }
  if (k < 0 || k > in[at])
    return site.Invalid("k " + std::to_string(k) + " is outside a dim of " + std::to_string(in[at]));
  std::vector<int64_t> out = in;
  out[at] = k;
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  PT_CHECK_OK(site.Out(1, DataType::kInt64, out));
  const bool largest = top.largest;
  const int64_t n = in[at];
  int64_t inner = 1;
  for (size_t d = at + 1; d < in.size(); ++d) inner *= in[d];
  const int64_t lines = n == 0 ? 0 : site.in[0].count() / n;
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    ReferenceRoutine routine;
    routine.scratch_bytes = static_cast<uint64_t>(n) * sizeof(int64_t);
    routine.run = [=](const TensorCall& run) -> Status {
      if (run.in<int64_t>(1) != nullptr && *run.in<int64_t>(1) != k) {
        return MakeError(ErrorCode::kInvalidInput, "reference.shape", "TopK: k is not the one planned for");
      }
      auto* order = reinterpret_cast<int64_t*>(run.scratch);
      for (int64_t line = 0; line < lines; ++line) {
        const T* x = run.in<T>(0) + line / inner * inner * n + line % inner;
        for (int64_t i = 0; i < n; ++i) order[i] = i;
        std::partial_sort(order, order + k, order + n,
                          [&](int64_t a, int64_t b) { return Precedes(x, inner, largest, a, b); });
        const int64_t to = line / inner * inner * k + line % inner;
        for (int64_t i = 0; i < k; ++i) {
          if (run.out<T>(0) != nullptr) run.out<T>(0)[to + i * inner] = x[order[i] * inner];
          if (run.out<int64_t>(1) != nullptr) run.out<int64_t>(1)[to + i * inner] = order[i];
        }
      }
      return {};
    };
    return routine;
  });
}

constexpr std::array kSortOperators = {
    ReferenceRow{.op = "TopK", .make = TopK, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> SortOperators() { return kSortOperators; }

}  // namespace pt::reference
