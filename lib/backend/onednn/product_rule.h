// Stacks of matrices that oneDNN multiplies rightly, as far as it depends on where they lie.
#pragma once

#include <optional>
#include <string>

#include "lib/backend/onednn/memory_desc.h"

namespace pt::onednn {

// The same tensor with the strides of leading batches of one as if they lay outermost, where oneDNN takes the first
// stride for the size of what is behind it.
Desc WithBatchesOfOneOutermost(const Desc& matrices);

// Why a product of matrices that lie so is not offered; nullopt where it is. The last two dims are the matrices', those
// before are batches, which may broadcast.
std::optional<std::string> WhyNoProduct(const Desc& left, const Desc& right, const Desc& result);

}  // namespace pt::onednn
