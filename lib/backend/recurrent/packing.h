// Weights of recurrent layers in the order that the kernels read them.
#pragma once

#include <memory>
#include <vector>

#include "lib/backend/recurrent/steps.h"
#include "partitiontuner/backend/backend.h"

namespace pt::recurrent {

// Elements of a matrix of all directions: [direction][block][depth][gate][lane].
Result<int64_t> PackedCount(const RecurrentNode& node, int64_t depth, int64_t lanes);

// W or R, packed once through the weight store.
Result<std::shared_ptr<DeviceBuffer>> PackWeights(const RecurrentNode& node, const Tensor& matrix, int64_t lanes,
                                                  CompileContext& context);

// [direction][block][gate][lane]: what the input part starts from. Of the GRU's hidden gate, whose reset comes after
// the product, that is the bias of W alone.
std::vector<float> PackInputBias(const RecurrentNode& node, int64_t lanes);
// [direction][block][lane]: the GRU's other bias of the hidden gate; empty for other cells.
std::vector<float> PackProductBias(const RecurrentNode& node, int64_t lanes);

}  // namespace pt::recurrent
