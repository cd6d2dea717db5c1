#include "plugins/cuda/resize_taps.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pt::cuda {
namespace {

enum class Kind : uint8_t { kNearest, kLinear, kCubic };

struct Settings {
  Kind kind = Kind::kNearest;
  std::string coordinates, rounding;
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false, crops = false;
};

Result<Settings> ReadSettings(const Site& site) {
  const Node& node = site.node();
  const bool old = site.graph.opset() < 11;  // Upsample, and Resize of operator set 10
  Settings settings;
  const std::string mode = node.string_or("mode", "nearest");
  if (mode == "linear") {
    settings.kind = Kind::kLinear;
  } else if (mode == "cubic") {
    settings.kind = Kind::kCubic;
  } else if (mode != "nearest") {
    return site.Unsupported("its mode is unknown");
  }
  settings.coordinates = node.string_or("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  settings.rounding = node.string_or("nearest_mode", old ? "floor" : "round_prefer_floor");
  settings.cubic = static_cast<double>(node.float_or("cubic_coeff_a", -0.75F));
  settings.exclude_outside = node.int_or("exclude_outside", 0) != 0;
  settings.antialias = node.int_or("antialias", 0) != 0;
  settings.crops = settings.coordinates == "tf_crop_and_resize";
  constexpr std::array<std::string_view, 7> kKnown = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
      "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
  if (std::ranges::find(kKnown, settings.coordinates) == kKnown.end()) {
    return site.Unsupported("its coordinate_transformation_mode is unknown");
  }
  return settings;
}

// How one dim is scaled, and which part of it is seen.
struct Scaling {
  double scale = 1, begin = 0, end = 1;
  bool named = false;
};

// A list of numbers at an input; empty where there is none.
Result<std::vector<double>> Numbers(const Site& site, size_t i) {
  std::vector<double> numbers;
  if (i >= site.node().inputs.size() || !site.node().inputs[i].valid()) return numbers;
  const std::optional<Tensor>& constant = site.graph.value(site.node().inputs[i]).constant;
  if (!constant) return site.Unsupported("its size is known only in the run");
  if (constant->type() == DataType::kFloat32) {
    for (const float number : constant->values<float>()) numbers.push_back(static_cast<double>(number));
  } else if (constant->type() == DataType::kInt64) {
    for (const int64_t number : constant->ToInts()) numbers.push_back(static_cast<double>(number));
  } else if (constant->element_count() > 0) {
    return site.Unsupported("its scales or sizes are of another type than float32 and int64");
  }
  return numbers;
}

// Sizes as they are asked for, or with one scale for all where the aspect is to stay.
void TakeSizes(const Site& site, const std::vector<int64_t>& in, const std::vector<size_t>& axes,
               const std::vector<double>& sizes, std::vector<Scaling>& scalings, std::vector<double>& dims) {
  const std::string policy = site.node().string_or("keep_aspect_ratio_policy", "stretch");
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto dim = static_cast<double>(in[axes[i]]);
    scales.push_back(dim == 0 ? 1 : sizes[i] / dim);
    dims[axes[i]] = sizes[i];
  }
  const double common = scales.empty()           ? 1
                        : policy == "not_larger" ? *std::ranges::min_element(scales)
                                                 : *std::ranges::max_element(scales);
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool stretch = policy != "not_larger" && policy != "not_smaller";
    scalings[axes[i]].scale = stretch ? scales[i] : common;
    if (!stretch) dims[axes[i]] = std::floor(common * static_cast<double>(in[axes[i]]) + 0.5);
  }
}

Result<std::vector<Scaling>> Scalings(const Site& site, const Settings& settings, const Operand& x, const Operand& y) {
  const bool old = site.graph.opset() < 11;
  std::vector<size_t> axes;
  for (const int64_t a : site.node().ints_or("axes", {})) {
    PT_ASSIGN(const size_t axis, site.Axis(a, x.dims().size()));
    axes.push_back(axis);
  }
  for (size_t d = 0; d < x.dims().size() && site.node().find("axes") == nullptr; ++d) axes.push_back(d);
  std::vector<double> region, sizes;
  PT_ASSIGN(std::vector<double> scales, Numbers(site, old ? 1 : 2));
  if (!old) {
    PT_ASSIGN(sizes, Numbers(site, 3));
  }
  if (settings.crops) {
    PT_ASSIGN(region, Numbers(site, 1));
  }
  if (const Attribute* given = site.node().find("scales")) {
    if (const auto* list = std::get_if<std::vector<float>>(given)) scales.assign(list->begin(), list->end());
  }
  if ((sizes.empty() ? scales : sizes).size() != axes.size()) return site.Unsupported("its scales do not fit its axes");
  std::vector<Scaling> scalings(x.dims().size());
  std::vector<double> dims(x.dims().begin(), x.dims().end());
  for (size_t i = 0; i < axes.size(); ++i) {
    Scaling& scaling = scalings[axes[i]];
    scaling.named = true;
    if (region.size() == 2 * axes.size()) {
      scaling.begin = region[i];
      scaling.end = region[i + axes.size()];
    }
    if (!sizes.empty()) continue;
    scaling.scale = scales[i];
    if (!(scaling.scale > 0)) return site.Unsupported("a scale is not positive");
    dims[axes[i]] = std::floor(static_cast<double>(x.dims()[axes[i]]) * scaling.scale * (scaling.end - scaling.begin));
  }
  if (!sizes.empty()) TakeSizes(site, x.dims(), axes, sizes, scalings, dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != static_cast<double>(y.dims()[d])) return site.Unsupported("its result has other dims");
    if (x.dims()[d] == 0 && y.dims()[d] != 0) return site.Unsupported("an empty dim cannot be resized");
  }
  return scalings;
}

// Where an output index lies in the input.
double SourceOf(const Settings& s, const Scaling& scaling, double x, double in, double out) {
  if (s.coordinates == "asymmetric") return x / scaling.scale;
  if (s.coordinates == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (s.coordinates == "pytorch_half_pixel") return out == 1 ? 0 : (x + 0.5) / scaling.scale - 0.5;
  if (s.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / scaling.scale;
  if (s.crops) {
    return out > 1 ? scaling.begin * (in - 1) + x * (scaling.end - scaling.begin) * (in - 1) / (out - 1)
                   : 0.5 * (scaling.begin + scaling.end) * (in - 1);
  }
  if (s.coordinates == "half_pixel_symmetric") {
    return in / 2 * (1 - out / (scaling.scale * in)) + (x + 0.5) / scaling.scale - 0.5;
  }
  return (x + 0.5) / scaling.scale - 0.5;
}

double Rounded(const Settings& s, double x) {
  if (s.rounding == "floor") return std::floor(x);
  if (s.rounding == "ceil") return std::ceil(x);
  if (s.rounding == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

double WeightAt(const Settings& s, double distance) {
  const double x = std::fabs(distance), a = s.cubic;
  if (s.kind == Kind::kLinear) return std::max(0.0, 1 - x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

struct Tap {
  int32_t source = 0;
  double weight = 1;
};

// Stretched when shrinking with antialias; what lies beyond the input is its edge, or left out.
std::vector<Tap> TapsAt(const Settings& s, const Scaling& scaling, double source, int64_t in) {
  const auto clamped = [&](double at) {
    return static_cast<int32_t>(std::clamp(at, 0.0, static_cast<double>(in - 1)));
  };
  if (s.kind == Kind::kNearest) return {{clamped(Rounded(s, source)), 1}};
  const double shrink = s.antialias && scaling.scale < 1 ? scaling.scale : 1;
  const double reach = (s.kind == Kind::kLinear ? 1 : 2) / shrink;
  std::vector<Tap> taps;
  double sum = 0;
  for (double i = std::floor(source - reach) + 1; i < source + reach; ++i) {
    double weight = WeightAt(s, (source - i) * shrink);
    if (s.exclude_outside && (i < 0 || i >= static_cast<double>(in))) weight = 0;
    taps.push_back({clamped(i), weight});
    sum += weight;
  }
  if ((s.exclude_outside || shrink != 1) && sum != 0) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

ResizedDim Tabulate(const Settings& s, const Scaling& scaling, size_t d, int64_t in, int64_t out) {
  ResizedDim dim;
  dim.dim = d;
  std::vector<std::vector<Tap>> taps;
  bool any_outside = false;
  for (int64_t o = 0; o < out; ++o) {
    const double source =
        SourceOf(s, scaling, static_cast<double>(o), static_cast<double>(in), static_cast<double>(out));
    const bool outside = s.crops && (source < 0 || source > static_cast<double>(in - 1));
    any_outside = any_outside || outside;
    dim.outside.push_back(outside ? 1 : 0);
    taps.push_back(TapsAt(s, scaling, outside ? 0 : source, in));
    dim.width = std::max(dim.width, static_cast<int64_t>(taps.back().size()));
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

Result<Resizing> ReadResizing(const Site& site, const Operand& x, const Operand& y) {
  if (x.dims().size() != y.dims().size()) return site.Unsupported("its result has other dims");
  PT_ASSIGN(const Settings settings, ReadSettings(site));
  PT_ASSIGN(const std::vector<Scaling> scalings, Scalings(site, settings, x, y));
  Resizing resizing;
  resizing.nearest = settings.kind == Kind::kNearest;
  resizing.extrapolation = site.node().float_or("extrapolation_value", 0.0F);
  for (size_t d = 0; d < scalings.size(); ++d) {
    const int64_t in = x.dims()[d], out = y.dims()[d];
    if (in == out && scalings[d].scale == 1 && !(settings.crops && scalings[d].named)) continue;
    if (in > INT32_MAX) return site.Unsupported("a dim is too large");
    resizing.dims.push_back(Tabulate(settings, scalings[d], d, in, out));
  }
  return resizing;
}

}  // namespace pt::cuda
