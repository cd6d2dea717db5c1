#include "partitiontuner/graph/operators/gemm.h"

namespace pt {

GemmNode ReadGemm(const Node& node) {
  return {node.int_or("transA", 0) != 0, node.int_or("transB", 0) != 0, node.float_or("alpha", 1.0F),
          node.float_or("beta", 1.0F)};
}

}  // namespace pt
