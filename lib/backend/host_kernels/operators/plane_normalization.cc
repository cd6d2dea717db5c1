// Group and instance normalisation of float32: planes that are contiguous and follow each other, and images whose
// channels lie side by side, all of them or in blocks.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/channel_moments.h"
#include "lib/backend/host_kernels/kernels/rows.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

// What a node normalises: channels of each batch entry, some at a time, with scale and bias of each channel.
struct ChannelGroups {
  int64_t entries = 0, channels = 0;
  int64_t together = 1;  // channels of a group
  int64_t plane = 0;     // elements of a channel
  float epsilon = 0;

  int64_t groups() const { return channels / together; }
};

// ---- planes that follow each other

struct Planes {
  ChannelGroups groups;
  int64_t x_entry = 0, y_entry = 0;  // strides
  RowFunction moments = nullptr, centre = nullptr;
};

void NormalizeGroup(const Planes& p, const float* x, float* y, const float* scale, const float* bias) {
  const ChannelGroups& g = p.groups;
  RowMoments moments;
  p.moments({.x = x, .n = g.together * g.plane, .epsilon = g.epsilon, .moments = &moments});
  for (int64_t c = 0; c < g.together; ++c) {
    p.centre({.x = x + c * g.plane,
              .y = y + c * g.plane,
              .n = g.plane,
              .scale = scale + c,
              .bias = bias + c,
              .one_scale = true,
              .moments = &moments});
  }
}

void RunPlanes(const Planes& p, const HostCall& run) {
  const ChannelGroups& g = p.groups;
  const int64_t elements = g.together * g.plane;
  if (elements == 0) return;
  const auto *x = run.input<float>(0), *scale = run.input<float>(1), *bias = run.input<float>(2);
  auto* y = run.output<float>(0);
  ParallelRanges(
      run.team, g.entries * g.groups(), static_cast<double>(elements) * 0.4 + 20, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t entry = i / g.groups(), first = i % g.groups() * g.together, from = first * g.plane;
          NormalizeGroup(p, x + entry * p.x_entry + from, y + entry * p.y_entry + from, scale + first, bias + first);
        }
      });
}

// ---- channels side by side

constexpr int64_t kMostShares = 16;       // of an image: fixed, so that sums do not depend on the number of cores
constexpr int64_t kShareElements = 8192;  // fewer are not a share of their own
constexpr int64_t kPixelsTogether = 64;   // they stay in the cache from vector to vector of channels

// Channels are in stripes, each with channels side by side.
struct Stripes {
  ChannelGroups groups;
  Walk<2> pixels;                      // of one batch entry: offsets in the input and the output
  int64_t x_entry = 0, y_entry = 0;    // strides
  int64_t channels = 0;                // of a stripe
  int64_t x_stripe = 0, y_stripe = 0;  // strides
  int64_t shares = 1;                  // of a stripe's pixels

  int64_t count() const { return groups.channels / channels; }
  int64_t items() const { return groups.entries * count() * shares; }
  int64_t values() const { return groups.entries * groups.channels; }  // of something that each channel has
  int64_t sums() const { return (channels + kSumRoom - 1) / kSumRoom * kSumRoom; }  // of an item
  uint64_t sum_bytes() const { return AlignUp(static_cast<uint64_t>(items() * sums()) * sizeof(double)); }
  uint64_t value_bytes() const { return AlignUp(static_cast<uint64_t>(values()) * sizeof(float)); }
  uint64_t scratch_bytes() const { return 2 * sum_bytes() + 4 * value_bytes(); }
};

// Of each share of a stripe its sums, and of each channel what its elements are scaled by.
struct StripeScratch {
  double *sums, *squares;
  float *pivots, *means, *factors, *biases;

  StripeScratch(const Stripes& s, std::byte* at) {
    sums = reinterpret_cast<double*>(at);
    squares = reinterpret_cast<double*>(at + s.sum_bytes());
    auto* value = reinterpret_cast<float*>(at + 2 * s.sum_bytes());
    const auto step = static_cast<ptrdiff_t>(s.value_bytes() / sizeof(float));
    pivots = value;
    means = value + step;
    factors = value + 2 * step;
    biases = value + 3 * step;
  }
};

// A share of one stripe of one image.
struct StripeItem {
  int64_t entry, stripe, begin, end;  // pixels

  StripeItem(const Stripes& s, int64_t item) : entry(item / s.shares / s.count()), stripe(item / s.shares % s.count()) {
    std::tie(begin, end) = EvenShare(s.groups.plane, item % s.shares, s.shares);
  }
  int64_t channel(const Stripes& s) const { return entry * s.groups.channels + stripe * s.channels; }
};

// f(run, offset in the input, offset in the output) for pixels at one distance, some at a time.
template <typename F>
void ForRuns(const Stripes& s, const StripeItem& item, F&& f) {
  const int64_t inner = s.pixels.inner_size();
  const Walk<2>::Offsets step = s.pixels.inner_stride();
  for (int64_t p = item.begin; p < item.end;) {
    const int64_t pixels = std::min({kPixelsTogether, item.end - p, inner - p % inner});
    const Walk<2>::Offsets at = s.pixels.At(p);
    f(PixelRun{pixels, s.channels, step[0], step[1]}, item.entry * s.x_entry + item.stripe * s.x_stripe + at[0],
      item.entry * s.y_entry + item.stripe * s.y_stripe + at[1]);
    p += pixels;
  }
}

// Around the first pixel, so that of the digits of double only those of the count cancel out.
void SumStripe(const Stripes& s, const StripeItem& item, const float* x, const float* pivots, double* sums,
               double* squares) {
  std::fill_n(sums, s.sums(), 0.0);
  std::fill_n(squares, s.sums(), 0.0);
  ForRuns(s, item, [&](const PixelRun& run, int64_t from, int64_t) {
    AddDistances({run, x + from, pivots, sums, squares});
  });
}

struct ChannelMoments {
  double mean = 0, squares = 0;  // the latter: of the distances from the mean
};

ChannelMoments ChannelMomentsOf(const Stripes& s, const StripeScratch& scratch, int64_t entry, int64_t channel) {
  const int64_t stripe = channel / s.channels, first = (entry * s.count() + stripe) * s.shares * s.sums();
  double sum = 0, squares = 0;
  for (int64_t share = 0; share < s.shares; ++share) {
    const int64_t at = first + share * s.sums() + channel % s.channels;
    sum += scratch.sums[at];
    squares += scratch.squares[at];
  }
  const auto n = static_cast<double>(s.groups.plane);
  const auto pivot = static_cast<double>(scratch.pivots[entry * s.groups.channels + channel]);
  return {pivot + sum / n, squares - sum * sum / n};
}

// What the channels of a group are scaled by.
void ScaleGroup(const Stripes& s, const StripeScratch& scratch, int64_t entry, int64_t first, const float* scale,
                const float* bias) {
  const auto n = static_cast<double>(s.groups.plane), together = static_cast<double>(s.groups.together);
  double mean = 0, squares = 0;
  for (int64_t c = 0; c < s.groups.together; ++c)
    mean += ChannelMomentsOf(s, scratch, entry, first + c).mean / together;
  for (int64_t c = 0; c < s.groups.together; ++c) {
    const ChannelMoments channel = ChannelMomentsOf(s, scratch, entry, first + c);
    squares += channel.squares + n * (channel.mean - mean) * (channel.mean - mean);
  }
  const double variance = (squares < 0 ? 0 : squares) / (n * together);
  const double inverse = 1 / std::sqrt(variance + static_cast<double>(s.groups.epsilon));
  const auto rounded = static_cast<float>(mean);
  for (int64_t c = first; c < first + s.groups.together; ++c) {
    const int64_t at = entry * s.groups.channels + c;
    const double factor = inverse * static_cast<double>(scale[c]);
    scratch.means[at] = rounded;
    scratch.factors[at] = static_cast<float>(factor);
    scratch.biases[at] =
        static_cast<float>(static_cast<double>(bias[c]) - (mean - static_cast<double>(rounded)) * factor);
  }
}

// The first pixel of each channel.
void TakePivots(const Stripes& s, const float* x, float* pivots) {
  for (int64_t stripe = 0; stripe < s.groups.entries * s.count(); ++stripe) {
    const float* from = x + stripe / s.count() * s.x_entry + stripe % s.count() * s.x_stripe;
    std::copy_n(from, s.channels, pivots + stripe * s.channels);
  }
}

void RunStripes(const Stripes& s, const HostCall& run) {
  const StripeScratch scratch(s, run.scratch);
  const auto* x = run.input<float>(0);
  auto* y = run.output<float>(0);
  const double work = static_cast<double>(s.groups.plane / s.shares * s.channels) * 0.2 + 20;
  TakePivots(s, x, scratch.pivots);
  ParallelRanges(run.team, s.items(), work, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const StripeItem item(s, i);
      SumStripe(s, item, x, scratch.pivots + item.channel(s), scratch.sums + i * s.sums(),
                scratch.squares + i * s.sums());
    }
  });
  for (int64_t i = 0; i < s.groups.entries * s.groups.groups(); ++i) {
    ScaleGroup(s, scratch, i / s.groups.groups(), i % s.groups.groups() * s.groups.together, run.input<float>(1),
               run.input<float>(2));
  }
  ParallelRanges(run.team, s.items(), work, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const StripeItem item(s, i);
      const int64_t channel = item.channel(s);
      ForRuns(s, item, [&](const PixelRun& pixels, int64_t from, int64_t to) {
        CentreChannels(
            {pixels, x + from, y + to, scratch.means + channel, scratch.factors + channel, scratch.biases + channel});
      });
    }
  });
}

// ---- what a node says

Status NeedChannels(const HostSite& site, size_t i, int64_t channels) {
  const HostOperand& operand = site.in[i];
  const bool fits = operand.dims() == std::vector<int64_t>{channels} && (channels < 2 || operand.strides()[0] == 1);
  if (operand.type() == DataType::kFloat32 && fits) return {};
  return site.Unsupported("scale or bias are not contiguous float32, one number a channel");
}

Result<ChannelGroups> ReadChannelGroups(const HostSite& site, int64_t count) {
  const HostOperand &x = site.in[0], &y = site.out[0];
  if (x.type() != DataType::kFloat32 || y.type() != DataType::kFloat32) return site.Unsupported("it is not of float32");
  PT_CHECK_OK(site.NeedOutput(0, DataType::kFloat32, x.dims()));
  if (x.rank() < 3) return site.Unsupported("its input is not of planes");
  if (!HasFloat32Statistics(site.node())) return site.Unsupported("its statistics are not float32");
  ChannelGroups groups;
  groups.entries = x.dims()[0];
  groups.channels = x.dims()[1];
  if (count < 1 || groups.channels % count != 0) return site.Unsupported("its groups do not divide the channels");
  groups.together = groups.channels / count;
  groups.plane = x.count() == 0 ? 0 : x.count() / groups.entries / groups.channels;
  groups.epsilon = ReadEpsilon(site.node());
  for (size_t i = 1; i < 3; ++i) PT_CHECK_OK(NeedChannels(site, i, groups.channels));
  return groups;
}

// kUnsupported where not all elements of an entry are contiguous.
Result<HostRoutine> PlanesRoutine(const HostSite& site, const ChannelGroups& groups) {
  const HostOperand &x = site.in[0], &y = site.out[0];
  Walk<2> entry;
  for (size_t d = x.dims().size(); d-- > 1;) entry.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  if (!entry.is_contiguous()) return site.Unsupported("its planes are not contiguous");
  const Planes planes{groups, x.strides()[0], y.strides()[0], FindRowFunction(RowKind::kMoments),
                      FindRowFunction(RowKind::kCentre)};
  HostRoutine routine;
  routine.in_place = {0};
  routine.run = [planes](const HostCall& run) -> Status {
    RunPlanes(planes, run);
    return {};
  };
  return routine;
}

HostRoutine StripesRoutine(const HostSite& site, const ChannelGroups& groups) {
  const HostOperand &x = site.in[0], &y = site.out[0];
  const auto& blocks = x.layout.layout.blocks;
  Stripes s;
  s.groups = groups;
  for (size_t d = x.dims().size(); d-- > 2;) s.pixels.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  s.x_entry = x.strides()[0];
  s.y_entry = y.strides()[0];
  s.channels = blocks.empty() ? groups.channels : blocks[0].size;
  s.x_stripe = blocks.empty() ? 0 : x.strides()[1];
  s.y_stripe = blocks.empty() ? 0 : y.strides()[1];
  s.shares = std::clamp<int64_t>(groups.plane * s.channels / kShareElements, 1, std::min(kMostShares, groups.plane));
  HostRoutine routine;
  routine.in_place = {0};
  routine.scratch_bytes = s.scratch_bytes();
  routine.run = [s](const HostCall& run) -> Status {
    RunStripes(s, run);
    return {};
  };
  return routine;
}

Result<HostRoutine> NormalizeGroups(const HostSite& site, int64_t count) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  PT_ASSIGN(const ChannelGroups groups, ReadChannelGroups(site, count));
  const TensorLayout& x = site.in[0].layout;
  if (x.layout != site.out[0].layout.layout) return site.Unsupported("input and result lie in different orders");
  if (x.layout.is_row_major() || site.in[0].count() == 0) return PlanesRoutine(site, groups);
  return StripesRoutine(site, groups);
}

Result<HostRoutine> GroupNormalization(const HostSite& site) { return NormalizeGroups(site, ReadGroups(site.node())); }
Result<HostRoutine> InstanceNormalization(const HostSite& site) {
  return NormalizeGroups(site, site.has(0) && site.in[0].rank() > 1 ? site.in[0].dims()[1] : 0);
}

constexpr std::array kPlaneNormalizationOperators = {
    HostRow{.op = "GroupNormalization", .make = GroupNormalization, .any_order = true, .in_blocks = true},
    HostRow{.op = "InstanceNormalization", .make = InstanceNormalization, .any_order = true, .in_blocks = true}};

}  // namespace

std::span<const HostRow> PlaneNormalizationOperators() { return kPlaneNormalizationOperators; }

}  // namespace pt::host
