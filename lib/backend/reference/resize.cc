// Resize (Upsample in old opsets): nearest, linear and cubic, one dim after another.
#include <array>
#include <cmath>
#include <cstring>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/parallel.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

enum class Kind : uint8_t { kNearest, kLinear, kCubic };

struct Settings {
  Kind kind = Kind::kNearest;
  std::string coordinates, rounding;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One dim: output index o is the sum of weights[k] · input[sources[k]] for k in [first[o], first[o + 1]).
struct DimPass {
  size_t dim = 0;
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  std::vector<int64_t> first, sources;
  std::vector<double> weights;
  std::vector<bool> outside;  // the extrapolation value instead
};

// Where output index x lies in the input.
double SourceOf(const Settings& s, double x, double scale, double in, double out, double roi_start, double roi_end) {
  if (s.coordinates == "asymmetric") return x / scale;
  if (s.coordinates == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (s.coordinates == "pytorch_half_pixel") return out == 1 ? 0 : (x + 0.5) / scale - 0.5;
  if (s.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
  if (s.coordinates == "tf_crop_and_resize") {
    return out > 1 ? roi_start * (in - 1) + x * (roi_end - roi_start) * (in - 1) / (out - 1) : 0.5 * (roi_start + roi_end) * (in - 1);
  }
  if (s.coordinates == "half_pixel_symmetric") {
    const double adjustment = out / (scale * in), centre = in / 2;
    return centre * (1 - adjustment) + (x + 0.5) / scale - 0.5;
  }
  return (x + 0.5) / scale - 0.5;  // half_pixel
}

double RoundNearest(const Settings& s, double x) {
  if (s.rounding == "floor") return std::floor(x);
  if (s.rounding == "ceil") return std::ceil(x);
  if (s.rounding == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);  // round_prefer_floor
}

double Cubic(double a, double x) {
  x = std::fabs(x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
  return 0;
}

// The taps of one output index: kernels are stretched when shrinking with antialias.
void AddTaps(const Settings& s, double source, double scale, DimPass& pass) {
  if (s.kind == Kind::kNearest) {
    const double at = std::clamp(RoundNearest(s, source), 0.0, static_cast<double>(pass.in - 1));
    pass.sources.push_back(static_cast<int64_t>(at));
    pass.weights.push_back(1);
    return;
  }
  const double shrink = s.antialias && scale < 1 ? scale : 1;
  const double reach = (s.kind == Kind::kLinear ? 1 : 2) / shrink;
  const size_t start = pass.weights.size();
  double sum = 0;
  for (auto i = static_cast<int64_t>(std::floor(source - reach)) + 1; static_cast<double>(i) < source + reach; ++i) {
    const double distance = (source - static_cast<double>(i)) * shrink;
    double weight = s.kind == Kind::kLinear ? std::max(0.0, 1 - std::fabs(distance)) : Cubic(s.cubic_a, distance);
    if (s.exclude_outside && (i < 0 || i >= pass.in)) weight = 0;
    pass.sources.push_back(std::clamp<int64_t>(i, 0, pass.in - 1));
    pass.weights.push_back(weight);
    sum += weight;
  }
  if ((s.exclude_outside || shrink != 1) && sum != 0) {
    for (size_t k = start; k < pass.weights.size(); ++k) pass.weights[k] /= sum;
  }
}

DimPass MakePass(const Settings& s, int64_t in, int64_t out, double scale, double roi_start, double roi_end) {
  DimPass pass;
  pass.in = in;
  pass.out = out;
  for (int64_t o = 0; o < out; ++o) {
    pass.first.push_back(static_cast<int64_t>(pass.sources.size()));
    const double source = SourceOf(s, static_cast<double>(o), scale, static_cast<double>(in), static_cast<double>(out), roi_start, roi_end);
    const bool outside = s.coordinates == "tf_crop_and_resize" && (source < 0 || source > static_cast<double>(in - 1));
    pass.outside.push_back(outside);
    AddTaps(s, outside ? 0 : source, scale, pass);
  }
  pass.first.push_back(static_cast<int64_t>(pass.sources.size()));
  return pass;
}

// In between passes the values are W (wider than T, so that rounding happens once).
template <typename From, typename To>
void RunPass(const DimPass& p, double extrapolation, const From* in, To* out, Team* team) {
  ParallelRanges(team, p.outer * p.out, static_cast<double>(p.inner) * 2 + 5, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = row % p.out;
      const From* from = in + row / p.out * p.in * p.inner;
      To* to = out + row * p.inner;
      if (p.outside[static_cast<size_t>(o)]) {
        std::fill(to, to + p.inner, static_cast<To>(extrapolation));
        continue;
      }
      const int64_t first = p.first[static_cast<size_t>(o)], last = p.first[static_cast<size_t>(o) + 1];
      for (int64_t i = 0; i < p.inner; ++i) {
        if (last - first == 1 && p.weights[static_cast<size_t>(first)] == 1) {
          to[i] = static_cast<To>(from[p.sources[static_cast<size_t>(first)] * p.inner + i]);
          continue;
        }
        double sum = 0;
        for (int64_t k = first; k < last; ++k) {
          sum += p.weights[static_cast<size_t>(k)] * static_cast<double>(from[p.sources[static_cast<size_t>(k)] * p.inner + i]);
        }
        if constexpr (std::is_integral_v<To>) {
          to[i] = static_cast<To>(std::clamp(sum, static_cast<double>(std::numeric_limits<To>::min()), static_cast<double>(std::numeric_limits<To>::max())));
        } else {
          to[i] = static_cast<To>(sum);
        }
      }
    }
  });
}

struct ResizePlan {
  Settings settings;
  std::vector<DimPass> passes;
  int64_t count = 0;      // of the input
  int64_t largest = 0;    // elements between passes
};

template <typename T>
Program ResizeProgram(ResizePlan plan) {
  using W = std::conditional_t<std::is_same_v<T, float>, float, double>;
  Program program;
  const size_t passes = plan.passes.size();
  const uint64_t half = (static_cast<uint64_t>(plan.largest) * sizeof(W) + 63) / 64 * 64;
  program.scratch_bytes = passes > 2 ? 2 * half : passes == 2 ? half : 0;
  program.run = [plan = std::move(plan), passes, half](const Run& run) -> Status {
    const T* in = run.in<T>(0);
    T* out = run.out<T>();
    const double extrapolation = plan.settings.extrapolation;
    if (passes == 0) {
      std::memcpy(out, in, static_cast<size_t>(plan.count) * sizeof(T));
      return {};
    }
    if (passes == 1) {
      RunPass(plan.passes[0], extrapolation, in, out, run.team);
      return {};
    }
    W* now = reinterpret_cast<W*>(run.scratch);
    W* next = reinterpret_cast<W*>(run.scratch + half);
    RunPass(plan.passes[0], extrapolation, in, now, run.team);
    for (size_t i = 1; i + 1 < passes; ++i) {
      RunPass(plan.passes[i], extrapolation, now, next, run.team);
      std::swap(now, next);
    }
    RunPass(plan.passes[passes - 1], extrapolation, now, out, run.team);
    return {};
  };
  return program;
}

Result<Settings> ReadSettings(const Site& site) {
  const Node& node = site.node;
  Settings s;
  const std::string mode = node.string_or("mode", "nearest");
  if (mode == "linear") {
    s.kind = Kind::kLinear;
  } else if (mode == "cubic") {
    s.kind = Kind::kCubic;
  } else if (mode != "nearest") {
    return site.Invalid("mode \"" + mode + "\" is none");
  }
  const bool old = site.opset < 11;  // Upsample and Resize of opset 10: asymmetric and floor
  s.coordinates = node.string_or("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  s.rounding = node.string_or("nearest_mode", old ? "floor" : "round_prefer_floor");
  s.cubic_a = node.float_or("cubic_coeff_a", -0.75F);
  s.extrapolation = node.float_or("extrapolation_value", 0.0F);
  s.exclude_outside = node.int_or("exclude_outside", 0) != 0;
  s.antialias = node.int_or("antialias", 0) != 0;
  constexpr std::array<std::string_view, 7> kKnown = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"};
  if (std::find(kKnown.begin(), kKnown.end(), s.coordinates) == kKnown.end()) return site.Invalid("coordinate_transformation_mode \"" + s.coordinates + "\" is none");
  return s;
}

Result<std::vector<double>> ReadDoubles(const Site& site, size_t input) {
  std::vector<double> values;
  if (!site.has(input)) return values;
  if (site.in[input].count() != 0 && !site.in[input].constant) return site.Unsupported("takes a parameter known only at run time");
  for (int64_t i = 0; i < site.in[input].count(); ++i) {
    values.push_back(LoadAs<double>(site.in[input].type, site.in[input].constant->bytes().data(), i));
  }
  return values;
}

// Scales and output dims by input dim, 1 and unchanged where no axis names it.
struct Target {
  std::vector<double> scales, roi_start, roi_end;
  std::vector<int64_t> dims;
};

Status ApplySizes(const Site& site, const std::vector<int64_t>& axes, const std::vector<double>& sizes, Target& target) {
  const std::vector<int64_t>& in = site.in[0].dims;
  const std::string policy = site.node.string_or("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    if (!(sizes[i] >= 0 && sizes[i] < 0x1p31)) return site.Invalid("a size is out of range");
    const double scale = in[d] == 0 ? 1 : sizes[i] / static_cast<double>(in[d]);
    common = i == 0 ? scale : policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
    target.scales[d] = scale;
    target.dims[d] = static_cast<int64_t>(sizes[i]);
  }
  if (policy == "stretch") return {};
  for (int64_t axis : axes) {
    const auto d = static_cast<size_t>(axis);
    target.scales[d] = common;
    target.dims[d] = static_cast<int64_t>(std::floor(common * static_cast<double>(in[d]) + 0.5));
  }
  return {};
}

Result<Target> ReadTarget(Site& site, size_t roi_input, size_t scales_input, size_t sizes_input) {
  const std::vector<int64_t>& in = site.in[0].dims;
  std::vector<int64_t> axes;
  for (int64_t a : site.node.ints_or("axes", {})) {
    PT_ASSIGN(const int64_t axis, site.Axis(a, site.in[0].rank()));
    axes.push_back(axis);
  }
  if (axes.empty()) {
    for (int64_t d = 0; d < site.in[0].rank(); ++d) axes.push_back(d);
  }
  PT_ASSIGN(std::vector<double> scales, ReadDoubles(site, scales_input));
  if (scales.empty()) {
    for (float scale : site.node.find("scales") != nullptr && std::holds_alternative<std::vector<float>>(*site.node.find("scales"))
                           ? std::get<std::vector<float>>(*site.node.find("scales")) : std::vector<float>()) {
      scales.push_back(scale);
    }
  }
  PT_ASSIGN(const std::vector<double> sizes, ReadDoubles(site, sizes_input));
  std::vector<double> roi;  // means something in one mode only; others may hold anything
  if (site.node.string_or("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    PT_ASSIGN(roi, ReadDoubles(site, roi_input));
  }
  Target target{std::vector<double>(in.size(), 1), std::vector<double>(in.size(), 0), std::vector<double>(in.size(), 1), in};
  const std::vector<double>& given = sizes.empty() ? scales : sizes;
  if (given.size() != axes.size()) return site.Invalid("scales or sizes do not fit the axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    if (roi.size() == 2 * axes.size()) {
      target.roi_start[d] = roi[i];
      target.roi_end[d] = roi[i + axes.size()];
    }
    if (!sizes.empty()) continue;
    const double dim = std::floor(static_cast<double>(in[d]) * scales[i] * (target.roi_end[d] - target.roi_start[d]));
    if (!(scales[i] > 0) || !(dim >= 0 && dim < 0x1p31)) return site.Invalid("a scale is out of range");
    target.scales[d] = scales[i];
    target.dims[d] = static_cast<int64_t>(dim);
  }
  if (!sizes.empty()) PT_CHECK_OK(ApplySizes(site, axes, sizes, target));
  return target;
}

Result<Program> Resize(Site& site) {
  const bool old = site.opset < 11;
  PT_CHECK_OK(site.NeedInputs(1, 4));
  PT_ASSIGN(Settings settings, ReadSettings(site));
  PT_ASSIGN(const Target target, old ? ReadTarget(site, 9, 1, 9) : ReadTarget(site, 1, 2, 3));
  PT_CHECK_OK(site.Out(0, site.in[0].type, target.dims));
  const std::vector<int64_t>& in = site.in[0].dims;
  ResizePlan plan;
  plan.count = site.in[0].count();
  std::vector<int64_t> now = in;
  for (size_t d = 0; d < in.size(); ++d) {
    const bool crops = settings.coordinates == "tf_crop_and_resize" && (target.roi_start[d] != 0 || target.roi_end[d] != 1);
    if (in[d] == target.dims[d] && target.scales[d] == 1 && !crops) continue;
    if (in[d] == 0 && target.dims[d] != 0) return site.Invalid("an empty dim cannot be resized");
    DimPass pass = MakePass(settings, in[d], target.dims[d], target.scales[d], target.roi_start[d], target.roi_end[d]);
    pass.dim = d;
    now[d] = target.dims[d];
    for (size_t e = 0; e < in.size(); ++e) (e < d ? pass.outer : pass.inner) *= e == d ? 1 : now[e];
    int64_t count = 1;
    for (int64_t dim : now) count *= dim;
    plan.largest = std::max(plan.largest, count);
    plan.passes.push_back(std::move(pass));
  }
  plan.settings = std::move(settings);
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<Program> { return ResizeProgram<T>(std::move(plan)); });
}

constexpr std::array kRows = {
    OperatorRow{.op = "Resize", .make = Resize, .feeding = Feeding::kWidened, .since = 10},
    OperatorRow{.op = "Upsample", .make = Resize, .feeding = Feeding::kWidened, .until = 9},
};

}  // namespace

std::span<const OperatorRow> ResizeOperators() { return kRows; }

}  // namespace pt::reference
