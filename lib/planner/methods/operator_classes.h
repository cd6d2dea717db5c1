// The operator classes by which TVM decides what is fused: Chen and others, "TVM: an automated end-to-end optimizing
// compiler for deep learning" (OSDI 2018), section 3.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

enum class OperatorClass : uint8_t {
  kInjective,          // each element of the result comes from one element of each input: arithmetic, movement
  kReduction,          // sums, extremes and the like over dims
  kComplexOutFusable,  // convolutions, products, pooling: elementwise work can be done on their results as they come
  kOpaque,             // never fused; all that the table does not name, and other domains'
};

OperatorClass ClassOf(const Node& node);

}  // namespace pt
