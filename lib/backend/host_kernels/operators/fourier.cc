// DFT and STFT of float32: lines, which are frames of a signal or lie along an axis, are transformed side by side, in
// double.
#include "lib/backend/host_kernels/kernels/fourier.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/signals.h"
#include "partitiontuner/graph/stft_sizes.h"

namespace pt::host {
namespace {

// Memory that one core may take for what it transforms.
constexpr int64_t kMostFourierBytes = int64_t{64} << 20;

struct FourierSide {
  int64_t step = 0, part = 0;  // between numbers of a line, and from a real part to its imaginary one
  bool is_complex = true;
};

struct FourierPlan {
  Walk<2> lines;  // offsets of their beginnings in the input and the output
  FourierSide in, out;
  int64_t n = 0, samples = 0, bins = 0;  // of the transform; of these are read and made
  bool inverse = false;
  bool mirrored = false;  // the input is half of the transform of a real signal
  bool windowed = false;  // numbers are weighted by input 2
  std::shared_ptr<const FourierTransform> transform;

  int64_t scratch_doubles() const { return 4 * n * transform->lanes(); }
};

// Exchanging real and imaginary parts before and behind a transform makes it the inverse one, but for its scale.
struct FourierParts {
  double *real, *imaginary;
};
FourierParts PartsAt(const FourierPlan& f, double* x, int64_t t) {
  const int64_t lanes = f.transform->lanes();
  double *first = x + 2 * t * lanes, *second = first + lanes;
  return f.inverse ? FourierParts{second, first} : FourierParts{first, second};
}

void ReadLines(const FourierPlan& f, const float* x, const float* window, const Walk<2>::Offsets* lines, int64_t count,
               double* to) {
  if (f.samples < f.n || count < f.transform->lanes()) std::fill_n(to, 2 * f.n * f.transform->lanes(), 0.0);
  for (int64_t t = 0; t < f.samples; ++t) {
    const FourierParts parts = PartsAt(f, to, t);
    const double weight = window != nullptr ? static_cast<double>(window[t]) : 1;
    for (int64_t i = 0; i < count; ++i) {
      const float* at = x + lines[i][0] + t * f.in.step;
      parts.real[i] = weight * static_cast<double>(at[0]);
      parts.imaginary[i] = f.in.is_complex ? weight * static_cast<double>(at[f.in.part]) : 0;
    }
  }
}

// What the lower half says of the upper one. A number that is its own mirror image is real.
void MirrorLines(const FourierPlan& f, int64_t count, double* x) {
  for (int64_t t = 0; t < f.samples; ++t) {
    const FourierParts parts = PartsAt(f, x, t);
    if (t == 0 || 2 * t == f.n) {
      std::fill_n(parts.imaginary, count, 0.0);
      continue;
    }
    const FourierParts image = PartsAt(f, x, f.n - t);
    std::copy_n(parts.real, count, image.real);
    for (int64_t i = 0; i < count; ++i) image.imaginary[i] = -parts.imaginary[i];
  }
}

void WriteLines(const FourierPlan& f, const double* x, const Walk<2>::Offsets* lines, int64_t count, float* y) {
  const int64_t lanes = f.transform->lanes();
  const double scale = f.inverse ? 1.0 / static_cast<double>(f.n) : 1;
  for (int64_t k = 0; k < f.bins; ++k) {
    const double *first = x + 2 * k * lanes, *second = first + lanes;
    const double *real = f.inverse ? second : first, *imaginary = f.inverse ? first : second;
    for (int64_t i = 0; i < count; ++i) {
      float* at = y + lines[i][1] + k * f.out.step;
      at[0] = static_cast<float>(real[i] * scale);
      if (f.out.is_complex) at[f.out.part] = static_cast<float>(imaginary[i] * scale);
    }
  }
}

void RunLines(const FourierPlan& f, const HostCall& run) {
  constexpr int64_t kMostLanes = 64;  // above what any vector holds
  const int64_t lanes = f.transform->lanes(), groups = (f.lines.count + lanes - 1) / lanes;
  const int64_t width = run.team != nullptr ? run.team->width() : 1;
  const double work = static_cast<double>(f.n * lanes) * 4;
  ParallelParts(run.team, groups, work, width, [&](int64_t part, int64_t begin, int64_t end) {
    double* x = reinterpret_cast<double*>(run.scratch) + part * f.scratch_doubles();
    double* y = x + f.scratch_doubles() / 2;
    std::array<Walk<2>::Offsets, kMostLanes> at;
    for (int64_t group = begin; group < end; ++group) {
      const int64_t count = std::min(lanes, f.lines.count - group * lanes);
      for (int64_t i = 0; i < count; ++i) at[static_cast<size_t>(i)] = f.lines.At(group * lanes + i);
      ReadLines(f, run.input<float>(0), f.windowed ? run.input<float>(2) : nullptr, at.data(), count, x);
      if (f.mirrored) MirrorLines(f, count, x);
      WriteLines(f, f.transform->Run(x, y), at.data(), count, run.output<float>(0));
    }
  });
}

// With the transform, as many lines at a time as memory allows.
Result<HostRoutine> RoutineOf(const HostSite& site, FourierPlan f) {
  constexpr auto kNumber = static_cast<int64_t>(4 * sizeof(double));  // complex, before and behind a pass
  if (f.n > kMostFourierBytes / kNumber) return site.Unsupported("it transforms more than two million numbers at once");
  const auto bytes = [&](int64_t lanes) { return kNumber * f.n * lanes; };
  const bool together = f.lines.count > 1 && bytes(FourierLanes()) <= kMostFourierBytes;
  f.transform = std::make_shared<const FourierTransform>(f.n, together ? FourierLanes() : 1);
  const uint64_t scratch = static_cast<uint64_t>(bytes(f.transform->lanes())) * site.width;
  return HostRoutine{[f](const HostCall& run) -> Status {
                       RunLines(f, run);
                       return {};
                     },
                     scratch};
}

// Real and imaginary parts lie along the last dim, which a real signal of two dims has not.
FourierSide FourierSideOf(const HostOperand& operand, size_t along, size_t parts) {
  const bool has_parts = parts < operand.dims().size();
  return {operand.strides()[along], has_parts ? operand.strides()[parts] : 0, has_parts && operand.dims()[parts] == 2};
}

Result<HostRoutine> Dft(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 3));
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (x.type() != DataType::kFloat32) return site.Unsupported("its input is not float32");
  const DftNode dft = ReadDft(site.node());
  PT_ASSIGN(const auto length, site.Ints(1, "dft_length"));
  int64_t given = dft.axis;
  if (site.graph.opset() >= 20) {
    PT_ASSIGN(const auto axes, site.Ints(2, "axis"));
    given = axes && axes->size() == 1 ? axes->front() : -2;
  }
  PT_ASSIGN(const int64_t axis, site.Axis(given, x.rank()));
  const auto along = static_cast<size_t>(axis), parts = x.dims().size() - 1;
  if (along == parts || (x.dims()[parts] != 1 && x.dims()[parts] != 2)) return site.Unsupported("its shape is wrong");
  FourierPlan f;
  f.inverse = dft.inverse;
  f.mirrored = dft.onesided && dft.inverse;
  if (dft.onesided && x.dims()[parts] != (dft.inverse ? 2 : 1))
    return site.Unsupported("its numbers are of the wrong kind");
  f.n = length && length->size() == 1 ? length->front() : f.mirrored ? 2 * (x.dims()[along] - 1) : x.dims()[along];
  if (f.n < 1) return site.Unsupported("its length is not positive");
  f.samples = std::min(f.mirrored ? f.n / 2 + 1 : f.n, x.dims()[along]);
  f.bins = BinsOf(f.n, dft.onesided && !dft.inverse);
  std::vector<int64_t> dims = x.dims();
  dims[along] = f.bins;
  dims[parts] = f.mirrored ? 1 : 2;
  PT_CHECK_OK(site.NeedOutput(0, x.type(), dims));
  for (size_t d = parts; d-- > 0;) {
    if (d != along) f.lines.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  }
  f.in = FourierSideOf(x, along, parts);
  f.out = FourierSideOf(y, along, parts);
  return RoutineOf(site, std::move(f));
}

Result<HostRoutine> Stft(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 4));
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (x.type() != DataType::kFloat32) return site.Unsupported("its signal is not float32");
  if (x.rank() != 2 && x.rank() != 3) return site.Unsupported("its signal has the wrong shape");
  PT_ASSIGN(const auto step, site.Ints(1, "frame_step"));
  PT_ASSIGN(const auto length, site.Ints(3, "frame_length"));
  FourierPlan f;
  f.windowed = site.has(2);
  if (!length && !f.windowed) return site.Unsupported("neither window nor frame_length is given");
  f.n = f.samples = length && length->size() == 1 ? length->front() : site.in[2].count();
  if (f.windowed && (site.in[2].count() != f.n || site.in[2].type() != x.type())) {
    return site.Unsupported("its window does not fit");
  }
  const int64_t hop = step && step->size() == 1 ? step->front() : 0;
  const std::optional<int64_t> frames = FramesOf(x.dims()[1], f.n, hop);
  if (!frames) return site.Unsupported("step or frame length do not fit the signal");
  f.bins = BinsOf(f.n, IsOnesidedStft(site.node()));
  PT_CHECK_OK(site.NeedOutput(0, x.type(), {x.dims()[0], *frames, f.bins, 2}));
  f.lines.Push(*frames, {hop * x.strides()[1], y.strides()[1]});
  f.lines.Push(x.dims()[0], {x.strides()[0], y.strides()[0]});
  f.in = FourierSideOf(x, 1, 2);
  f.out = FourierSideOf(y, 2, 3);
  return RoutineOf(site, std::move(f));
}

constexpr std::array kFourierOperators = {HostRow{"DFT", Dft}, HostRow{"STFT", Stft}};

}  // namespace

std::span<const HostRow> FourierOperators() { return kFourierOperators; }

}  // namespace pt::host
