#include "lib/backend/host_kernels/convolutions/grouped.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/convolutions/grouped_rows.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

constexpr int64_t kLine = 16;                      // floats
constexpr int64_t kMostChannels = 64;              // of a group
constexpr int64_t kMostGroupedRows = 64;           // of a kernel
constexpr int64_t kMostHeld = 256;                 // rows
constexpr int64_t kMostScratch = 1 << 20;          // floats
constexpr int64_t kMostPixels = int64_t{1} << 24;  // of a padded row

// Groups that fill a vector together are computed together, as one block; others each as a block of their own, whose
// results are one vector or several.
struct Blocks {
  int64_t groups = 1, group_in = 1, group_out = 1, lanes = 1;
  int64_t together = 1;  // groups

  int64_t count() const { return (groups + together - 1) / together; }
  int64_t groups_in(int64_t block) const { return std::min(together, groups - block * together); }
  int64_t vectors() const { return (together * group_out + lanes - 1) / lanes; }  // of results
  int64_t chunks() const { return (together * group_in + lanes - 1) / lanes; }    // of inputs
};

Blocks BlocksOf(const FilterDims& filters, int64_t lanes) {
  const int64_t fitting = lanes / std::max(filters.group_in, filters.group_out);
  return {filters.groups, filters.group_in, filters.group_out, lanes, std::clamp<int64_t>(fitting, 1, filters.groups)};
}

struct Grouped {
  GroupedRows math;
  Convolution shapes;
  Blocks blocks;
  PaddedRow padded;  // what all rows share
  GroupedRow row;    // likewise
  std::vector<int32_t> channel_of_lane;
  std::vector<float> bias;                // blocks x vectors x lanes; empty: none
  int64_t held = 0;                       // rows of the input in scratch memory
  int64_t stretches = 1;                  // of an image's rows
  std::shared_ptr<DeviceBuffer> weights;  // once packed

  int64_t row_floats() const { return blocks.chunks() * padded.padded_pixels * math.lanes; }
  int64_t part_floats() const { return held * row_floats(); }
  int64_t weights_of_row() const { return blocks.group_in * row.kernel_columns * math.lanes; }
  int64_t weights_of_vector() const { return shapes.window.kernel[0] * weights_of_row(); }
  int64_t items() const { return shapes.images * blocks.count() * stretches; }
};

// One part of the work: goes through stretches of rows of a block of an image.
class GroupedWorker {
 public:
  GroupedWorker(const Grouped& grouped, const HostCall& run, int64_t part)
      : g_(grouped), run_(run), scratch_(reinterpret_cast<float*>(run.scratch) + part * grouped.part_floats()) {}

  void Compute(int64_t begin, int64_t end) {
    const int64_t blocks = g_.blocks.count(), rows = g_.shapes.y.rows;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t stretch = i % g_.stretches, block = i / g_.stretches % blocks, image = i / g_.stretches / blocks;
      Enter(image, block);
      for (int64_t at = rows * stretch / g_.stretches; at < rows * (stretch + 1) / g_.stretches; ++at) ComputeRow(at);
    }
  }

 private:
  void Enter(int64_t image, int64_t block) {
    const Blocks& blocks = g_.blocks;
    const Images &x = g_.shapes.x, &y = g_.shapes.y;
    const int64_t first = block * blocks.together;
    held_.fill(-1);
    padded_ = g_.padded;
    x_ = run_.input<float>(x.place) + image * x.image_stride + x.OffsetOf(first * blocks.group_in);
    padded_.channels = blocks.groups_in(block) * blocks.group_in;
    row_ = g_.row;
    row_.rows = inside_.data();
    row_.channel_of_lane = g_.channel_of_lane.empty() ? nullptr : g_.channel_of_lane.data();
    y_ = run_.output<float>(y.place) + image * y.image_stride;
    first_out_ = first * blocks.group_out;
    out_channels_ = blocks.groups_in(block) * blocks.group_out;
    first_vector_ = block * blocks.vectors();
    const int64_t of_block = blocks.vectors() * g_.weights_of_vector();
    ahead_ = (block + 1) * of_block;
    ahead_end_ = std::min(block + 2, blocks.count()) * of_block;
    ahead_of_row_ = of_block * g_.stretches / g_.shapes.y.rows + 1;
  }

  const float* WeightsOf(int64_t vector) const {
    return static_cast<const float*>(g_.weights->data()) + vector * g_.weights_of_vector();
  }

  // Between two runs a network's weights leave the caches. Those of the next block come while this one is computed,
  // some with each row.
  void FetchWeights() {
    constexpr int kIntoOuterCache = 2;
    const auto* weights = static_cast<const float*>(g_.weights->data());
    const int64_t end = std::min(ahead_ + ahead_of_row_, ahead_end_);
    for (; ahead_ < end; ahead_ += kLine) __builtin_prefetch(weights + ahead_, 0, kIntoOuterCache);
  }

  // What the next row of the results also needs. Processors see for themselves that it will be needed where a
  // block's pixels lie side by side.
  void FetchRows(int64_t at) const {
    constexpr int kIntoInnerCache = 3;
    const WindowParameters& window = g_.shapes.window;
    const Images& x = g_.shapes.x;
    if (x.pixel_stride <= padded_.channels) return;
    const int64_t next =
        at * window.strides[0] - window.pads_begin[0] + (window.kernel[0] - 1) * window.dilations[0] + 1;
    for (int64_t row = std::max<int64_t>(next, 0); row < std::min(next + window.strides[0], x.rows); ++row) {
      for (int64_t i = 0; i < x.columns; ++i) {
        const float* pixel = x_ + row * x.row_stride + i * x.pixel_stride;
        for (int64_t c = 0; c < padded_.channels; c += kLine) __builtin_prefetch(pixel + c, 0, kIntoInnerCache);
      }
    }
  }

  // All vectors of one row of the block's results.
  void ComputeRow(int64_t at) {
    FetchWeights();
    FetchRows(at);
    const WindowParameters& window = g_.shapes.window;
    row_.rows_inside = 0;
    int64_t skipped = 0;
    for (int64_t k = 0; k < window.kernel[0]; ++k) {
      const int64_t from = at * window.strides[0] - window.pads_begin[0] + k * window.dilations[0];
      if (from < 0) ++skipped;
      if (from < 0 || from >= g_.shapes.x.rows) continue;
      inside_[static_cast<size_t>(row_.rows_inside++)] = Held(from);
    }
    const int64_t lanes = g_.math.lanes;
    for (int64_t done = 0, vector = first_vector_; done < out_channels_; done += lanes, ++vector) {
      row_.weights = WeightsOf(vector) + skipped * g_.weights_of_row();
      row_.bias = g_.bias.empty() ? nullptr : g_.bias.data() + vector * lanes;
      row_.y = y_ + at * g_.shapes.y.row_stride + g_.shapes.y.OffsetOf(first_out_ + done);
      row_.out_channels = std::min(lanes, out_channels_ - done);
      g_.math.compute(row_);
    }
  }

  // A row of the input, padded. Rows that a window sees at once have places of their own.
  const float* Held(int64_t row) {
    const int64_t place = row % g_.held;
    float* to = scratch_ + place * g_.row_floats();
    int64_t& held = held_[static_cast<size_t>(place)];
    if (held != row) {
      held = row;
      padded_.x = x_ + row * g_.shapes.x.row_stride;
      padded_.to = to;
      g_.math.pad(padded_);
    }
    return to;
  }

  const Grouped& g_;
  const struct HostCall& run_;
  float* scratch_;
  const float* x_ = nullptr;
  float* y_ = nullptr;
  int64_t ahead_ = 0, ahead_end_ = 0, ahead_of_row_ = 0;  // floats of the weights
  int64_t first_out_ = 0, out_channels_ = 0, first_vector_ = 0;
  PaddedRow padded_;
  GroupedRow row_;
  std::array<const float*, kMostGroupedRows> inside_{};
  std::array<int64_t, kMostHeld> held_{};  // the rows at each place
};

// Calls f(lane of all vectors of all blocks, output channel).
template <typename F>
void ForEachOutput(const Blocks& blocks, F f) {
  for (int64_t o = 0; o < blocks.groups * blocks.group_out; ++o) {
    const int64_t together = blocks.together * blocks.group_out;
    f(o / together * blocks.vectors() * blocks.lanes + o % together, o);
  }
}

void PackFilters(const Grouped& g, float* packed) {
  const auto filters = g.shapes.filters.values<float>();
  const int64_t lanes = g.math.lanes, channels = g.blocks.group_in, rows = g.shapes.window.kernel[0],
                columns = g.row.kernel_columns;
  std::fill_n(packed, g.blocks.count() * g.blocks.vectors() * g.weights_of_vector(), 0.0F);
  ForEachOutput(g.blocks, [&](int64_t lane, int64_t o) {
    const float* from = filters.data() + o * channels * rows * columns;
    float* to = packed + lane / lanes * g.weights_of_vector() + lane % lanes;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t k = 0; k < columns; ++k) to[((r * channels + c) * columns + k) * lanes] = *from++;
      }
    }
  });
}

class GroupedMaker {
 public:
  GroupedMaker(const HostSite& site, const ConvolutionGroup& group) : site_(site), group_(group) {}

  Result<HostRoutine> Make() {
    Grouped g;
    g.math = FindGroupedRows();
    PT_ASSIGN(g.shapes, ReadShapes(site_, group_));
    // Pixels beside the image are multiplied as zeros.
    if (!std::ranges::all_of(g.shapes.filters.values<float>(), [](float w) { return std::isfinite(w); })) {
      return site_.Unsupported("its filters are not finite");
    }
    Divide(g);
    PT_CHECK_OK(DescribeRows(g));
    FindLanes(g);
    HostRoutine routine;
    routine.scratch_bytes = static_cast<uint64_t>(g.part_floats()) * sizeof(float) * site_.width;
    const auto shared = std::make_shared<Grouped>(std::move(g));
    routine.pack = [shared](CompileContext& context) { return Pack(context, *shared); };
    routine.run = [shared](const HostCall& run) -> Status {
      const Grouped& all = *shared;
      const double rows = static_cast<double>(all.shapes.y.rows * all.shapes.images);
      const double work = all.shapes.macs_of_row() * 0.01 * rows / static_cast<double>(all.items());
      const int64_t most = run.team == nullptr ? 1 : run.team->width();
      ParallelParts(run.team, all.items(), work, most, [&](int64_t part, int64_t begin, int64_t end) {
        GroupedWorker(all, run, part).Compute(begin, end);
      });
      return {};
    };
    return routine;
  }

 private:
  static Status Pack(CompileContext& context, Grouped& g) {
    const auto bytes =
        CheckedProduct(std::array{g.blocks.count() * g.blocks.vectors(), g.weights_of_vector(), int64_t{4}});
    if (!bytes) return MakeError(ErrorCode::kInvalidInput, "host.size", "packed filters are too large");
    const std::string format = "host filters of " + std::to_string(g.blocks.groups) + " groups, " +
                               std::to_string(g.math.lanes) + " channels together";
    PT_ASSIGN(g.weights, context.weights.Get(g.shapes.filters.content_hash(), format, context.device,
                                             static_cast<uint64_t>(*bytes), [&](DeviceBuffer& buffer) -> Status {
                                               PackFilters(g, static_cast<float*>(buffer.data()));
                                               return {};
                                             }));
    return {};
  }

  // Blocks of images are work enough for all cores; few of them are cut into stretches.
  void Divide(Grouped& g) const {
    constexpr int64_t kMany = 8;  // blocks for a core: it hardly matters that some cores get one more
    const Convolution& c = g.shapes;
    g.blocks = BlocksOf({c.groups, c.filters.dims()[1], c.y.channels / c.groups}, g.math.lanes);
    const int64_t width = site_.width, items = g.blocks.count() * c.images;
    g.stretches = items % width == 0 || items >= width * kMany ? 1 : std::min(width, c.y.rows);
  }

  Status DescribeRows(Grouped& g) const {
    const Convolution& c = g.shapes;
    const WindowParameters& window = c.window;
    g.row.kernel_columns = window.kernel[1];
    g.row.stride = window.strides[1];
    g.row.dilation = window.dilations[1];
    g.row.group_channels = g.blocks.group_in;
    g.row.out_pixels = c.y.columns;
    g.row.out_pixel_stride = c.y.pixel_stride;
    g.row.bounds = c.bounds;
    g.padded.pixels = c.x.columns;
    g.padded.pixel_stride = c.x.pixel_stride;
    g.padded.block = c.x.block;
    g.padded.block_stride = c.x.block_stride;
    g.padded.pad = window.pads_begin[1];
    g.padded.padded_pixels = (c.y.columns - 1) * g.row.stride + (g.row.kernel_columns - 1) * g.row.dilation + 1;
    g.row.padded_pixels = g.padded.padded_pixels;
    g.held = std::min((window.kernel[0] - 1) * window.dilations[0] + 1, c.x.rows);
    if (window.kernel[0] > kMostGroupedRows || g.held > kMostHeld || g.padded.padded_pixels > kMostPixels ||
        g.part_floats() > kMostScratch) {
      return site_.Unsupported("its kernels or rows are larger than there is room for");
    }
    return {};
  }

  static void FindLanes(Grouped& g) {
    const Blocks& blocks = g.blocks;
    const int64_t lanes = g.math.lanes;
    if (blocks.together > 1) g.channel_of_lane.assign(static_cast<size_t>(blocks.group_in * lanes), 0);
    for (int64_t c = 0; c < blocks.group_in && blocks.together > 1; ++c) {
      for (int64_t o = 0; o < blocks.together * blocks.group_out; ++o) {
        g.channel_of_lane[static_cast<size_t>(c * lanes + o)] =
            static_cast<int32_t>(o / blocks.group_out * blocks.group_in + c);
      }
    }
    if (g.shapes.bias.empty()) return;
    g.bias.assign(static_cast<size_t>(blocks.count() * blocks.vectors() * lanes), 0.0F);
    ForEachOutput(blocks, [&](int64_t lane, int64_t o) {
      g.bias[static_cast<size_t>(lane)] = g.shapes.bias[static_cast<size_t>(o)];
    });
  }

  const HostSite& site_;
  const ConvolutionGroup& group_;
};

}  // namespace

bool FitsGrouped(const FilterDims& filters) {
  return filters.groups > 1 && filters.group_in * filters.group_out > 1 && filters.group_in <= kMostChannels &&
         filters.group_out <= kMostChannels;
}

std::vector<Arrangement> ArrangementsOfGrouped(const FilterDims& filters) {
  constexpr int64_t kMostBlock = 16;  // of those that images come in
  // Then no vector, of however many lanes, begins in one block and ends in the next, and all blocks are full.
  const auto matches = [&](int64_t channels) {
    return (kMostBlock % channels == 0 || channels % kMostBlock == 0) && channels * filters.groups % kMostBlock == 0;
  };
  std::vector<Arrangement> arrangements = {Arrangement::kChannelsLast};
  if (matches(filters.group_in) && matches(filters.group_out)) arrangements.push_back(Arrangement::kChannelsBlocked);
  return arrangements;
}

Result<HostRoutine> MakeGrouped(const HostSite& site, const ConvolutionGroup& group) {
  return GroupedMaker(site, group).Make();
}

}  // namespace pt::host
