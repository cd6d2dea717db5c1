#include <cmath>
#include <span>
#include <vector>

#include "partitiontuner/graph/operators/normalizations.h"
#include "plugins/cuda/dnn_graph.h"

namespace pt::cuda {
namespace {

// scale / sqrt(variance + epsilon), or bias - mean * that.
Tensor FoldedStatistics(const CudaSite& site, bool shift) {
  const auto values = [&](size_t i) { return site.Input(i)->constant->values<float>(); };
  const auto scale = values(1), bias = values(2), mean = values(3), variance = values(4);
  const double epsilon = static_cast<double>(ReadEpsilon(site.node()));
  std::vector<float> folded(scale.size());
  for (size_t c = 0; c < folded.size(); ++c) {
    const double factor = static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    folded[c] =
        static_cast<float>(shift ? static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor : factor);
  }
  return Tensor::Float32({static_cast<int64_t>(folded.size())}, folded);
}

// [K, C, spatial…] with C innermost, under the same dims.
Tensor ChannelsInnermost(const Tensor& filters) {
  const std::span<const float> from = filters.values<float>();
  const auto channels = static_cast<size_t>(filters.dims()[1]);
  const size_t count = static_cast<size_t>(filters.dims()[0]), places = from.size() / (count * channels);
  std::vector<float> to(from.size());
  for (size_t k = 0; k < count; ++k) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < places; ++p) to[(k * places + p) * channels + c] = from[(k * channels + c) * places + p];
    }
  }
  return Tensor::Float32(filters.dims(), to);
}

}  // namespace

Result<Tensor> ContentOf(const CudaSite& site, const DnnSource& source) {
  const Tensor& constant = *site.in[source.argument].constant;
  switch (source.content) {
    case DnnContent::kAsItIs:
      return constant;
    case DnnContent::kZeros: {
      const int64_t channels = site.out.front().dims()[1];
      return Tensor::Float32({channels}, std::vector<float>(static_cast<size_t>(channels), 0.0F));
    }
    case DnnContent::kChannelsLast:
      return ChannelsInnermost(constant);
    case DnnContent::kScale:
      return FoldedStatistics(site, false);
    case DnnContent::kShift:
      return FoldedStatistics(site, true);
  }
  return MakeError(ErrorCode::kInternal, "cuda.dnn", "a constant of unknown content");
}

}  // namespace pt::cuda
