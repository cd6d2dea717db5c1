// The line form of graphs for tests and dumps; ParseGraph and GraphText are inverses for graphs without
// subgraphs and with constants given as dims and a fill rule.
//
//   input x float32[1,3,8,8]
//   const w float32[4,3,3,3] random 7        (also: zeros | ones | value 0.5 | ints 1 2 3;
//                                             whole 7: integers at random over all that the type holds)
//   y = Conv(x, w) pads=[1,1,1,1] strides=[1,1]
//   z, i = MaxPool(y) kernel_shape=[2,2]
//   a = Relu(z) : float32[1,4,7,7]           (optional output type)
//   output a
#pragma once

#include <string>
#include <string_view>

#include "partitiontuner/graph/graph.h"

namespace pt {

Result<Graph> ParseGraph(std::string_view text);
std::string GraphText(const Graph& graph);  // constants as type, dims and content hash

}  // namespace pt
