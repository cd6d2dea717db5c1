// Resize (Upsample in old opsets): nearest, linear and cubic, one dim after another.
#include <array>
#include <cmath>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/resized_dim.h"
#include "partitiontuner/support/text.h"

namespace pt::reference {
namespace {

enum class Kind : uint8_t { kNearest, kLinear, kCubic };

struct Settings {
  Kind kind = Kind::kNearest;
  std::string coordinates, rounding;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One dim: output index o is the sum of weights[k] · input[sources[k]] for k in [first[o], first[o + 1]). The tables
// lie in memory of the caller: scales may be known only in the run.
struct DimPass {
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  int64_t capacity = 0;  // taps
  int64_t* first = nullptr;
  int64_t* sources = nullptr;
  double* weights = nullptr;
  bool* outside = nullptr;  // the extrapolation value instead
  int64_t taps = 0;

  void Add(int64_t source, double weight) {
    if (taps == capacity) return;  // never: capacity is the most that any allowed scale needs
    sources[taps] = source;
    weights[taps++] = weight;
  }
  static uint64_t Bytes(int64_t out, int64_t capacity) {
    return (static_cast<uint64_t>(out + 1 + 2 * capacity) * 8 + static_cast<uint64_t>(out) + 63) / 64 * 64;
  }
  void Place(std::byte* memory) {
    first = reinterpret_cast<int64_t*>(memory);
    sources = first + out + 1;
    weights = reinterpret_cast<double*>(sources + capacity);
    outside = reinterpret_cast<bool*>(weights + capacity);
  }
};

// The taps of one output index reach this far on either side, stretched when shrinking with antialias.
int64_t MostTaps(const Settings& s, int64_t in, int64_t out) {
  if (s.kind == Kind::kNearest) return out;
  const int64_t reach = s.kind == Kind::kLinear ? 1 : 2;
  return out * (2 * reach + 1) + (s.antialias ? 4 * reach * (in + 1) : 0);
}

// Where output index x lies in the input.
double SourceOf(const Settings& s, double x, double scale, double in, double out, double roi_start, double roi_end) {
  if (s.coordinates == "asymmetric") return x / scale;
  if (s.coordinates == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (s.coordinates == "pytorch_half_pixel") return out == 1 ? 0 : (x + 0.5) / scale - 0.5;
  if (s.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
  if (s.coordinates == "tf_crop_and_resize") {
    return out > 1 ? roi_start * (in - 1) + x * (roi_end - roi_start) * (in - 1) / (out - 1)
                   : 0.5 * (roi_start + roi_end) * (in - 1);
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
    pass.Add(static_cast<int64_t>(at), 1);
    return;
  }
  const double shrink = s.antialias && scale < 1 ? scale : 1;
  const double reach = (s.kind == Kind::kLinear ? 1 : 2) / shrink;
  const int64_t start = pass.taps;
  double sum = 0;
  for (auto i = static_cast<int64_t>(std::floor(source - reach)) + 1; static_cast<double>(i) < source + reach; ++i) {
    const double distance = (source - static_cast<double>(i)) * shrink;
    double weight = s.kind == Kind::kLinear ? std::max(0.0, 1 - std::fabs(distance)) : Cubic(s.cubic_a, distance);
    if (s.exclude_outside && (i < 0 || i >= pass.in)) weight = 0;
    pass.Add(std::clamp<int64_t>(i, 0, pass.in - 1), weight);
    sum += weight;
  }
  if ((s.exclude_outside || shrink != 1) && sum != 0) {
    for (int64_t k = start; k < pass.taps; ++k) pass.weights[k] /= sum;
  }
}

// Fills the tables of a placed pass.
void FillPass(const Settings& s, double scale, double roi_start, double roi_end, DimPass& pass) {
  pass.taps = 0;
  const auto in = static_cast<double>(pass.in), out = static_cast<double>(pass.out);
  for (int64_t o = 0; o < pass.out; ++o) {
    pass.first[o] = pass.taps;
    const double source = SourceOf(s, static_cast<double>(o), scale, in, out, roi_start, roi_end);
    pass.outside[o] = s.coordinates == "tf_crop_and_resize" && (source < 0 || source > in - 1);
    AddTaps(s, pass.outside[o] ? 0 : source, scale, pass);
  }
  pass.first[pass.out] = pass.taps;
}

// In between passes the values are W (wider than T, so that rounding happens once).
template <typename From, typename To>
void RunPass(const DimPass& p, double extrapolation, const From* in, To* out, Team* team) {
  ParallelRanges(team, p.outer * p.out, static_cast<double>(p.inner) * 2 + 5, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = row % p.out;
      const From* from = in + row / p.out * p.in * p.inner;
      To* to = out + row * p.inner;
      if (p.outside[o]) {
        std::fill(to, to + p.inner, static_cast<To>(extrapolation));
        continue;
      }
      const int64_t first = p.first[o], last = p.first[o + 1];
      for (int64_t i = 0; i < p.inner; ++i) {
        if (last - first == 1 && p.weights[first] == 1) {
          to[i] = static_cast<To>(from[p.sources[first] * p.inner + i]);
          continue;
        }
        double sum = 0;
        for (int64_t k = first; k < last; ++k) {
          sum += p.weights[k] * static_cast<double>(from[p.sources[k] * p.inner + i]);
        }
        if constexpr (std::is_integral_v<To>) {
          to[i] = static_cast<To>(std::clamp(sum, static_cast<double>(std::numeric_limits<To>::min()),
                                             static_cast<double>(std::numeric_limits<To>::max())));
        } else {
          to[i] = static_cast<To>(sum);
        }
      }
    }
  });
}

// A list of numbers of the node, wherever it comes from.
struct Numbers {
  DataType type = DataType::kUndefined;
  const void* data = nullptr;
  int64_t count = 0;
  double operator[](size_t i) const { return LoadAs<double>(type, data, static_cast<int64_t>(i)); }
};

// Scales, output dims and regions by input dim; 1 and unchanged where no axis names it.
struct Target {
  std::array<double, kMaxRank> scales{}, roi_start{}, roi_end{};
  std::array<int64_t, kMaxRank> dims{};
};

enum class Aspect : uint8_t { kStretch, kNotLarger, kNotSmaller };

struct ResizePlan {
  Settings settings;
  Aspect aspect = Aspect::kStretch;
  std::vector<int64_t> in, out, axes;
  std::vector<float> attribute_scales;
  // Inputs of the node; -1: none.
  int roi_input = -1, scales_input = -1, sizes_input = -1;
  std::array<Numbers, 3> shapes;  // types and counts of roi, scales and sizes
  std::vector<size_t> dims;       // which need a pass, in order
  std::vector<DimPass> passes;    // one each, without tables
  uint64_t table_bytes = 0;
  int64_t count = 0, largest = 0;  // elements of the input, of what lies between passes
};

// What roi, scales and sizes ask for; false when they are out of range.
bool FindTarget(const ResizePlan& plan, const Numbers& roi, const Numbers& scales, const Numbers& sizes,
                Target& target) {
  for (size_t d = 0; d < plan.in.size(); ++d) {
    target.scales[d] = target.roi_end[d] = 1;
    target.dims[d] = plan.in[d];
  }
  const size_t n = plan.axes.size();
  double common = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto d = static_cast<size_t>(plan.axes[i]);
    if (roi.count == static_cast<int64_t>(2 * n)) {
      target.roi_start[d] = roi[i];
      target.roi_end[d] = roi[i + n];
    }
    const auto in = static_cast<double>(plan.in[d]);
    const double scale = sizes.count != 0    ? (in == 0 ? 1 : sizes[i] / in)
                         : scales.count != 0 ? scales[i]
                                             : static_cast<double>(plan.attribute_scales[i]);
    const double extent = target.roi_end[d] - target.roi_start[d];
    const auto dim = sizes.count != 0 ? ResizedDim(1, sizes[i], 1) : ResizedDim(plan.in[d], scale, extent);
    if (!dim || (sizes.count == 0 && !(scale > 0))) return false;
    target.scales[d] = scale;
    target.dims[d] = *dim;
    common = i == 0 ? scale : plan.aspect == Aspect::kNotLarger ? std::min(common, scale) : std::max(common, scale);
  }
  for (size_t i = 0; i < n && sizes.count != 0 && plan.aspect != Aspect::kStretch; ++i) {
    const auto d = static_cast<size_t>(plan.axes[i]);
    target.scales[d] = common;
    target.dims[d] = static_cast<int64_t>(std::floor(common * static_cast<double>(plan.in[d]) + 0.5));
  }
  return true;
}

// Which dims change, and what their passes look like but for the tables.
void PlanPasses(ResizePlan& plan, const Target* known) {
  std::vector<int64_t> now = plan.in;
  plan.count = 1;
  for (int64_t dim : now) plan.count *= dim;
  for (size_t d = 0; d < now.size(); ++d) {
    const bool named = std::find(plan.axes.begin(), plan.axes.end(), static_cast<int64_t>(d)) != plan.axes.end();
    const bool crops = plan.settings.coordinates == "tf_crop_and_resize" && named;
    const bool scaled = known == nullptr ? named : known->scales[d] != 1;
    if (plan.in[d] == plan.out[d] && !scaled && !crops) continue;
    DimPass pass;
    pass.in = plan.in[d];
    pass.out = plan.out[d];
    pass.capacity = MostTaps(plan.settings, pass.in, pass.out);
    now[d] = plan.out[d];
    int64_t count = 1;
    for (size_t e = 0; e < now.size(); ++e) {
      count *= now[e];
      if (e != d) (e < d ? pass.outer : pass.inner) *= now[e];
    }
    plan.largest = std::max(plan.largest, count);
    plan.table_bytes += DimPass::Bytes(pass.out, pass.capacity);
    plan.dims.push_back(d);
    plan.passes.push_back(pass);
  }
}

template <typename T>
Routine ResizeRoutine(ResizePlan plan) {
  using W = std::conditional_t<std::is_same_v<T, float>, float, double>;
  Routine routine;
  const uint64_t half = (static_cast<uint64_t>(plan.largest) * sizeof(W) + 63) / 64 * 64;
  routine.scratch_bytes = plan.table_bytes + 2 * half;
  routine.run = [plan = std::move(plan), half](const Run& run) -> Status {
    const auto list = [&](int input, size_t which) -> Numbers {
      if (input < 0) return {};
      return {plan.shapes[which].type, run.in<void>(static_cast<size_t>(input)), plan.shapes[which].count};
    };
    Target target;
    if (!FindTarget(plan, list(plan.roi_input, 0), list(plan.scales_input, 1), list(plan.sizes_input, 2), target) ||
        !std::equal(plan.out.begin(), plan.out.end(), target.dims.begin())) {
      return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Resize: the size is not the one planned for");
    }
    W* now = reinterpret_cast<W*>(run.scratch + plan.table_bytes);
    W* next = reinterpret_cast<W*>(run.scratch + plan.table_bytes + half);
    std::byte* tables = run.scratch;
    const size_t passes = plan.passes.size();
    if (passes == 0) std::copy(run.in<T>(0), run.in<T>(0) + plan.count, run.out<T>());
    for (size_t i = 0; i < passes; ++i) {
      DimPass pass = plan.passes[i];
      const size_t d = plan.dims[i];
      pass.Place(tables);
      tables += DimPass::Bytes(pass.out, pass.capacity);
      FillPass(plan.settings, target.scales[d], target.roi_start[d], target.roi_end[d], pass);
      const double extrapolation = plan.settings.extrapolation;
      if (i == 0 && passes == 1) {
        RunPass(pass, extrapolation, run.in<T>(0), run.out<T>(), run.team);
      } else if (i == 0) {
        RunPass(pass, extrapolation, run.in<T>(0), now, run.team);
      } else if (i + 1 == passes) {
        RunPass(pass, extrapolation, now, run.out<T>(), run.team);
      } else {
        RunPass(pass, extrapolation, now, next, run.team);
        std::swap(now, next);
      }
    }
    return {};
  };
  return routine;
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
    return site.Invalid(UnknownWord("mode", mode, {"nearest", "linear", "cubic"}));
  }
  const bool old = site.opset < 11;  // Upsample and Resize of opset 10: asymmetric and floor
  s.coordinates = node.string_or("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  s.rounding = node.string_or("nearest_mode", old ? "floor" : "round_prefer_floor");
  s.cubic_a = node.float_or("cubic_coeff_a", -0.75F);
  s.extrapolation = node.float_or("extrapolation_value", 0.0F);
  s.exclude_outside = node.int_or("exclude_outside", 0) != 0;
  s.antialias = node.int_or("antialias", 0) != 0;
  constexpr std::array<std::string_view, 7> kKnown = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
      "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
  if (std::find(kKnown.begin(), kKnown.end(), s.coordinates) == kKnown.end())
    return site.Invalid(UnknownWord("coordinate_transformation_mode", s.coordinates, kKnown));
  return s;
}

// The inputs that say the size; *known is false when one of them is known only in the run.
Result<ResizePlan> ReadPlan(const Site& site, bool* known) {
  const bool old = site.opset < 11;
  ResizePlan plan;
  PT_ASSIGN(plan.settings, ReadSettings(site));
  plan.in = site.in[0].dims;
  for (int64_t a : site.node.ints_or("axes", {})) {
    PT_ASSIGN(const int64_t axis, site.Axis(a, site.in[0].rank()));
    plan.axes.push_back(axis);
  }
  for (int64_t d = 0; d < site.in[0].rank() && site.node.find("axes") == nullptr; ++d) plan.axes.push_back(d);
  if (const Attribute* scales = site.node.find("scales");
      scales != nullptr && std::holds_alternative<std::vector<float>>(*scales)) {
    plan.attribute_scales = std::get<std::vector<float>>(*scales);
  }
  const std::string policy = site.node.string_or("keep_aspect_ratio_policy", "stretch");
  plan.aspect = policy == "not_larger"    ? Aspect::kNotLarger
                : policy == "not_smaller" ? Aspect::kNotSmaller
                                          : Aspect::kStretch;
  const auto read = [&](int input, size_t which) {
    const auto i = static_cast<size_t>(input);
    if (!site.has(i) || site.in[i].count() == 0) return -1;
    plan.shapes[which] = {site.in[i].type, nullptr, site.in[i].count()};
    *known = *known && site.is_constant(i);
    return input;
  };
  // The region means something in one mode only; in others it may hold anything.
  if (!old && plan.settings.coordinates == "tf_crop_and_resize") plan.roi_input = read(1, 0);
  if (plan.roi_input >= 0 && plan.shapes[0].count != static_cast<int64_t>(2 * plan.axes.size()))
    return site.Invalid("roi does not fit the axes");
  plan.scales_input = read(old ? 1 : 2, 1);
  if (!old) plan.sizes_input = read(3, 2);
  const size_t given = plan.sizes_input >= 0    ? static_cast<size_t>(plan.shapes[2].count)
                       : plan.scales_input >= 0 ? static_cast<size_t>(plan.shapes[1].count)
                                                : plan.attribute_scales.size();
  if (given != plan.axes.size()) return site.Invalid("scales or sizes do not fit the axes");
  return plan;
}

Result<Routine> Resize(Site& site) {
  PT_CHECK_OK(site.NeedInputs(1, 4));
  for (size_t i = 1; i < site.in.size(); ++i) PT_CHECK_OK(NeedLoadable(site, i));
  bool known = true;
  PT_ASSIGN(ResizePlan plan, ReadPlan(site, &known));
  Target target;
  if (known) {
    const auto list = [&](int input, size_t which) -> Numbers {
      if (input < 0) return {};
      return {plan.shapes[which].type, site.in[static_cast<size_t>(input)].constant->bytes().data(),
              plan.shapes[which].count};
    };
    if (!FindTarget(plan, list(plan.roi_input, 0), list(plan.scales_input, 1), list(plan.sizes_input, 2), target))
      return site.Invalid("a scale or size is out of range");
    plan.out.assign(target.dims.begin(), target.dims.begin() + static_cast<ptrdiff_t>(plan.in.size()));
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, site.in[0].rank()));
    plan.out = site.out[0].dims;
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, plan.out));
  for (size_t d = 0; d < plan.in.size(); ++d) {
    if (plan.in[d] == 0 && plan.out[d] != 0) return site.Invalid("an empty dim cannot be resized");
  }
  PlanPasses(plan, known ? &target : nullptr);
  return VisitNumbers(site, site.in[0].type,
                      [&]<typename T>() -> Result<Routine> { return ResizeRoutine<T>(std::move(plan)); });
}

constexpr std::array kRows = {
    OperatorRow{.op = "Resize", .make = Resize, .feeding = Feeding::kWidened, .since = 10},
    OperatorRow{.op = "Upsample", .make = Resize, .feeding = Feeding::kWidened, .until = 9},
};

}  // namespace

std::span<const OperatorRow> ResizeOperators() { return kRows; }

}  // namespace pt::reference
