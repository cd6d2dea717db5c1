// CausalConvWithState: a depthwise convolution over a row that goes on from the last elements of the row before.
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

enum Input { kRow, kFilter, kBias, kPast };

// One channel of one entry: `past` elements before the row, zeros where there are none.
struct Channel {
  const float *row, *past, *filter;
  int64_t taps, length;

  // Of the row with the past in front of it.
  float operator[](int64_t i) const {
    const int64_t before = taps - 1;
    if (i >= before) return row[i - before];
    return past == nullptr ? 0.0F : past[i];
  }
  double At(int64_t i) const {
    double sum = 0;
    for (int64_t k = 0; k < taps; ++k) sum += static_cast<double>(filter[k]) * static_cast<double>((*this)[i + k]);
    return sum;
  }
};

Result<ReferenceRoutine> CausalConvolution(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 4));
  const std::vector<int64_t>&x = site.in[kRow].dims, &w = site.in[kFilter].dims;
  if (x.size() != 3 || w.size() != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1) {
    return site.Invalid("input of dims " + DimsText(x) + " and weight of dims " + DimsText(w) +
                        " do not fit [batch, channels, length] and [channels, 1, taps]");
  }
  for (size_t i = 0; i < site.in.size(); ++i) {
    if (site.has(i) && site.in[i].type != DataType::kFloat32) return UnsupportedType(site, site.in[i].type);
  }
  const int64_t batch = x[0], channels = x[1], length = x[2], taps = w[2], before = taps - 1;
  const std::vector<int64_t> state = {batch, channels, before};
  PT_CHECK_OK(site.NeedDims(kBias, "bias", {channels}));
  PT_CHECK_OK(site.NeedDims(kPast, "past_state", state));
  PT_ASSIGN(const bool silu, OrInvalid(HasSilu(site.node), site));
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, x));
  PT_CHECK_OK(site.Out(1, DataType::kFloat32, state));
  return ReferenceRoutine{[=](const TensorCall& run) -> Status {
    const double work = static_cast<double>(length * taps);
    ParallelRanges(run.team, batch * channels, work, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const float* past = run.in<float>(kPast) == nullptr ? nullptr : run.in<float>(kPast) + c * before;
        const Channel channel{run.in<float>(kRow) + c * length, past, run.in<float>(kFilter) + c % channels * taps,
                              taps, length};
        const double bias =
            run.in<float>(kBias) == nullptr ? 0 : static_cast<double>(run.in<float>(kBias)[c % channels]);
        for (int64_t i = 0; i < length && run.out<float>(0) != nullptr; ++i) {
          const double sum = channel.At(i) + bias;
          run.out<float>(0)[c * length + i] = static_cast<float>(silu ? sum / (1 + std::exp(-sum)) : sum);
        }
        for (int64_t i = 0; i < before && run.out<float>(1) != nullptr; ++i) {
          run.out<float>(1)[c * before + i] = channel[length + i];
        }
      }
    });
    return {};
  }};
}

constexpr std::array kCausalConvolutionOperators = {
    ReferenceRow{.op = "CausalConvWithState", .make = CausalConvolution, .feeding = Feeding::kWidened, .since = 27},
};

}  // namespace

std::span<const ReferenceRow> CausalConvolutionOperators() { return kCausalConvolutionOperators; }

}  // namespace pt::reference
