// Softmax, LogSoftmax and Hardmax along one axis; before opset 13 along all dims from the axis on.
#include "partitiontuner/graph/operators/softmax.h"

#include <array>
#include <cmath>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

struct Vectors {
  int64_t outer = 1, n = 1, inner = 1;  // element k of a vector lies at k·inner
};

Result<Vectors> ReadVectors(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& dims = site.in[0].dims;
  PT_ASSIGN(const SoftmaxNode softmax, OrInvalid(ReadSoftmax(site.node, site.opset, dims.size()), site));
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  Vectors v;
  for (size_t d = 0; d < dims.size(); ++d) {
    (d < softmax.begin ? v.outer : d < softmax.end ? v.n : v.inner) *= dims[d];
  }
  return v;
}

template <bool logarithm>
Result<ReferenceRoutine> Softmax(ReferenceSite& site) {
  PT_ASSIGN(const Vectors v, ReadVectors(site));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[v](const TensorCall& run) -> Status {
      ParallelRanges(run.team, v.n == 0 ? 0 : v.outer * v.inner, static_cast<double>(v.n) * 6,
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t at = i / v.inner * v.inner * v.n + i % v.inner;
                         const T* in = run.in<T>(0) + at;
                         T* out = run.out<T>() + at;
                         T most = -std::numeric_limits<T>::infinity();
                         for (int64_t k = 0; k < v.n; ++k) most = in[k * v.inner] > most ? in[k * v.inner] : most;
                         double sum = 0;
                         for (int64_t k = 0; k < v.n; ++k) {
                           const T shifted = in[k * v.inner] - most, e = std::exp(shifted);
                           sum += static_cast<double>(e);
                           out[k * v.inner] = logarithm ? shifted : e;
                         }
                         const T whole = static_cast<T>(logarithm ? std::log(sum) : sum);
                         for (int64_t k = 0; k < v.n; ++k) {
                           if constexpr (logarithm) {
                             out[k * v.inner] -= whole;
                           } else {
                             out[k * v.inner] /= whole;
                           }
                         }
                       }
                     });
      return {};
    }};
  });
}

// One at the first greatest element, zero elsewhere.
Result<ReferenceRoutine> Hardmax(ReferenceSite& site) {
  PT_ASSIGN(const Vectors v, ReadVectors(site));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[v](const TensorCall& run) -> Status {
      ParallelRanges(run.team, v.n == 0 ? 0 : v.outer * v.inner, static_cast<double>(v.n),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t at = i / v.inner * v.inner * v.n + i % v.inner;
                         const T* in = run.in<T>(0) + at;
                         T* out = run.out<T>() + at;
                         int64_t first = 0;
                         for (int64_t k = 1; k < v.n; ++k) first = in[k * v.inner] > in[first * v.inner] ? k : first;
                         for (int64_t k = 0; k < v.n; ++k) out[k * v.inner] = k == first ? T{1} : T{0};
                       }
                     });
      return {};
    }};
  });
}

constexpr std::array kSoftmaxOperators = {
    ReferenceRow{.op = "Hardmax", .make = Hardmax, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "LogSoftmax", .make = Softmax<true>, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "Softmax", .make = Softmax<false>, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> SoftmaxOperators() { return kSoftmaxOperators; }

}  // namespace pt::reference
