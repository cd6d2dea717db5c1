// What a Resize or Upsample node says, read once for all libraries: by how much each dim is scaled, where an element of
// the result lies in the input, and of which elements it is made.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize,
  kHalfPixelForNearest,
};
// kByScale: the element before where an axis grows, the one behind where it shrinks, as operator set 10 has it.
enum class ResizeRounding : uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil, kByScale };
enum class ResizeAspect : uint8_t { kStretch, kNotLarger, kNotSmaller };

// The attributes of Resize and Upsample, read and checked.
struct ResizeNode {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;
  ResizeAspect aspect = ResizeAspect::kStretch;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<size_t> axes;             // that region, scales and sizes are of, in their order; no two alike
  std::vector<float> attribute_scales;  // of Upsample before operator set 9
  // Inputs that say them, where those are given and not empty; -1: this version of the operator has no such input, or
  // it means nothing.
  int region_input = -1, scales_input = -1, sizes_input = -1;

  bool crops() const { return coordinates == ResizeCoordinates::kCropAndResize; }
};

// rank: of the input. Errors: kInvalidInput for unknown words, and for axes out of range or named twice.
Result<ResizeNode> ReadResizeNode(const Node& node, int64_t opset, size_t rank);

// A dim of the input, and what becomes of it.
struct ResizedAxis {
  int64_t in = 0, out = 0;
  double scale = 1, region_begin = 0, region_end = 1;
  bool named = false;  // among the node's axes
};
// Its elements are not just those of the input.
bool IsResized(const ResizeNode& node, const ResizedAxis& dim);

// Completes `dims`, of which `in` is set, by the contents of the inputs; empty: there is no such input. Allocates
// nothing. False where their counts do not fit the axes, or a scale or size is out of range.
bool FindResizedAxes(const ResizeNode& node, std::span<const double> region, std::span<const double> scales,
                     std::span<const double> sizes, std::span<ResizedAxis> dims);

// A node whose region, scales and sizes are constant.
struct ConstantResize {
  ResizeNode node;
  std::vector<ResizedAxis> dims;
};
// Errors: kUnsupported where something is not known until run time, or contradicts the dims of input and result.
Result<ConstantResize> ReadConstantResize(const Graph& graph, const Node& node);

// Where element `o` of the result lies along the dim, in elements of the input.
double SourceOf(const ResizeNode& node, const ResizedAxis& dim, int64_t o);
// It lies outside, and the result is the extrapolation value.
bool IsOutside(const ResizeNode& node, const ResizedAxis& dim, double source);
// The nearest element in the input.
int64_t NearestOf(const ResizeNode& node, const ResizedAxis& dim, double source);
// How far on either side of its place an element of the result is made of others; modes other than nearest.
double ReachOf(const ResizeNode& node, const ResizedAxis& dim);
// The weight of the element at index i, which may lie outside the input, before weights are made to add up to 1.
double WeightOf(const ResizeNode& node, const ResizedAxis& dim, double source, int64_t i);

// An element of the result, made of its sum: fractions are cut off, as ONNX Runtime does (the standard does not say),
// but what is whole except for the rounding of weights stays so; what is out of range becomes the bound. All
// libraries that resize integers call it with sums whose weights, products and sums are in double, dim after dim, and
// in the order of ForTaps.
template <typename T>
T ResizedElement(double sum) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
    constexpr double kNoise = 1e-9, kRelativeNoise = 1e-11, kMostNoise = 0.01;
    sum += std::copysign(std::min(kNoise + kRelativeNoise * std::fabs(sum), kMostNoise), sum);
    sum = sum < kLow ? kLow : sum;
    sum = sum > kHigh ? kHigh : sum;
  }
  return static_cast<T>(sum);
}

// add(index in the input, weight) for each element that one of the result, at `source`, is made of. Some may come
// twice.
template <typename Add>
void ForTaps(const ResizeNode& node, const ResizedAxis& dim, double source, const Add& add) {
  if (node.mode == ResizeMode::kNearest) {
    add(NearestOf(node, dim, source), 1.0);
    return;
  }
  const double reach = ReachOf(node, dim);
  const auto begin = static_cast<int64_t>(std::floor(source - reach)) + 1;
  const auto is_within = [&](int64_t i) { return static_cast<double>(i) < source + reach; };
  double sum = 0;
  for (int64_t i = begin; is_within(i); ++i) sum += WeightOf(node, dim, source, i);
  const bool adds_up = !node.exclude_outside && !(node.antialias && dim.scale < 1);
  const double whole = adds_up || sum == 0 ? 1 : sum;
  for (int64_t i = begin; is_within(i); ++i) {
    add(std::clamp<int64_t>(i, 0, dim.in - 1), WeightOf(node, dim, source, i) / whole);
  }
}

}  // namespace pt
