#include "plugins/cuda/resize_taps.h"

#include <algorithm>

namespace pt::cuda {
namespace {

struct Tap {
  int32_t source = 0;
  double weight = 1;
};

DimTaps Tabulate(const ResizeNode& node, const ResizedAxis& resized, size_t d) {
  DimTaps dim;
  dim.dim = d;
  std::vector<std::vector<Tap>> taps;
  bool any_outside = false;
  for (int64_t o = 0; o < resized.out; ++o) {
    const double source = SourceOf(node, resized, o);
    const bool outside = IsOutside(node, resized, source);
    any_outside = any_outside || outside;
    dim.outside.push_back(outside ? 1 : 0);
    std::vector<Tap>& of_one = taps.emplace_back();
    ForTaps(node, resized, outside ? 0 : source, [&](int64_t at, double weight) {
      of_one.push_back({static_cast<int32_t>(at), weight});
    });
    dim.width = std::max(dim.width, static_cast<int64_t>(of_one.size()));
  }
  if (!any_outside) dim.outside.clear();
  for (std::vector<Tap>& of_one : taps) {
    of_one.resize(static_cast<size_t>(dim.width), {of_one.empty() ? 0 : of_one.front().source, 0});
    for (const Tap& tap : of_one) {
      dim.sources.push_back(tap.source);
      dim.weights.push_back(static_cast<float>(tap.weight));
    }
  }
  return dim;
}

}  // namespace

Result<Resizing> ReadResizing(const CudaSite& site) {
  const Result<ConstantResize> resize = ReadConstantResize(site.graph, site.node());
  if (!resize.ok()) return site.Unsupported(resize.error().message);
  Resizing resizing;
  resizing.nearest = resize->node.mode == ResizeMode::kNearest;
  resizing.extrapolation = static_cast<float>(resize->node.extrapolation);
  for (size_t d = 0; d < resize->dims.size(); ++d) {
    const ResizedAxis& dim = resize->dims[d];
    if (!IsResized(resize->node, dim)) continue;
    if (dim.in > INT32_MAX) return site.Unsupported("a dim is too large");
    resizing.dims.push_back(Tabulate(resize->node, dim, d));
  }
  return resizing;
}

}  // namespace pt::cuda
