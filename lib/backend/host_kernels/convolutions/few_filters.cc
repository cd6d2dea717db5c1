#include "lib/backend/host_kernels/convolutions/few_filters.h"

#include <algorithm>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/convolutions/plane_rows.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

// With more filters most lanes are full where each holds a filter of its own, and with more channels than these the
// arithmetic for each place that is loaded keeps such kernels busy.
constexpr int64_t kMostFilters = 12, kFewChannels = 1, kMostFiltersOfFewChannels = 64;
constexpr int64_t kMostPlanes = 1 << 18;  // floats of padded planes, a megabyte
constexpr int64_t kGoodPlanes = 1 << 16;  // this many stay in the caches with what else is needed
constexpr int64_t kMostColumnsAtOnce = 1024;

// Filters that are computed together.
struct Block {
  int64_t first = 0, filters = 0;
  std::vector<float> weights;  // as PlaneRow wants them
};

// Parts of the result, some rows and columns of an image, are computed one by one: what they see of the input is copied
// into padded planes first. Where windows move by several columns at a time, a plane's row has as many phases, one
// after another, of the columns that leave the same remainder: what a kernel column sees then lies together.
struct FewFilters {
  PlaneRows rows;
  Convolution shapes;
  std::vector<Block> blocks;
  std::vector<int64_t> offsets;                           // of kernel columns
  int64_t rows_together = 0, columns_together = 0;        // of a part of the result
  int64_t plane_rows = 0, phases = 1, phase_columns = 0;  // phase_columns: without the overshoot

  int64_t row_parts() const { return (shapes.y.rows + rows_together - 1) / rows_together; }
  int64_t column_parts() const { return (shapes.y.columns + columns_together - 1) / columns_together; }
  int64_t plane_row() const { return phases * phase_columns + rows.overshoot; }
  int64_t plane() const { return plane_rows * plane_row(); }
  uint64_t part_bytes() const { return static_cast<uint64_t>(shapes.x.channels * plane()) * sizeof(float); }
};

// One row of the input as a plane has it: columns from `from` on, those outside the image as zeros. `row` is null for
// rows outside.
void CopyRow(const FewFilters& f, const float* row, int64_t from, float* to) {
  for (int64_t phase = 0; phase < f.phases; ++phase, to += f.phase_columns) {
    const int64_t first = from + phase;
    // The places within the image.
    const auto up = [&](int64_t n) { return n <= 0 ? 0 : (n + f.phases - 1) / f.phases; };
    const int64_t begin = std::min(row == nullptr ? f.phase_columns : up(-first), f.phase_columns);
    const int64_t end = std::clamp(up(f.shapes.x.columns - first), begin, f.phase_columns);
    std::fill(to, to + begin, 0.0F);
    if (f.phases == 1 && begin < end) {
      std::copy(row + first + begin, row + first + end, to + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = row[first + i * f.phases];
    }
    std::fill(to + end, to + f.phase_columns, 0.0F);
  }
  std::fill_n(to, f.rows.overshoot, 0.0F);
}

void ComputePart(const FewFilters& f, const float* x, float* y, int64_t first_row, int64_t first_column,
                 float* planes) {
  const int64_t rows = std::min(f.rows_together, f.shapes.y.rows - first_row);
  const int64_t from_row = first_row * f.shapes.window.strides[0] - f.shapes.window.pads_begin[0];
  const int64_t from_column = first_column * f.shapes.window.strides[1] - f.shapes.window.pads_begin[1];
  const int64_t seen =
      (rows - 1) * f.shapes.window.strides[0] + (f.shapes.window.kernel[0] - 1) * f.shapes.window.dilations[0] + 1;
  for (int64_t c = 0; c < f.shapes.x.channels; ++c) {
    for (int64_t r = 0; r < seen; ++r) {
      const int64_t at = from_row + r;
      const bool inside = at >= 0 && at < f.shapes.x.rows;
      CopyRow(f, inside ? x + c * f.shapes.x.channel_stride + at * f.shapes.x.row_stride : nullptr, from_column,
              planes + c * f.plane() + r * f.plane_row());
    }
  }
  PlaneRow row{.channels = f.shapes.x.channels,
               .channel_stride = f.plane(),
               .kernel_rows = f.shapes.window.kernel[0],
               .row_stride = f.shapes.window.dilations[0] * f.plane_row(),
               .kernel_columns = f.shapes.window.kernel[1],
               .offsets = f.offsets.data(),
               .filter_stride = f.shapes.y.channel_stride,
               .columns = std::min(f.columns_together, f.shapes.y.columns - first_column),
               .bounds = f.shapes.bounds};
  for (int64_t r = 0; r < rows; ++r) {
    row.x = planes + r * f.shapes.window.strides[0] * f.plane_row();
    for (const Block& block : f.blocks) {
      row.weights = block.weights.data();
      row.bias = f.shapes.bias.data() + block.first;
      row.filters = block.filters;
      row.y = y + block.first * f.shapes.y.channel_stride + (first_row + r) * f.shapes.y.row_stride + first_column;
      f.rows.compute(row);
    }
  }
}

void RunAll(const FewFilters& f, const HostCall& run) {
  const auto* x = run.input<float>(f.shapes.x.place);
  auto* y = run.output<float>(f.shapes.y.place);
  const int64_t columns = f.column_parts(), parts = f.row_parts() * columns;
  const double work =
      static_cast<double>(f.rows_together * f.columns_together * f.shapes.y.channels * f.shapes.x.channels) *
      static_cast<double>(f.shapes.window.kernel[0] * f.shapes.window.kernel[1]) * 0.01;
  const int64_t most = run.team == nullptr ? 1 : run.team->width();
  ParallelParts(run.team, f.shapes.images * parts, work, most, [&](int64_t part, int64_t begin, int64_t end) {
    auto* planes = reinterpret_cast<float*>(run.scratch + static_cast<uint64_t>(part) * f.part_bytes());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / parts, at = i % parts;
      ComputePart(f, x + image * f.shapes.x.image_stride, y + image * f.shapes.y.image_stride,
                  at / columns * f.rows_together, at % columns * f.columns_together, planes);
    }
  });
}

class FewFiltersMaker {
 public:
  FewFiltersMaker(const HostSite& site, const ConvolutionGroup& group) : site_(site), group_(group) {}

  Result<HostRoutine> Make() {
    FewFilters f;
    f.rows = FindPlaneRows();
    PT_ASSIGN(f.shapes, ReadShapes(site_, group_));
    PT_CHECK_OK(Divide(f));
    PT_CHECK_OK(PackConstants(f));
    HostRoutine routine;
    routine.scratch_bytes = f.part_bytes() * site_.width;
    const auto shared = std::make_shared<const FewFilters>(std::move(f));
    routine.run = [shared](const HostCall& run) -> Status {
      RunAll(*shared, run);
      return {};
    };
    return routine;
  }

 private:
  static bool WithinMost(std::optional<int64_t> size) { return size && *size <= kMostPlanes; }

  // Parts whose planes stay in the caches, enough of them for all cores.
  Status Divide(FewFilters& f) const {
    const auto reach = [&](size_t d) {
      return CheckedMul(f.shapes.window.kernel[d] - 1, f.shapes.window.dilations[d]);
    };
    if (!WithinMost(reach(0)) || !WithinMost(reach(1)) || !WithinMost(f.shapes.window.strides[1])) return TooLarge();
    const int64_t high = *reach(0) + 1;
    f.phases = f.shapes.window.strides[1];
    f.columns_together = std::min(f.shapes.y.columns, kMostColumnsAtOnce);
    f.phase_columns = f.columns_together + *reach(1) / f.phases;
    const auto row = CheckedMul(f.plane_row(), f.shapes.x.channels);
    if (!row || !WithinMost(CheckedMul(*row, high))) return TooLarge();
    const int64_t fitting = (kGoodPlanes / *row - high) / f.shapes.window.strides[0] + 1;
    const int64_t cores = std::max<int64_t>(site_.width / (f.shapes.images * f.column_parts()), 1);
    f.rows_together = std::clamp<int64_t>(std::min(fitting, (f.shapes.y.rows + cores - 1) / cores), 1, f.shapes.y.rows);
    f.plane_rows = (f.rows_together - 1) * f.shapes.window.strides[0] + high;
    for (int64_t k = 0; k < f.shapes.window.kernel[1]; ++k) {
      const int64_t at = k * f.shapes.window.dilations[1];
      f.offsets.push_back(at % f.phases * f.phase_columns + at / f.phases);
    }
    return {};
  }

  // Small beside what they are multiplied with, so each kernel packs its own. Pads are multiplied like pixels, so that
  // weights which are not finite would make NaN of them.
  Status PackConstants(FewFilters& f) const {
    const auto weights = f.shapes.filters.values<float>();
    if (!std::ranges::all_of(weights, [](float w) { return std::isfinite(w); })) {
      return site_.Unsupported("its filters are not finite");
    }
    const auto elements =
        static_cast<size_t>(f.shapes.x.channels * f.shapes.window.kernel[0] * f.shapes.window.kernel[1]);
    for (int64_t first = 0; first < f.shapes.y.channels; first += f.blocks.back().filters) {
      Block block{
          first, *std::ranges::find_if(kFilterBlocks, [&](int64_t n) { return n <= f.shapes.y.channels - first; }), {}};
      for (size_t e = 0; e < elements; ++e) {
        for (int64_t k = first; k < first + block.filters; ++k) {
          block.weights.push_back(weights[static_cast<size_t>(k) * elements + e]);
        }
      }
      f.blocks.push_back(std::move(block));
    }
    f.shapes.bias.resize(static_cast<size_t>(f.shapes.y.channels), 0.0F);
    return {};
  }

  Error TooLarge() const { return site_.Unsupported("what a row of its result sees is too large"); }

  const HostSite& site_;
  const ConvolutionGroup& group_;
};

}  // namespace

// Windows of one pixel are products (product.h).
bool FitsFewFilters(const FilterDims& filters) {
  const int64_t most = filters.group_in <= kFewChannels ? kMostFiltersOfFewChannels : kMostFilters;
  return filters.groups == 1 && filters.group_out <= most && filters.window > 1;
}

std::vector<Arrangement> ArrangementsOfFewFilters(const FilterDims&) { return {Arrangement::kRowMajor}; }

Result<HostRoutine> MakeFewFilters(const HostSite& site, const ConvolutionGroup& group) {
  return FewFiltersMaker(site, group).Make();
}

}  // namespace pt::host
