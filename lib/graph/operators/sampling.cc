#include "partitiontuner/graph/operators/sampling.h"

#include <string>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

constexpr int64_t kMostSamples = 4096;

Error InvalidSampling(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.sampling", std::move(why)); }

}  // namespace

Result<GridSampleNode> ReadGridSample(const Node& node) {
  GridSampleNode grid;
  const std::string mode = node.string_or("mode", "linear"), padding = node.string_or("padding_mode", "zeros");
  if (mode == "nearest") {
    grid.mode = SampleMode::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {  // the second names are those of operator set 16
    grid.mode = SampleMode::kCubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return InvalidSampling(UnknownWord("mode", mode, {"linear", "nearest", "cubic"}));
  }
  if (padding == "border") {
    grid.padding = SamplePadding::kBorder;
  } else if (padding == "reflection") {
    grid.padding = SamplePadding::kReflection;
  } else if (padding != "zeros") {
    return InvalidSampling(UnknownWord("padding_mode", padding, {"zeros", "border", "reflection"}));
  }
  grid.align_corners = AlignsCorners(node);
  return grid;
}

Result<RoiAlignNode> ReadRoiAlign(const Node& node, int64_t opset) {
  const std::string mode = node.string_or("mode", "avg");
  const RoiAlignNode roi{node.int_or("output_height", 1),
                         node.int_or("output_width", 1),
                         node.int_or("sampling_ratio", 0),
                         node.float_or("spatial_scale", 1.0F),
                         mode == "avg",
                         opset >= 16 && node.string_or("coordinate_transformation_mode", "half_pixel") == "half_pixel"};
  const bool fits = (mode == "avg" || mode == "max") && roi.out_height >= 1 && roi.out_width >= 1 && roi.ratio >= 0 &&
                    roi.ratio <= kMostSamples;
  if (!fits) return InvalidSampling("a parameter is out of range");
  return roi;
}

Result<MaxRoiPoolNode> ReadMaxRoiPool(const Node& node) {
  const std::vector<int64_t> shape = node.ints_or("pooled_shape", {});
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
    return InvalidSampling("pooled_shape is not two positive numbers");
  return MaxRoiPoolNode{shape[0], shape[1], node.float_or("spatial_scale", 1.0F)};
}

bool AlignsCorners(const Node& node) { return node.int_or("align_corners", 0) != 0; }

}  // namespace pt
