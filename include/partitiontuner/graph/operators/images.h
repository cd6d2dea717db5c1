// What an ImageDecoder says.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

enum class PixelFormat : uint8_t { kRgb, kBgr, kGrayscale };
// Error: kInvalidInput for an unknown format.
Result<PixelFormat> ReadPixelFormat(const Node& node);

}  // namespace pt
