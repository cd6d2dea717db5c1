// Operators of ai.onnx.ml on features: ArrayFeatureExtractor, Binarizer.
#include <algorithm>
#include <array>

#include "lib/backend/reference/elements.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

// Elements of the last dim by their indices. The result of a vector has one row, as in ONNX Runtime, which ONNX's
// reference follows.
Result<Routine> ArrayFeatureExtractor(Site& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.empty()) return site.Invalid("its input is a scalar");
  if (site.in[1].type != DataType::kInt64) return site.Invalid("the indices are not int64");
  const int64_t length = in.back(), picked = site.in[1].count();
  std::vector<int64_t> out = in;
  if (out.size() == 1) out = {1, 1};
  out.back() = picked;
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < in.size(); ++d) rows *= in[d];
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<Routine> {
    return Routine{[=](const Run& run) -> Status {
      const int64_t* indices = run.in<int64_t>(1);
      for (int64_t i = 0; i < picked; ++i) {
        if (indices[i] >= 0 && indices[i] < length) continue;
        return MakeError(ErrorCode::kInvalidInput, "reference.index",
                         "ArrayFeatureExtractor: index " + std::to_string(indices[i]) + " does not exist among " +
                             std::to_string(length) + " features");
      }
      T* to = run.out<T>();
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < picked; ++i) *to++ = run.in<T>(0)[r * length + indices[i]];
      }
      return {};
    }};
  });
}

// 1 for what is above the threshold, 0 for the rest, NaN included.
Result<Routine> Binarizer(Site& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(site.Out(0, site.in[0].type, site.in[0].dims));
  const float threshold = site.node.float_or("threshold", 0.0F);
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<Routine> {
    return MapRoutine(site.in[0].count(), MapOf<T>(1, [threshold](T x) -> T {
                        return static_cast<double>(x) > static_cast<double>(threshold) ? T{1} : T{0};
                      }));
  });
}

constexpr std::array kRows = {
    OperatorRow{.op = "ArrayFeatureExtractor", .make = ArrayFeatureExtractor, .domain = "ai.onnx.ml"},
    OperatorRow{.op = "Binarizer", .make = Binarizer, .domain = "ai.onnx.ml"},
};

}  // namespace

std::span<const OperatorRow> FeatureOperators() { return kRows; }

}  // namespace pt::reference
