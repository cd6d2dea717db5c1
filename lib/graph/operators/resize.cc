#include "partitiontuner/graph/operators/resize.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "partitiontuner/graph/resized_dim.h"
#include "partitiontuner/support/text.h"

namespace pt {
namespace {

template <typename E>
using ModeWords = std::span<const std::pair<std::string_view, E>>;

constexpr std::array<std::pair<std::string_view, ResizeMode>, 3> kModes = {
    {{"nearest", ResizeMode::kNearest}, {"linear", ResizeMode::kLinear}, {"cubic", ResizeMode::kCubic}}};
constexpr std::array<std::pair<std::string_view, ResizeCoordinates>, 7> kCoordinates = {
    {{"half_pixel", ResizeCoordinates::kHalfPixel},
     {"half_pixel_symmetric", ResizeCoordinates::kHalfPixelSymmetric},
     {"pytorch_half_pixel", ResizeCoordinates::kPytorchHalfPixel},
     {"align_corners", ResizeCoordinates::kAlignCorners},
     {"asymmetric", ResizeCoordinates::kAsymmetric},
     {"tf_crop_and_resize", ResizeCoordinates::kCropAndResize},
     {"tf_half_pixel_for_nn", ResizeCoordinates::kHalfPixelForNearest}}};
constexpr std::array<std::pair<std::string_view, ResizeRounding>, 4> kRoundings = {
    {{"round_prefer_floor", ResizeRounding::kPreferFloor},
     {"round_prefer_ceil", ResizeRounding::kPreferCeil},
     {"floor", ResizeRounding::kFloor},
     {"ceil", ResizeRounding::kCeil}}};
constexpr std::array<std::pair<std::string_view, ResizeAspect>, 3> kAspects = {
    {{"stretch", ResizeAspect::kStretch},
     {"not_larger", ResizeAspect::kNotLarger},
     {"not_smaller", ResizeAspect::kNotSmaller}}};

Error Invalid(std::string why) { return MakeError(ErrorCode::kInvalidInput, "resize.node", std::move(why)); }
Error Unsupported(std::string why) { return MakeError(ErrorCode::kUnsupported, "resize.unusual", std::move(why)); }

template <typename E, size_t kCount>
Status ReadWord(const Node& node, std::string_view attribute, std::string_view otherwise,
                const std::array<std::pair<std::string_view, E>, kCount>& words, E& read) {
  const std::string word = node.string_or(attribute, std::string(otherwise));
  std::array<std::string_view, kCount> known;
  for (size_t i = 0; i < kCount; ++i) {
    known[i] = words[i].first;
    if (known[i] != word) continue;
    read = words[i].second;
    return {};
  }
  return Invalid(UnknownWord(attribute, word, known));
}

Result<std::vector<size_t>> AxesOf(const Node& node, size_t rank) {
  std::vector<size_t> axes;
  if (node.find("axes") == nullptr) {
    for (size_t d = 0; d < rank; ++d) axes.push_back(d);
    return axes;
  }
  const auto signed_rank = static_cast<int64_t>(rank);
  for (int64_t axis : node.ints_or("axes", {})) {
    if (axis < 0) axis += signed_rank;
    if (axis < 0 || axis >= signed_rank) return Invalid("an axis is out of range");
    if (std::ranges::find(axes, static_cast<size_t>(axis)) != axes.end()) return Invalid("an axis is named twice");
    axes.push_back(static_cast<size_t>(axis));
  }
  return axes;
}

double Cubic(double a, double x) {
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
  return 0;
}

// Kernels are stretched when shrinking with antialias.
double ShrinkOf(const ResizeNode& node, const ResizedAxis& dim) {
  return node.antialias && dim.scale < 1 ? dim.scale : 1;
}

// One scale for all named dims where the aspect is to stay.
void KeepAspect(const ResizeNode& node, std::span<ResizedAxis> dims) {
  double common = dims[node.axes[0]].scale;
  for (size_t axis : node.axes) {
    const double scale = dims[axis].scale;
    common = node.aspect == ResizeAspect::kNotLarger ? std::min(common, scale) : std::max(common, scale);
  }
  for (size_t axis : node.axes) {
    dims[axis].scale = common;
    dims[axis].out = static_cast<int64_t>(std::floor(common * static_cast<double>(dims[axis].in) + 0.5));
  }
}

// The numbers of an input; none where it is absent.
Result<std::vector<double>> NumbersAt(const Graph& graph, const Node& node, int input) {
  const auto i = static_cast<size_t>(input);
  if (input < 0 || i >= node.inputs.size() || !node.inputs[i].valid()) return std::vector<double>();
  const std::optional<Tensor>& constant = graph.value(node.inputs[i]).constant;
  if (!constant) return Unsupported("its size is not known until run time");
  if (constant->type() == DataType::kFloat32) {
    return std::vector<double>(constant->values<float>().begin(), constant->values<float>().end());
  }
  if (constant->type() == DataType::kInt64) {
    return std::vector<double>(constant->values<int64_t>().begin(), constant->values<int64_t>().end());
  }
  if (constant->element_count() == 0) return std::vector<double>();
  return Unsupported("its scales or sizes are of another type than float32 and int64");
}

}  // namespace

Result<ResizeNode> ReadResizeNode(const Node& node, int64_t opset, size_t rank) {
  const bool old = opset < 11;  // Upsample, and Resize of operator set 10
  ResizeNode read;
  PT_CHECK_OK(ReadWord(node, "mode", "nearest", kModes, read.mode));
  PT_CHECK_OK(ReadWord(node, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel", kCoordinates,
                       read.coordinates));
  PT_CHECK_OK(ReadWord(node, "nearest_mode", old ? "floor" : "round_prefer_floor", kRoundings, read.rounding));
  if (opset == 10 && node.find("nearest_mode") == nullptr) read.rounding = ResizeRounding::kByScale;
  PT_CHECK_OK(ReadWord(node, "keep_aspect_ratio_policy", "stretch", kAspects, read.aspect));
  read.cubic_a = static_cast<double>(node.float_or("cubic_coeff_a", -0.75F));
  read.extrapolation = static_cast<double>(node.float_or("extrapolation_value", 0.0F));
  read.exclude_outside = node.int_or("exclude_outside", 0) != 0;
  read.antialias = node.int_or("antialias", 0) != 0;
  PT_ASSIGN(read.axes, AxesOf(node, rank));
  if (const Attribute* scales = node.find("scales")) {
    if (const auto* list = std::get_if<std::vector<float>>(scales)) read.attribute_scales = *list;
  }
  // The region means something in one mode only; in others it may hold anything.
  if (!old && read.crops()) read.region_input = 1;
  read.scales_input = old ? 1 : 2;
  if (!old) read.sizes_input = 3;
  return read;
}

bool IsResized(const ResizeNode& node, const ResizedAxis& dim) {
  return dim.in != dim.out || dim.scale != 1 || (node.crops() && dim.named);
}

bool FindResizedAxes(const ResizeNode& node, std::span<const double> region, std::span<const double> scales,
                     std::span<const double> sizes, std::span<ResizedAxis> dims) {
  const size_t count = node.axes.size();
  const size_t given = !sizes.empty() ? sizes.size() : !scales.empty() ? scales.size() : node.attribute_scales.size();
  if (given != count || (!region.empty() && region.size() != 2 * count)) return false;
  for (ResizedAxis& dim : dims) dim = {.in = dim.in, .out = dim.in};
  for (size_t i = 0; i < count; ++i) {
    ResizedAxis& dim = dims[node.axes[i]];
    dim.named = true;
    if (!region.empty()) {
      dim.region_begin = region[i];
      dim.region_end = region[i + count];
    }
    std::optional<int64_t> out;
    if (!sizes.empty()) {
      out = ResizedDim(1, sizes[i], 1);
      dim.scale = dim.in == 0 ? 1 : sizes[i] / static_cast<double>(dim.in);
    } else {
      dim.scale = !scales.empty() ? scales[i] : static_cast<double>(node.attribute_scales[i]);
      if (!(dim.scale > 0)) return false;
      out = ResizedDim(dim.in, dim.scale, dim.region_end - dim.region_begin);
    }
    if (!out) return false;
    dim.out = *out;
  }
  if (!sizes.empty() && count > 0 && node.aspect != ResizeAspect::kStretch) KeepAspect(node, dims);
  return true;
}

Result<ConstantResize> ReadConstantResize(const Graph& graph, const Node& node) {
  const auto x = graph.value(node.inputs[0]).type.static_dims(), y = graph.value(node.outputs[0]).type.static_dims();
  if (!x || !y || x->size() != y->size()) return Unsupported("its dims are not known");
  ConstantResize resize;
  PT_ASSIGN(resize.node, ReadResizeNode(node, graph.opset(), x->size()));
  PT_ASSIGN(const std::vector<double> region, NumbersAt(graph, node, resize.node.region_input));
  PT_ASSIGN(const std::vector<double> scales, NumbersAt(graph, node, resize.node.scales_input));
  PT_ASSIGN(const std::vector<double> sizes, NumbersAt(graph, node, resize.node.sizes_input));
  for (const int64_t dim : *x) resize.dims.push_back({.in = dim});
  if (!FindResizedAxes(resize.node, region, scales, sizes, resize.dims)) {
    return Unsupported("its scales or sizes do not fit");
  }
  for (size_t d = 0; d < resize.dims.size(); ++d) {
    if (resize.dims[d].out != (*y)[d]) return Unsupported("its result has other dims");
    if (resize.dims[d].in == 0 && resize.dims[d].out != 0) return Unsupported("an empty dim cannot be resized");
  }
  return resize;
}

double SourceOf(const ResizeNode& node, const ResizedAxis& dim, int64_t o) {
  const auto at = static_cast<double>(o), in = static_cast<double>(dim.in), out = static_cast<double>(dim.out);
  switch (node.coordinates) {
    case ResizeCoordinates::kAsymmetric:
      return at / dim.scale;
    case ResizeCoordinates::kAlignCorners:
      return dim.out == 1 ? 0 : at * (in - 1) / (out - 1);
    case ResizeCoordinates::kPytorchHalfPixel:
      return dim.out == 1 ? 0 : (at + 0.5) / dim.scale - 0.5;
    case ResizeCoordinates::kHalfPixelForNearest:
      return (at + 0.5) / dim.scale;
    case ResizeCoordinates::kCropAndResize:
      return dim.out > 1 ? dim.region_begin * (in - 1) + at * (dim.region_end - dim.region_begin) * (in - 1) / (out - 1)
                         : 0.5 * (dim.region_begin + dim.region_end) * (in - 1);
    case ResizeCoordinates::kHalfPixelSymmetric:
      return in / 2 * (1 - out / (dim.scale * in)) + (at + 0.5) / dim.scale - 0.5;
    case ResizeCoordinates::kHalfPixel:
      break;
  }
  return (at + 0.5) / dim.scale - 0.5;
}

bool IsOutside(const ResizeNode& node, const ResizedAxis& dim, double source) {
  return node.crops() && (source < 0 || source > static_cast<double>(dim.in - 1));
}

int64_t NearestOf(const ResizeNode& node, const ResizedAxis& dim, double source) {
  ResizeRounding rounding = node.rounding;
  if (rounding == ResizeRounding::kByScale) rounding = dim.scale < 1 ? ResizeRounding::kCeil : ResizeRounding::kFloor;
  double at = std::ceil(source - 0.5);  // round_prefer_floor
  if (rounding == ResizeRounding::kFloor) at = std::floor(source);
  if (rounding == ResizeRounding::kCeil) at = std::ceil(source);
  if (rounding == ResizeRounding::kPreferCeil) at = std::floor(source + 0.5);
  return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(dim.in - 1)));
}

double ReachOf(const ResizeNode& node, const ResizedAxis& dim) {
  return (node.mode == ResizeMode::kLinear ? 1 : 2) / ShrinkOf(node, dim);
}

double WeightOf(const ResizeNode& node, const ResizedAxis& dim, double source, int64_t i) {
  if (node.exclude_outside && (i < 0 || i >= dim.in)) return 0;
  const double distance = std::fabs((source - static_cast<double>(i)) * ShrinkOf(node, dim));
  return node.mode == ResizeMode::kLinear ? std::max(0.0, 1 - distance) : Cubic(node.cubic_a, distance);
}

}  // namespace pt
