// Which operands of post-operations go with which layout of the result.
#pragma once

#include <optional>
#include <string>

#include "lib/backend/onednn/memory_desc.h"

namespace pt::onednn {

// What the operations follow.
enum class Followed : uint8_t { kProduct, kConvolution, kBinary, kOther };

// Row-major, without gaps. Where dims of 1 stand means nothing.
bool LiesRowMajor(const Desc& desc);

// Why a primitive whose result lies as `result` must not be given `operand` so; nullopt when it may. Both have the dims
// that the primitive sees. slopes: of a prelu operation, else the second operand of a binary one. oneDNN does not say:
// beyond this its kernels read wild addresses, or wrong elements (test/backend/onednn_grid_test.cc holds all of it to
// the reference).
std::optional<std::string> WhyNoOperand(Followed followed, const Desc& result, const Desc& operand, bool slopes);

// The same of the slopes of a prelu primitive, which is not a post-operation.
std::optional<std::string> WhyNoSlopes(const Desc& result, const Desc& slopes);

}  // namespace pt::onednn
