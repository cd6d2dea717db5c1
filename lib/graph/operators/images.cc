#include "partitiontuner/graph/operators/images.h"

#include <string>

#include "partitiontuner/support/text.h"

namespace pt {

Result<PixelFormat> ReadPixelFormat(const Node& node) {
  const std::string format = node.string_or("pixel_format", "RGB");
  if (format == "RGB") return PixelFormat::kRgb;
  if (format == "BGR") return PixelFormat::kBgr;
  if (format == "Grayscale") return PixelFormat::kGrayscale;
  return MakeError(ErrorCode::kInvalidInput, "graph.image",
                   UnknownWord("pixel_format", format, {"RGB", "BGR", "Grayscale"}));
}

}  // namespace pt
