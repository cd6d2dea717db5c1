// Dropout. In training mode elements are dropped at random, by the generator of random_source.h.
#include <array>
#include <cstring>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/random_source.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

// Drops each element with the probability `ratio` and scales the others, in the type that the data has.
Result<ReferenceRoutine> Train(ReferenceSite& site, double ratio) {
  if (!(ratio >= 0 && ratio < 1)) return site.Invalid("its ratio is " + std::to_string(ratio) + "; expected 0 to 1");
  PT_ASSIGN(const uint32_t seed, SeedOf(site));
  const DataType type = site.in[0].type;
  return VisitType(type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if constexpr (kIsFloat<T>) {
      return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
        RandomSource source(seed);
        const double scale = 1 / (1 - ratio);
        for (int64_t i = 0; i < count; ++i) {
          const bool kept = source.Uniform() >= ratio;
          if (run.out<T>(0) != nullptr) {
            run.out<T>(0)[i] = ElementOf<T>(kept ? NumberOf<double>(run.in<T>(0)[i]) * scale : 0.0);
          }
          if (run.out<uint8_t>(1) != nullptr) run.out<uint8_t>(1)[i] = kept ? 1 : 0;
        }
        return {};
      }};
    }
    return UnsupportedType(site, type);
  });
}

// At inference: the input, and a mask of ones.
Result<ReferenceRoutine> Dropout(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 3));
  PT_CHECK_OK(site.Out(0, site.in[0].type, site.in[0].dims));
  // Before opset 10 the mask has the data's type.
  const DataType mask = site.opset < 10 ? site.in[0].type : DataType::kBool;
  PT_CHECK_OK(site.Out(1, mask, site.in[0].dims));
  if (site.wants(1) && site.out.size() > 1 && mask != DataType::kBool)
    return site.Unsupported("is not supported with the mask of old opsets");
  PT_ASSIGN(const std::optional<double> training, site.Scalar(2));
  if (training.value_or(0) != 0) {
    PT_ASSIGN(const std::optional<double> ratio, site.Scalar(1));
    if (ratio.value_or(0.5) != 0) return Train(site, ratio.value_or(0.5));
  }
  const int64_t count = site.in[0].count(), bytes = count * FedBytes(site.in[0].type);
  return ReferenceRoutine{[count, bytes](const TensorCall& run) -> Status {
    if (run.out<void>(0) != nullptr && bytes > 0) std::memcpy(run.out<void>(0), run.in<void>(0), bytes);
    if (run.out<void>(1) != nullptr) std::memset(run.out<void>(1), 1, static_cast<size_t>(count));
    return {};
  }};
}

constexpr std::array kDropoutOperators = {ReferenceRow{.op = "Dropout", .make = Dropout, .by_content = Inputs({1, 2})}};

}  // namespace

std::span<const ReferenceRow> DropoutOperators() { return kDropoutOperators; }

}  // namespace pt::reference
