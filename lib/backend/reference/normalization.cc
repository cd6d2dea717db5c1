// Normalisations: over the batch (with given statistics), layers, instances, groups, neighbouring channels.
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/broadcast.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Sums are kept in double: the oracle's error must stay below everybody's tolerance.
template <typename T>
std::pair<double, double> MeanAndVariance(const T* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  return {mean, squares / static_cast<double>(n)};
}

Status NeedChannelVectors(const ReferenceSite& site, size_t from, size_t to, int64_t channels) {
  for (size_t i = from; i < to; ++i) PT_CHECK_OK(site.NeedDims(i, "input " + std::to_string(i), {channels}));
  return {};
}

// y = (x - mean) / sqrt(var + epsilon) · scale + bias, by given statistics or in training by those of the batch.
// Statistics may be of another type than x.
struct BatchStatistics {
  std::array<DataType, 5> types;  // of the inputs
  int64_t batch = 0, channels = 0, plane = 0;
  double epsilon = 0, momentum = 0;
  bool training = false;

  double Parameter(const TensorCall& run, size_t i, int64_t c) const {
    return LoadAs<double>(types[i], run.in<void>(i), c);
  }

  // Mean and variance that channel c is normalised with.
  template <typename T>
  std::pair<double, double> Of(const TensorCall& run, int64_t c) const {
    if (!training) return {Parameter(run, 3, c), Parameter(run, 4, c)};
    const auto count = static_cast<double>(batch * plane);
    double sum = 0, squares = 0;
    const auto each = [&](auto visit) {
      for (int64_t b = 0; b < batch; ++b) {
        const T* in = run.in<T>(0) + (b * channels + c) * plane;
        for (int64_t k = 0; k < plane; ++k) visit(static_cast<double>(in[k]));
      }
    };
    each([&](double x) { sum += x; });
    const double mean = sum / count;
    each([&](double x) { squares += (x - mean) * (x - mean); });
    return {mean, squares / count};
  }

  // Writes what later runs are to use, when somebody asked for it.
  void Keep(const TensorCall& run, int64_t c, double mean, double variance) const {
    const auto keep = [&](size_t output, size_t input, double now) {
      void* const to = run.out<void>(output);
      const double kept = Parameter(run, input, c) * momentum + now * (1 - momentum);
      if (to != nullptr && types[input] == DataType::kFloat32) static_cast<float*>(to)[c] = static_cast<float>(kept);
      if (to != nullptr && types[input] == DataType::kFloat64) static_cast<double*>(to)[c] = kept;
    };
    keep(1, 3, mean);
    keep(2, 4, variance);
  }
};

Result<BatchStatistics> StatisticsOf(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(5, 5));
  const std::vector<int64_t>& dims = site.in[0].dims;
  if (dims.empty()) return site.Invalid("its input is a scalar");
  BatchStatistics s;
  s.batch = dims[0];
  s.channels = dims.size() > 1 ? dims[1] : 1;
  s.plane = s.batch * s.channels == 0 ? 0 : site.in[0].count() / (s.batch * s.channels);
  PT_CHECK_OK(NeedChannelVectors(site, 1, 5, s.channels));
  for (size_t i = 0; i < 5; ++i) {
    s.types[i] = site.in[i].type;
    PT_CHECK_OK(NeedLoadable(site, i));
  }
  const BatchNormalizationNode node = ReadBatchNormalization(site.node);
  s.epsilon = node.epsilon;
  s.momentum = node.momentum;
  s.training = node.training;
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  const size_t outputs = s.training ? 3 : 1;
  for (size_t i = 1; i < site.out.size(); ++i) {
    if (i >= outputs && site.wants(i))
      return site.Unsupported("is supported with " + std::to_string(outputs) + " outputs at most in this mode");
    if (i >= outputs || !site.wants(i)) continue;
    if (!IsFloating(s.types[i + 2])) return UnsupportedType(site, s.types[i + 2]);
    PT_CHECK_OK(site.Out(i, s.types[i + 2], {s.channels}));
  }
  return s;
}

Result<ReferenceRoutine> BatchNormalization(ReferenceSite& site) {
  PT_ASSIGN(const BatchStatistics s, StatisticsOf(site));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[s](const TensorCall& run) -> Status {
      const double work = static_cast<double>(s.batch * s.plane) * (s.training ? 2 : 0.5) + 5;
      ParallelRanges(run.team, s.channels, work, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const auto [mean, variance] = s.template Of<T>(run, c);
          if (s.training) s.Keep(run, c, mean, variance);
          const double factor = s.Parameter(run, 1, c) / std::sqrt(variance + s.epsilon);
          const T scale = static_cast<T>(factor), shift = static_cast<T>(s.Parameter(run, 2, c) - mean * factor);
          for (int64_t b = 0; b < s.batch && run.out<T>() != nullptr; ++b) {
            const int64_t at = (b * s.channels + c) * s.plane;
            for (int64_t k = 0; k < s.plane; ++k) run.out<T>()[at + k] = run.in<T>(0)[at + k] * scale + shift;
          }
        }
      });
      return {};
    }};
  });
}

// Scale or bias: what broadcasts to the whole input, one row at a time.
struct RowParameter {
  Broadcast<1> within;
  std::vector<int64_t> dims, strides;  // of the dims before the rows

  int64_t OffsetOf(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = dims.size(); d-- > 0; row /= dims[d]) offset += row % dims[d] * strides[d];
    return offset;
  }
};

RowParameter MakeRowParameter(const std::vector<int64_t>& operand, const std::vector<int64_t>& dims, int64_t axis) {
  std::vector<int64_t> aligned(dims.size() - operand.size(), 1);
  aligned.insert(aligned.end(), operand.begin(), operand.end());
  RowParameter parameter;
  parameter.within = MakeBroadcast<1>({std::vector<int64_t>(aligned.begin() + axis, aligned.end())},
                                      std::vector<int64_t>(dims.begin() + axis, dims.end()));
  parameter.dims.assign(dims.begin(), dims.begin() + axis);
  parameter.strides.assign(static_cast<size_t>(axis), 0);
  int64_t stride = 1;
  for (size_t d = aligned.size(); d-- > 0; stride *= aligned[d]) {
    if (d < static_cast<size_t>(axis) && aligned[d] != 1) parameter.strides[d] = stride;
  }
  return parameter;
}

// Rows from `axis` on; scale and bias broadcast to the input. RMS leaves the mean in.
template <bool centred>
Result<ReferenceRoutine> RowNormalization(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, centred ? 3 : 2));
  const std::vector<int64_t>& dims = site.in[0].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  const std::vector<int64_t> row_dims(dims.begin() + axis, dims.end());
  std::vector<int64_t> statistics(dims.begin(), dims.begin() + axis);
  int64_t rows = 1, row = 1;
  for (int64_t d : statistics) rows *= d;
  for (int64_t d : row_dims) row *= d;
  statistics.resize(dims.size(), 1);
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  for (size_t i = 1; i < site.out.size(); ++i) PT_CHECK_OK(site.Out(i, DataType::kFloat32, statistics));
  for (size_t i = 1; i < site.in.size(); ++i) {
    if (!site.has(i)) continue;
    if (site.in[i].type != site.in[0].type) return site.Unsupported("is not supported with inputs of different types");
    const std::array<TensorFacts, 2> pair = {TensorFacts{site.in[0].type, dims, {}, true}, site.in[i]};
    PT_ASSIGN(const std::vector<int64_t> together, BroadcastDims(site, pair));
    if (together != dims) return site.Invalid("scale or bias do not broadcast to its input");
  }
  const RowParameter scales = MakeRowParameter(site.in[1].dims, dims, axis);
  const RowParameter biases = MakeRowParameter(site.has(2) ? site.in[2].dims : std::vector<int64_t>{}, dims, axis);
  const double epsilon = ReadEpsilon(site.node);
  const bool wants_mean = centred && site.out.size() > 1, wants_inverse = centred && site.out.size() > 2;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      ParallelRanges(run.team, rows, static_cast<double>(row) * 3, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T* in = run.in<T>(0) + r * row;
          T* out = run.out<T>() + r * row;
          double mean = 0, spread = 0;
          if constexpr (centred) {
            std::tie(mean, spread) = MeanAndVariance(in, row);
          } else {
            for (int64_t i = 0; i < row; ++i) spread += static_cast<double>(in[i]) * static_cast<double>(in[i]);
            spread /= static_cast<double>(row);
          }
          const double inverse = 1 / std::sqrt(spread + epsilon);
          const T* const scale = run.in<T>(1) + scales.OffsetOf(r);
          scales.within.ForEachRow(nullptr, 0, [&](int64_t at, const auto& from, const auto& steps, int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
              out[at + i] =
                  static_cast<T>((static_cast<double>(in[at + i]) - mean) * inverse) * scale[from[0] + i * steps[0]];
            }
          });
          if (run.in<T>(2) != nullptr) {
            const T* const bias = run.in<T>(2) + biases.OffsetOf(r);
            biases.within.ForEachRow(nullptr, 0, [&](int64_t at, const auto& from, const auto& steps, int64_t n) {
              for (int64_t i = 0; i < n; ++i) out[at + i] += bias[from[0] + i * steps[0]];
            });
          }
          if (wants_mean && run.out<float>(1) != nullptr) run.out<float>(1)[r] = static_cast<float>(mean);
          if (wants_inverse && run.out<float>(2) != nullptr) run.out<float>(2)[r] = static_cast<float>(inverse);
        }
      });
      return {};
    }};
  });
}

// Groups of channels of each batch entry; scale and bias per channel (per group before opset 21).
Result<ReferenceRoutine> ByGroups(ReferenceSite& site, int64_t groups) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const std::vector<int64_t>& dims = site.in[0].dims;
  if (dims.size() < 2) return site.Invalid("its input has no channels");
  const int64_t channels = dims[1];
  if (groups < 1 || channels % groups != 0)
    return site.Invalid(std::to_string(groups) + " groups do not divide " + std::to_string(channels) + " channels");
  const int64_t parameters = site.in[1].count();
  PT_CHECK_OK(NeedChannelVectors(site, 1, 3, parameters == groups ? groups : channels));
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  const int64_t plane = dims[0] * channels == 0 ? 0 : site.in[0].count() / (dims[0] * channels);
  const int64_t per_group = channels / groups;
  const double epsilon = ReadEpsilon(site.node);
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, batch = dims[0]](const TensorCall& run) -> Status {
      const int64_t n = per_group * plane;
      ParallelRanges(run.team, batch * groups, static_cast<double>(n) * 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto [mean, variance] = MeanAndVariance(run.in<T>(0) + i * n, n);
          const double inverse = 1 / std::sqrt(variance + epsilon);
          for (int64_t c = 0; c < per_group; ++c) {
            const int64_t channel = i % groups * per_group + c;
            const int64_t p = parameters == channels ? channel : i % groups;
            const double factor = inverse * static_cast<double>(run.in<T>(1)[p]);
            const double shift = static_cast<double>(run.in<T>(2)[p]) - mean * factor;
            const T* in = run.in<T>(0) + i * n + c * plane;
            T* out = run.out<T>() + i * n + c * plane;
            for (int64_t k = 0; k < plane; ++k) out[k] = static_cast<T>(static_cast<double>(in[k]) * factor + shift);
          }
        }
      });
      return {};
    }};
  });
}

Result<ReferenceRoutine> InstanceNormalization(ReferenceSite& site) {
  return ByGroups(site, site.has(0) && site.in[0].rank() > 1 ? std::max<int64_t>(1, site.in[0].dims[1]) : 1);
}
Result<ReferenceRoutine> GroupNormalization(ReferenceSite& site) { return ByGroups(site, ReadGroups(site.node)); }

// Across `size` neighbouring channels at each position.
Result<ReferenceRoutine> Lrn(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& dims = site.in[0].dims;
  if (dims.size() < 2) return site.Invalid("its input has no channels");
  PT_ASSIGN(const LrnNode lrn, OrInvalid(ReadLrn(site.node), site));
  const int64_t size = lrn.size;
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  const double alpha = lrn.alpha, beta = lrn.beta, bias = lrn.bias;
  const int64_t channels = dims[1], plane = dims[0] * channels == 0 ? 0 : site.in[0].count() / (dims[0] * channels);
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, batch = dims[0]](const TensorCall& run) -> Status {
      const T share = static_cast<T>(alpha / static_cast<double>(size)), start = static_cast<T>(bias),
              power = static_cast<T>(-beta);
      ParallelRanges(
          run.team, batch * channels, static_cast<double>(plane * (20 + size)), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t c = i % channels;
              const int64_t low = std::max<int64_t>(0, c - (size - 1) / 2), high = std::min(channels - 1, c + size / 2);
              const T* in = run.in<T>(0) + i * plane;
              T* out = run.out<T>() + i * plane;
              for (int64_t k = 0; k < plane; ++k) {
                T squares = 0;
                for (int64_t d = low - c; d <= high - c; ++d) squares += in[k + d * plane] * in[k + d * plane];
                out[k] = in[k] * std::pow(start + share * squares, power);
              }
            }
          });
      return {};
    }};
  });
}

// Each vector along `axis` divided by its p-norm.
Result<ReferenceRoutine> LpNormalization(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& dims = site.in[0].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  PT_ASSIGN(const int64_t p, OrInvalid(ReadLpOrder(site.node), site));
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  const int64_t n = dims[static_cast<size_t>(axis)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < dims.size(); ++d) inner *= dims[d];
  const int64_t vectors = n == 0 ? 0 : site.in[0].count() / n;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      for (int64_t i = 0; i < vectors; ++i) {
        const int64_t at = i / inner * inner * n + i % inner;
        const T* in = run.in<T>(0) + at;
        T* out = run.out<T>() + at;
        double norm = 0;
        for (int64_t k = 0; k < n; ++k) {
          const auto x = static_cast<double>(in[k * inner]);
          norm += p == 1 ? std::fabs(x) : x * x;
        }
        if (p == 2) norm = std::sqrt(norm);
        if (norm == 0) norm = 1;  // a vector of zeros stays one
        for (int64_t k = 0; k < n; ++k) out[k * inner] = static_cast<T>(static_cast<double>(in[k * inner]) / norm);
      }
      return {};
    }};
  });
}

// (x - mean) / deviation over `axes`.
Result<ReferenceRoutine> MeanVarianceNormalization(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& dims = site.in[0].dims;
  std::vector<int64_t> statistics = dims;
  PT_ASSIGN(const std::vector<size_t> axes, OrInvalid(ReadAxes(site.node, dims.size()), site));
  for (const size_t axis : axes) statistics[axis] = 1;
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  const auto walk = MakeBroadcast<1>({statistics}, dims);
  int64_t sets = 1;
  for (int64_t d : statistics) sets *= d;
  const int64_t each = sets == 0 ? 0 : site.in[0].count() / sets;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    ReferenceRoutine routine;
    routine.scratch_bytes = static_cast<uint64_t>(2 * sets) * sizeof(double);
    routine.run = [=](const TensorCall& run) -> Status {
      auto* mean = reinterpret_cast<double*>(run.scratch);
      double* square = mean + sets;
      std::fill(mean, mean + 2 * sets, 0.0);
      const T* in = run.in<T>(0);
      const auto n = static_cast<double>(each);
      walk.ForEachRow(nullptr, 0, [&](int64_t at, const auto& set, const auto& steps, int64_t count) {
        for (int64_t i = 0; i < count; ++i) mean[set[0] + i * steps[0]] += static_cast<double>(in[at + i]) / n;
      });
      walk.ForEachRow(nullptr, 0, [&](int64_t at, const auto& set, const auto& steps, int64_t count) {
        for (int64_t i = 0; i < count; ++i)
          square[set[0] + i * steps[0]] += static_cast<double>(in[at + i]) * static_cast<double>(in[at + i]) / n;
      });
      walk.ForEachRow(nullptr, 0, [&](int64_t at, const auto& set, const auto& steps, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t s = set[0] + i * steps[0];
          const double deviation = std::sqrt(std::fmax(0, square[s] - mean[s] * mean[s])) + 1e-9;
          run.out<T>()[at + i] = static_cast<T>((static_cast<double>(in[at + i]) - mean[s]) / deviation);
        }
      });
      return {};
    };
    return routine;
  });
}

constexpr std::array kNormalizationOperators = {
    ReferenceRow{.op = "BatchNormalization",
                 .make = BatchNormalization,
                 .feeding = Feeding::kWidened,
                 .since = 7,
                 .in_place = true},
    ReferenceRow{.op = "GroupNormalization", .make = GroupNormalization, .feeding = Feeding::kWidened},
    ReferenceRow{
        .op = "InstanceNormalization", .make = InstanceNormalization, .feeding = Feeding::kWidened, .since = 6},
    ReferenceRow{.op = "LRN", .make = Lrn, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "LayerNormalization", .make = RowNormalization<true>, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "LpNormalization", .make = LpNormalization, .feeding = Feeding::kWidened},
    ReferenceRow{
        .op = "MeanVarianceNormalization", .make = MeanVarianceNormalization, .feeding = Feeding::kWidened, .since = 9},
    ReferenceRow{.op = "RMSNormalization", .make = RowNormalization<false>, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> NormalizationOperators() { return kNormalizationOperators; }

}  // namespace pt::reference
