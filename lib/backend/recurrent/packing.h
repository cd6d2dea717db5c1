// Weights of recurrent layers in the order that the kernels read them.
#pragma once

#include <memory>
#include <vector>

#include "lib/backend/recurrent/steps.h"
#include "partitiontuner/backend/backend.h"

namespace pt::recurrent {

// Some of a node's gates.
struct Gates {
  int64_t first = 0, last = 0;  // past the end
  int64_t count() const { return last - first; }
};

// Whether the node is a GRU whose hidden state comes from the product with reset ∘ h, so that its gates come first.
bool ResetsBeforeProduct(const RecurrentNode& node);

// Elements of such a matrix of all directions: [direction][block][depth][gate][lane].
Result<int64_t> PackedCount(const RecurrentNode& node, Gates gates, int64_t depth, int64_t lanes);

// Those gates of W or R, packed once through the weight store.
Result<std::shared_ptr<DeviceBuffer>> PackWeights(const RecurrentNode& node, Gates gates, const Tensor& matrix,
                                                  int64_t lanes, CompileContext& context);

// [direction][block][input, output, forget][lane]; empty without peepholes.
std::vector<float> PackPeepholes(const RecurrentNode& node, int64_t lanes);

// [direction][block][gate][lane]: what the input part starts from. Of the GRU's hidden state, where the reset comes
// after the product, that is the bias of W alone.
std::vector<float> PackInputBias(const RecurrentNode& node, int64_t lanes);
// [direction][block][lane]: the other bias of such a GRU's hidden state; empty for other cells.
std::vector<float> PackProductBias(const RecurrentNode& node, int64_t lanes);

}  // namespace pt::recurrent
