// Fourier transforms, by their definition, and the filters of mel spectra.
#include <array>
#include <cmath>
#include <numbers>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/signals.h"
#include "partitiontuner/graph/stft_sizes.h"

namespace pt::reference {
namespace {

// DFT along one axis of [..., n, ..., 1 or 2]; the last dim holds real and imaginary part. Of a real signal's transform
// the upper half mirrors the lower: onesided leaves it out, or takes it as left out when inverse.
Result<ReferenceRoutine> Dft(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 3));
  const std::vector<int64_t>& in = site.in[0].dims;
  const int64_t rank = site.in[0].rank();
  if (in.size() < 2 || (in.back() != 1 && in.back() != 2))
    return site.Invalid("its input's last dim holds no complex numbers");
  const DftNode node = ReadDft(site.node);
  const bool onesided = node.onesided, inverse = node.inverse;
  if (onesided && in.back() != (inverse ? 2 : 1))
    return site.Invalid(inverse ? "a one-sided inverse takes complex numbers" : "a one-sided transform takes reals");
  const bool by_attribute = site.opset < 20;
  PT_ASSIGN(const std::optional<double> length_input, site.Scalar(1));
  PT_ASSIGN(const std::optional<double> axis_input,
            by_attribute ? Result<std::optional<double>>(std::optional<double>()) : site.Scalar(2));
  const int64_t given = by_attribute ? node.axis : static_cast<int64_t>(axis_input.value_or(-2));
  PT_ASSIGN(const int64_t axis, site.Axis(given, rank));
  if (axis == rank - 1) return site.Invalid("the transform runs along the complex dim");
  const auto at = static_cast<size_t>(axis);
  const bool to_real = onesided && inverse;
  const int64_t n = length_input ? static_cast<int64_t>(*length_input) : to_real ? 2 * (in[at] - 1) : in[at];
  if (n < 1 || n > (int64_t{1} << 24)) return site.Invalid("the length " + std::to_string(n) + " is out of range");
  std::vector<int64_t> out = in;
  out[at] = onesided && !inverse ? n / 2 + 1 : n;
  out.back() = to_real ? 1 : 2;
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d + 1 < in.size(); ++d) (d < at ? outer : inner) *= d == at ? 1 : in[d];
  const int64_t samples = std::min(to_real ? n / 2 + 1 : n, in[at]), held = in[at], parts = in.back(), bins = out[at];
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      ParallelRanges(
          run.team, outer * inner * bins, static_cast<double>(samples) * 20, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t o = i / inner / bins, k = i / inner % bins, rest = i % inner;
              double real = 0, imaginary = 0;
              for (int64_t t = 0; t < samples; ++t) {
                const T* x = run.in<T>(0) + ((o * held + t) * inner + rest) * parts;
                // The angle's fraction of a turn is kept exact.
                const double turn = 2 * std::numbers::pi * static_cast<double>((k * t) % n) / static_cast<double>(n);
                const double c = std::cos(turn), s = inverse ? std::sin(turn) : -std::sin(turn);
                const auto a = static_cast<double>(x[0]);
                const double b = parts == 2 ? static_cast<double>(x[1]) : 0;
                if (!to_real) {
                  real += a * c - b * s;
                  imaginary += a * s + b * c;
                } else if (t == 0 || 2 * t == n) {
                  real += a * c;  // its own mirror image, so real in the transform of real numbers
                } else {
                  real += 2 * (a * c - b * s);
                }
              }
              const double scale = inverse ? 1.0 / static_cast<double>(n) : 1;
              T* y = run.out<T>() + (to_real ? i : 2 * i);
              y[0] = static_cast<T>(real * scale);
              if (!to_real) y[1] = static_cast<T>(imaginary * scale);
            }
          });
      return {};
    }};
  });
}

// Windowed transforms of frames of a signal [batch, length, 1 or 2].
Result<ReferenceRoutine> Stft(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 4));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.size() < 2 || in.size() > 3 || (in.size() == 3 && in[2] != 1 && in[2] != 2))
    return site.Invalid("its signal has the wrong shape");
  PT_ASSIGN(const std::optional<double> step_input, site.Scalar(1));
  PT_ASSIGN(const std::optional<double> length_input, site.Scalar(3));
  if (!length_input && !site.has(2)) return site.Invalid("neither window nor frame_length is given");
  const int64_t step = static_cast<int64_t>(*step_input);
  const int64_t n = length_input ? static_cast<int64_t>(*length_input) : site.in[2].count();
  const std::optional<int64_t> fitting = FramesOf(in[1], n, step);
  if (!fitting || (site.has(2) && (site.in[2].count() != n || site.in[2].type != site.in[0].type)))
    return site.Invalid("step, frame length or window do not fit the signal");
  const int64_t parts = in.size() == 3 ? in[2] : 1, frames = *fitting;
  const int64_t bins = BinsOf(n, IsOnesidedStft(site.node));
  PT_CHECK_OK(site.Out(0, site.in[0].type, {in[0], frames, bins, 2}));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, batch = in[0], length = in[1]](const TensorCall& run) -> Status {
      ParallelRanges(run.team, batch * frames * bins, static_cast<double>(n) * 20, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t k = i % bins, frame = i / bins % frames, b = i / bins / frames;
          double real = 0, imaginary = 0;
          for (int64_t t = 0; t < n; ++t) {
            const T* x = run.in<T>(0) + (b * length + frame * step + t) * parts;
            const double weight = run.in<T>(2) != nullptr ? static_cast<double>(run.in<T>(2)[t]) : 1;
            const double turn = -2 * std::numbers::pi * static_cast<double>((k * t) % n) / static_cast<double>(n);
            const double a = weight * static_cast<double>(x[0]),
                         c = parts == 2 ? weight * static_cast<double>(x[1]) : 0;
            real += a * std::cos(turn) - c * std::sin(turn);
            imaginary += a * std::sin(turn) + c * std::cos(turn);
          }
          run.out<T>()[2 * i] = static_cast<T>(real);
          run.out<T>()[2 * i + 1] = static_cast<T>(imaginary);
        }
      });
      return {};
    }};
  });
}

// The filters of MelWeightMatrix: triangles from `edges[i]` over `edges[i + 1]` to `edges[i + 2]`, in bins.
struct MelFilters {
  int64_t spectrum_bins = 0, mel_bins = 0;
  std::vector<int64_t> edges;

  double At(int64_t bin, int64_t mel) const {
    const auto at = static_cast<size_t>(mel);
    const int64_t left = edges[at], centre = edges[at + 1], right = edges[at + 2];
    if (bin == centre) return 1;
    if (bin > left && bin < centre) return static_cast<double>(bin - left) / static_cast<double>(centre - left);
    if (bin > centre && bin < right) return static_cast<double>(right - bin) / static_cast<double>(right - centre);
    return 0;
  }
};

double MelOfHertz(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double HertzOfMel(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

// The five scalars of the node, checked on their own.
Result<std::array<double, 5>> ReadMelScalars(const ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(5, 5));
  std::array<double, 5> given{};
  for (size_t i = 0; i < given.size(); ++i) {
    if (site.in[i].count() != 1) return site.Invalid("input " + std::to_string(i) + " is not one number");
    PT_ASSIGN(const std::optional<double> scalar, site.Scalar(i));
    given[i] = *scalar;
  }
  const auto [mel_bins, length, rate, low, high] = given;
  if (!(mel_bins >= 0 && mel_bins < 0x1p31)) return site.Invalid("num_mel_bins is out of range");
  if (!(length >= 1 && length < 0x1p31)) return site.Invalid("dft_length is out of range");
  if (!(rate >= 1)) return site.Invalid("sample_rate is not positive");
  if (!(low >= 0 && low <= high && high < HUGE_VAL))
    return site.Invalid("its edges are not an interval of frequencies");
  return given;
}

// Edges are equally spaced in mel; each is cut to a bin of the spectrum.
std::vector<int64_t> MelEdges(const std::array<double, 5>& scalars) {
  const auto [mel_bins, length, rate, low, high] = scalars;
  const double first = MelOfHertz(low), step = (MelOfHertz(high) - first) / (mel_bins + 2);
  std::vector<int64_t> edges;
  for (double i = 0; i < mel_bins + 2; ++i) {
    const double bin = std::floor((length + 1) * HertzOfMel(first + i * step) / rate);
    edges.push_back(static_cast<int64_t>(std::min(bin, 0x1p62)));
  }
  return edges;
}

Result<ReferenceRoutine> MelWeightMatrix(ReferenceSite& site) {
  PT_ASSIGN(const auto scalars, ReadMelScalars(site));
  PT_ASSIGN(const DataType type, OrInvalid(ReadNamedType(site.node, "output_datatype", DataType::kFloat32), site));
  MelFilters filters{static_cast<int64_t>(scalars[1]) / 2 + 1, static_cast<int64_t>(scalars[0]), {}};
  PT_CHECK_OK(site.Out(0, type, {filters.spectrum_bins, filters.mel_bins}));
  filters.edges = MelEdges(scalars);
  if (filters.mel_bins > 0 && (filters.edges.back() > filters.spectrum_bins ||
                               filters.edges[filters.edges.size() - 2] >= filters.spectrum_bins)) {
    return site.Invalid("the upper edge lies beyond the spectrum of " + std::to_string(filters.spectrum_bins) +
                        " bins");
  }
  return VisitType(type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if constexpr (kIsNumber<T>) {
      return ReferenceRoutine{[filters = std::move(filters)](const TensorCall& run) -> Status {
        T* to = run.out<T>();
        for (int64_t bin = 0; bin < filters.spectrum_bins; ++bin) {
          for (int64_t mel = 0; mel < filters.mel_bins; ++mel) *to++ = ElementOf<T>(filters.At(bin, mel));
        }
        return {};
      }};
    }
    return UnsupportedType(site, type);
  });
}

constexpr std::array kSignalOperators = {
    ReferenceRow{.op = "DFT", .make = Dft, .feeding = Feeding::kWidened, .by_content = Inputs({1, 2})},
    ReferenceRow{.op = "MelWeightMatrix", .make = MelWeightMatrix, .by_content = Inputs({0, 1, 2, 3, 4})},
    ReferenceRow{.op = "STFT", .make = Stft, .feeding = Feeding::kWidened, .by_content = Inputs({1, 3})},
};

}  // namespace

std::span<const ReferenceRow> SignalOperators() { return kSignalOperators; }

}  // namespace pt::reference
