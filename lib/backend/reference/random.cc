// Operators that draw at random: Bernoulli, Multinomial, RandomNormal, RandomUniform and their Like forms. ONNX leaves
// the generator open; see random_source.h for ours.
#include "partitiontuner/graph/operators/random.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/random_source.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

// count elements, each by `draw` of a RandomSource, rounded to the output's type.
template <typename Draw>
Result<ReferenceRoutine> Fill(ReferenceSite& site, DataType type, std::vector<int64_t> dims, Draw draw) {
  const std::optional<int64_t> count = CheckedProduct(dims);
  PT_CHECK_OK(site.Out(0, type, std::move(dims)));
  PT_ASSIGN(const uint32_t seed, SeedOf(site));
  return VisitType(type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if constexpr (kIsFloat<T>) {
      return ReferenceRoutine{[seed, draw, count = *count](const TensorCall& run) -> Status {
        RandomSource source(seed);
        for (int64_t i = 0; i < count; ++i) run.out<T>()[i] = ElementOf<T>(draw(source));
        return {};
      }};
    }
    return UnsupportedType(site, type);
  });
}

Result<ReferenceRoutine> Uniform(ReferenceSite& site, DataType type, std::vector<int64_t> dims) {
  const UniformRange range = ReadUniformRange(site.node);
  const double low = range.low, high = range.high;
  return Fill(site, type, std::move(dims), [=](RandomSource& source) { return low + (high - low) * source.Uniform(); });
}

Result<ReferenceRoutine> Normal(ReferenceSite& site, DataType type, std::vector<int64_t> dims) {
  const NormalMoments moments = ReadNormalMoments(site.node);
  const double mean = moments.mean, deviation = moments.deviation;
  return Fill(site, type, std::move(dims), [=](RandomSource& source) { return mean + deviation * source.Normal(); });
}

using Distribution = Result<ReferenceRoutine> (*)(ReferenceSite&, DataType, std::vector<int64_t>);

template <Distribution distribution>
Result<ReferenceRoutine> OfShape(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(0, 0));
  PT_ASSIGN(const std::optional<std::vector<int64_t>> shape, site.Ints(0, "shape"));
  if (!shape) return site.Invalid("no shape is given");
  if (!CheckedProduct(*shape)) return site.Invalid("its shape has a negative dim, or does not fit 63 bits");
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(site.node, "dtype", DataType::kFloat32), site));
  return distribution(site, type, *shape);
}

template <Distribution distribution>
Result<ReferenceRoutine> LikeInput(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(site.node, "dtype", site.in[0].type), site));
  return distribution(site, type, site.in[0].dims);
}

// 1 with the probability that the input says.
Result<ReferenceRoutine> Bernoulli(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(site.node, "dtype", site.in[0].type), site));
  PT_CHECK_OK(site.Out(0, type, site.in[0].dims));
  PT_ASSIGN(const uint32_t seed, SeedOf(site));
  if (!IsFloating(site.in[0].type)) return UnsupportedType(site, site.in[0].type);
  return VisitType(type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if constexpr (kIsNumber<T>) {
      return ReferenceRoutine{
          [seed, from = site.in[0].type, count = site.in[0].count()](const TensorCall& run) -> Status {
            RandomSource source(seed);
            for (int64_t i = 0; i < count; ++i) {
              const auto probability = LoadAs<double>(from, run.in<void>(0), i);
              if (!(probability >= 0 && probability <= 1)) {
                return MakeError(ErrorCode::kInvalidInput, "reference.probability",
                                 "Bernoulli: element " + std::to_string(i) + " is " + std::to_string(probability) +
                                     ", not a probability");
              }
              run.out<T>()[i] = ElementOf<T>(source.Uniform() < probability ? 1.0 : 0.0);
            }
            return {};
          }};
    }
    return UnsupportedType(site, type);
  });
}

// The sums of the probabilities of the first classes, not normalised; false when there is nothing to draw from.
bool SumProbabilities(DataType type, const void* logarithms, int64_t first, int64_t classes, double* sums) {
  double most = -HUGE_VAL;
  for (int64_t c = 0; c < classes; ++c) {
    const auto logarithm = LoadAs<double>(type, logarithms, first + c);
    if (!(logarithm < HUGE_VAL)) return false;  // NaN too
    most = std::max(most, logarithm);
  }
  if (most == -HUGE_VAL) return false;
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    sum += std::exp(LoadAs<double>(type, logarithms, first + c) - most);
    sums[c] = sum;
  }
  return true;
}

// Classes drawn by logarithms of probabilities, which need not be normalised.
Result<ReferenceRoutine> Multinomial(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  if (site.in[0].rank() != 2) return site.Invalid("its input does not have dims [batch, classes]");
  if (!IsFloating(site.in[0].type)) return UnsupportedType(site, site.in[0].type);
  const int64_t batch = site.in[0].dims[0], classes = site.in[0].dims[1];
  PT_ASSIGN(const int64_t samples, OrInvalid(ReadSampleCount(site.node), site));
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(site.node, "dtype", DataType::kInt32), site));
  if (!IsIndexType(type)) return site.Invalid("its dtype is neither int32 nor int64");
  PT_CHECK_OK(site.Out(0, type, {batch, samples}));
  PT_ASSIGN(const uint32_t seed, SeedOf(site));
  ReferenceRoutine routine;
  routine.scratch_bytes = static_cast<uint64_t>(classes) * sizeof(double);
  routine.run = [=, from = site.in[0].type](const TensorCall& run) -> Status {
    RandomSource source(seed);
    auto* sums = reinterpret_cast<double*>(run.scratch);
    for (int64_t b = 0; b < batch; ++b) {
      if (!SumProbabilities(from, run.in<void>(0), b * classes, classes, sums)) {
        return MakeError(ErrorCode::kInvalidInput, "reference.probability",
                         "Multinomial: row " + std::to_string(b) + " holds no logarithms of probabilities");
      }
      for (int64_t i = b * samples; i < (b + 1) * samples; ++i) {
        const double* found = std::upper_bound(sums, sums + classes - 1, source.Uniform() * sums[classes - 1]);
        if (type == DataType::kInt32) {
          run.out<int32_t>()[i] = static_cast<int32_t>(found - sums);
        } else {
          run.out<int64_t>()[i] = found - sums;
        }
      }
    }
    return {};
  };
  return routine;
}

constexpr std::array kRandomOperators = {
    ReferenceRow{.op = "Bernoulli", .make = Bernoulli},
    ReferenceRow{.op = "Multinomial", .make = Multinomial},
    ReferenceRow{.op = "RandomNormal", .make = OfShape<Normal>},
    ReferenceRow{.op = "RandomNormalLike", .make = LikeInput<Normal>},
    ReferenceRow{.op = "RandomUniform", .make = OfShape<Uniform>},
    ReferenceRow{.op = "RandomUniformLike", .make = LikeInput<Uniform>},
};

}  // namespace

std::span<const ReferenceRow> RandomOperators() { return kRandomOperators; }

}  // namespace pt::reference
