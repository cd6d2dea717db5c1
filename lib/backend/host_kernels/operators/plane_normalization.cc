// Group and instance normalisation of float32: planes that are contiguous and follow each other, and images whose
// channels lie side by side, all of them or in blocks. What is element-wise behind it runs on each stretch of the
// result before that leaves the cache.
#include "lib/backend/host_kernels/operators/plane_normalization.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/elementwise/rest.h"
#include "lib/backend/host_kernels/kernels/channel_moments.h"
#include "lib/backend/host_kernels/kernels/rows.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/backend/elementwise_groups.h"
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
  size_t x = 0, scale = 1, bias = 2;  // places among the site's inputs
  // What is element-wise behind it, if anything, and how many elements it takes at once.
  std::optional<ElementwiseRest> rest = {};
  int64_t stretch = 0;

  int64_t groups() const { return channels / together; }
  uint64_t stretch_bytes() const { return AlignUp(static_cast<uint64_t>(stretch) * sizeof(float)); }
  uint64_t part_bytes() const { return rest ? stretch_bytes() + AlignUp(rest->part.bytes) : 0; }
};

constexpr int64_t kPartsOfCore = 4;
constexpr int64_t kStretch = 4096;  // elements of what is behind it that stay in the cache

// One part of the work, whose memory is at `memory`.
class PartRunner {
 public:
  PartRunner(const ChannelGroups& groups, const HostCall& run, std::byte* memory) {
    if (!groups.rest) return;
    stretch_ = reinterpret_cast<float*>(memory);
    rest_.emplace(*groups.rest, run, memory + groups.stretch_bytes());
  }
  // Null where there is nothing behind it: results go out at once.
  float* stretch() const { return stretch_; }
  // n elements of the result from `begin` on, in the order of its memory, which lie at stretch().
  void Finish(int64_t begin, int64_t n) { rest_->Run(stretch_, begin, n); }

 private:
  float* stretch_ = nullptr;
  std::optional<RestRunner> rest_;
};

// ---- planes that follow each other

struct Planes {
  ChannelGroups groups;
  int64_t x_entry = 0, y_entry = 0;  // strides
  RowFunction moments = nullptr, centre = nullptr;
};

// The channels of a group, the first of which is channel `first` of all entries'.
void NormalizeGroup(const Planes& p, const float* x, float* y, int64_t first, const HostCall& run, PartRunner& part) {
  const ChannelGroups& g = p.groups;
  RowMoments moments;
  p.moments({.x = x, .n = g.together * g.plane, .epsilon = g.epsilon, .moments = &moments});
  const int64_t step = part.stretch() == nullptr ? g.plane : g.stretch;
  for (int64_t c = 0; c < g.together; ++c) {
    const int64_t channel = (first + c) % g.channels;
    for (int64_t at = 0; at < g.plane; at += step) {
      const int64_t n = std::min(step, g.plane - at);
      p.centre({.x = x + c * g.plane + at,
                .y = part.stretch() == nullptr ? y + c * g.plane : part.stretch(),
                .n = n,
                .scale = run.input<float>(g.scale) + channel,
                .bias = run.input<float>(g.bias) + channel,
                .one_scale = true,
                .moments = &moments});
      if (part.stretch() != nullptr) part.Finish((first + c) * g.plane + at, n);
    }
  }
}

void RunPlanes(const Planes& p, const HostCall& run) {
  const ChannelGroups& g = p.groups;
  const int64_t elements = g.together * g.plane, most = (run.team == nullptr ? 1 : run.team->width()) * kPartsOfCore;
  if (elements == 0) return;
  const double work = static_cast<double>(elements) * (0.4 + (g.rest ? g.rest->part.work : 0)) + 20;
  ParallelParts(run.team, g.entries * g.groups(), work, most, [&](int64_t number, int64_t begin, int64_t end) {
    PartRunner part(g, run, run.scratch + static_cast<uint64_t>(number) * g.part_bytes());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t entry = i / g.groups(), from = i % g.groups() * elements;
      NormalizeGroup(p, run.input<float>(g.x) + entry * p.x_entry + from,
                     run.output<float>(0) + entry * p.y_entry + from, i * g.together, run, part);
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
  int64_t pixels_together = 1;

  int64_t count() const { return groups.channels / channels; }
  int64_t items() const { return groups.entries * count() * shares; }
  int64_t values() const { return groups.entries * groups.channels; }  // of something that each channel has
  int64_t sums() const { return (channels + kSumRoom - 1) / kSumRoom * kSumRoom; }  // of an item
  uint64_t sum_bytes() const { return AlignUp(static_cast<uint64_t>(items() * sums()) * sizeof(double)); }
  uint64_t value_bytes() const { return AlignUp(static_cast<uint64_t>(values()) * sizeof(float)); }
  uint64_t moment_bytes() const { return 2 * sum_bytes() + 4 * value_bytes(); }
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

// f(run, offset in the input, offset in the output, first pixel) for pixels at one distance, some at a time.
template <typename F>
void ForRuns(const Stripes& s, const StripeItem& item, F&& f) {
  const int64_t inner = s.pixels.inner_size();
  const Walk<2>::Offsets step = s.pixels.inner_stride();
  for (int64_t p = item.begin; p < item.end;) {
    const int64_t pixels = std::min({s.pixels_together, item.end - p, inner - p % inner});
    const Walk<2>::Offsets at = s.pixels.At(p);
    f(PixelRun{pixels, s.channels, step[0], step[1]}, item.entry * s.x_entry + item.stripe * s.x_stripe + at[0],
      item.entry * s.y_entry + item.stripe * s.y_stripe + at[1], p);
    p += pixels;
  }
}

// Around the first pixel, so that of the digits of double only those of the count cancel out.
void SumStripe(const Stripes& s, const StripeItem& item, const float* x, const float* pivots, double* sums,
               double* squares) {
  std::fill_n(sums, s.sums(), 0.0);
  std::fill_n(squares, s.sums(), 0.0);
  ForRuns(s, item, [&](const PixelRun& run, int64_t from, int64_t, int64_t) {
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

void CentreStripe(const Stripes& s, const StripeItem& item, const StripeScratch& scratch, const HostCall& run,
                  PartRunner& part) {
  const int64_t channel = item.channel(s), first = (item.entry * s.count() + item.stripe) * s.groups.plane;
  ForRuns(s, item, [&](PixelRun pixels, int64_t from, int64_t to, int64_t pixel) {
    float* y = run.output<float>(0) + to;
    if (part.stretch() != nullptr) {
      y = part.stretch();
      pixels.y_stride = s.channels;
    }
    CentreChannels({pixels, run.input<float>(s.groups.x) + from, y, scratch.means + channel, scratch.factors + channel,
                    scratch.biases + channel});
    if (part.stretch() != nullptr) part.Finish((first + pixel) * s.channels, pixels.pixels * s.channels);
  });
}

void RunStripes(const Stripes& s, const HostCall& run) {
  const ChannelGroups& g = s.groups;
  const StripeScratch scratch(s, run.scratch);
  const auto* x = run.input<float>(g.x);
  const int64_t most = (run.team == nullptr ? 1 : run.team->width()) * kPartsOfCore;
  const auto elements = static_cast<double>(g.plane / s.shares * s.channels);
  TakePivots(s, x, scratch.pivots);
  ParallelRanges(run.team, s.items(), elements * 0.2 + 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const StripeItem item(s, i);
      SumStripe(s, item, x, scratch.pivots + item.channel(s), scratch.sums + i * s.sums(),
                scratch.squares + i * s.sums());
    }
  });
  for (int64_t i = 0; i < g.entries * g.groups(); ++i) {
    ScaleGroup(s, scratch, i / g.groups(), i % g.groups() * g.together, run.input<float>(g.scale),
               run.input<float>(g.bias));
  }
  const double work = elements * (0.2 + (g.rest ? g.rest->part.work : 0)) + 20;
  ParallelParts(run.team, s.items(), work, most, [&](int64_t number, int64_t begin, int64_t end) {
    PartRunner part(g, run, run.scratch + s.moment_bytes() + static_cast<uint64_t>(number) * g.part_bytes());
    for (int64_t i = begin; i < end; ++i) CentreStripe(s, StripeItem(s, i), scratch, run, part);
  });
}

// ---- what a node says

// The normalisation among a site's nodes: whatever is behind it.
struct PlaneSite {
  const HostSite& site;
  const Node& node;
  std::vector<NodeId> rest;

  Result<size_t> PlaceOf(size_t input) const {
    const auto found = std::ranges::find(site.in, node.inputs[input], &HostOperand::value);
    if (found == site.in.end()) return site.Unsupported("an input is missing");
    return static_cast<size_t>(found - site.in.begin());
  }
};

Status NeedChannels(const HostSite& site, size_t i, int64_t channels) {
  const HostOperand& operand = site.in[i];
  const bool fits = operand.dims() == std::vector<int64_t>{channels} && (channels < 2 || operand.strides()[0] == 1);
  if (operand.type() == DataType::kFloat32 && fits) return {};
  return site.Unsupported("scale or bias are not contiguous float32, one number a channel");
}

Result<ChannelGroups> ReadChannelGroups(const PlaneSite& from) {
  const HostSite& site = from.site;
  if (from.node.inputs.size() != 3 || site.out.size() != 1)
    return site.Unsupported("it has not three inputs and one result");
  ChannelGroups groups;
  PT_ASSIGN(groups.x, from.PlaceOf(0));
  PT_ASSIGN(groups.scale, from.PlaceOf(1));
  PT_ASSIGN(groups.bias, from.PlaceOf(2));
  const HostOperand &x = site.in[groups.x], &y = site.out[0];
  if (x.type() != DataType::kFloat32 || y.type() != DataType::kFloat32) return site.Unsupported("it is not of float32");
  PT_CHECK_OK(site.NeedOutput(0, DataType::kFloat32, x.dims()));
  if (x.rank() < 3) return site.Unsupported("its input is not of planes");
  if (!HasFloat32Statistics(from.node)) return site.Unsupported("its statistics are not float32");
  groups.entries = x.dims()[0];
  groups.channels = x.dims()[1];
  const int64_t count = from.node.op == "InstanceNormalization" ? groups.channels : ReadGroups(from.node);
  if (count < 1 || groups.channels % count != 0) return site.Unsupported("its groups do not divide the channels");
  groups.together = groups.channels / count;
  groups.plane = x.count() == 0 ? 0 : x.count() / groups.entries / groups.channels;
  groups.epsilon = ReadEpsilon(from.node);
  for (const size_t i : {groups.scale, groups.bias}) PT_CHECK_OK(NeedChannels(site, i, groups.channels));
  return groups;
}

// What is behind it sees its result as a value that lies as the group's, `stretch` elements at a time.
Status ReadRest(const PlaneSite& from, int64_t stretch, ChannelGroups& groups) {
  if (from.rest.empty()) return {};
  const TensorLayout& y = from.site.out[0].layout;
  if (from.site.out[0].count() == 0) return from.site.Unsupported("it has no elements");
  PT_ASSIGN(const TensorLayout dense, DenseLayout(DataType::kFloat32, y.dims, y.layout));
  PT_ASSIGN(groups.rest, ReadElementwiseRest(from.site, from.rest, from.node.outputs[0], dense));
  groups.stretch = stretch;
  return {};
}

std::vector<uint32_t> InPlaceOf(const ChannelGroups& groups) {
  std::vector<uint32_t> in_place = {static_cast<uint32_t>(groups.x)};
  for (const uint32_t i : groups.rest ? groups.rest->in_place() : std::vector<uint32_t>()) {
    if (i != groups.x) in_place.push_back(i);
  }
  return in_place;
}

// kUnsupported where not all elements of an entry are contiguous.
Result<HostRoutine> PlanesRoutine(const PlaneSite& from, ChannelGroups groups) {
  const HostOperand &x = from.site.in[groups.x], &y = from.site.out[0];
  Walk<2> entry;
  for (size_t d = x.dims().size(); d-- > 1;) entry.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  if (!entry.is_contiguous()) return from.site.Unsupported("its planes are not contiguous");
  PT_CHECK_OK(ReadRest(from, kStretch, groups));
  HostRoutine routine;
  routine.in_place = InPlaceOf(groups);
  routine.scratch_bytes = groups.part_bytes() * from.site.width * kPartsOfCore;
  routine.run = [planes = Planes{std::move(groups), x.strides()[0], y.strides()[0], FindRowFunction(RowKind::kMoments),
                                 FindRowFunction(RowKind::kCentre)}](const HostCall& run) -> Status {
    RunPlanes(planes, run);
    return {};
  };
  return routine;
}

Result<HostRoutine> StripesRoutine(const PlaneSite& from, ChannelGroups groups) {
  const HostOperand &x = from.site.in[groups.x], &y = from.site.out[0];
  const auto& blocks = x.layout.layout.blocks;
  Stripes s;
  for (size_t d = x.dims().size(); d-- > 2;) s.pixels.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  s.x_entry = x.strides()[0];
  s.y_entry = y.strides()[0];
  s.channels = blocks.empty() ? groups.channels : blocks[0].size;
  s.x_stripe = blocks.empty() ? 0 : x.strides()[1];
  s.y_stripe = blocks.empty() ? 0 : y.strides()[1];
  s.shares = std::clamp<int64_t>(groups.plane * s.channels / kShareElements, 1, std::min(kMostShares, groups.plane));
  s.pixels_together =
      from.rest.empty() ? kPixelsTogether : std::clamp<int64_t>(kStretch / s.channels, 1, kPixelsTogether);
  PT_CHECK_OK(ReadRest(from, s.pixels_together * s.channels, groups));
  s.groups = std::move(groups);
  HostRoutine routine;
  routine.in_place = InPlaceOf(s.groups);
  routine.scratch_bytes = s.moment_bytes() + s.groups.part_bytes() * from.site.width * kPartsOfCore;
  routine.run = [s = std::move(s)](const HostCall& run) -> Status {
    RunStripes(s, run);
    return {};
  };
  return routine;
}

Result<HostRoutine> NormalizePlanes(const PlaneSite& from) {
  PT_ASSIGN(const ChannelGroups groups, ReadChannelGroups(from));
  const HostOperand& x = from.site.in[groups.x];
  if (x.layout.layout != from.site.out[0].layout.layout) {
    return from.site.Unsupported("input and result lie in different orders");
  }
  if (x.layout.layout.is_row_major() || x.count() == 0) return PlanesRoutine(from, groups);
  return StripesRoutine(from, groups);
}

Result<HostRoutine> NormalizationAlone(const HostSite& site) { return NormalizePlanes({site, site.node(), {}}); }

constexpr std::array kPlaneNormalizationOperators = {
    HostRow{.op = "GroupNormalization", .make = NormalizationAlone, .any_order = true, .in_blocks = true},
    HostRow{.op = "InstanceNormalization", .make = NormalizationAlone, .any_order = true, .in_blocks = true}};

bool IsPlaneNormalization(const Node& node) {
  return node.domain.empty() &&
         std::ranges::find(kPlaneNormalizationOperators, node.op, &HostRow::op) != kPlaneNormalizationOperators.end();
}

}  // namespace

std::span<const HostRow> PlaneNormalizationOperators() { return kPlaneNormalizationOperators; }

std::optional<PlaneNormalizationGroup> ReadPlaneNormalization(const Graph& graph, std::span<const NodeId> nodes) {
  PlaneNormalizationGroup group;
  for (const NodeId id : nodes) {
    if (!IsPlaneNormalization(graph.node(id))) {
      if (!IsElementwiseOperator(graph.node(id))) return std::nullopt;
      group.rest.push_back(id);
    } else if (group.normalization.valid()) {
      return std::nullopt;
    } else {
      group.normalization = id;
    }
  }
  return group.normalization.valid() && !group.rest.empty() ? std::optional(std::move(group)) : std::nullopt;
}

std::vector<std::vector<NodeId>> PlaneNormalizationGroups(const Graph& graph, const std::vector<bool>& able) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (!IsPlaneNormalization(graph.node(NodeId(n)))) continue;
    const auto grown = GrowElementwise(graph, able, NodeId(n));
    if (!grown.empty()) groups.push_back(grown.back());
  }
  return groups;
}

Result<HostRoutine> MakePlaneNormalization(const HostSite& site, const PlaneNormalizationGroup& group) {
  return NormalizePlanes({site, site.graph.node(group.normalization), group.rest});
}

}  // namespace pt::host
