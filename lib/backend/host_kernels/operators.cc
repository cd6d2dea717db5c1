#include "lib/backend/host_kernels/operators/dynamic_quantization.h"

namespace pt::host {

const HostRow* FindOperator(const Node& node) {
  for (const auto table : {ReductionOperators(),
                           MovementOperators(),
                           SliceOperators(),
                           PadOperators(),
                           GatherOperators(),
                           ArgReductionOperators(),
                           NormalizationOperators(),
                           PlaneNormalizationOperators(),
                           ScatterOperators(),
                           AttentionOperators(),
                           ElementIndexOperators(),
                           OneHotOperators(),
                           TriluOperators(),
                           CumulativeSumOperators(),
                           TopKOperators(),
                           RotaryEmbeddingOperators(),
                           LpNormalizationOperators(),
                           GridSampleOperators(),
                           DeformableConvolutionOperators(),
                           ResizeOperators(),
                           RoiAlignOperators(),
                           ViewOperators(),
                           DynamicQuantizationOperators(),
                           FourierOperators(),
                           QuantisedLstmOperators()}) {
    for (const HostRow& row : table) {
      if (row.op == node.op && row.domain == node.domain) return &row;
    }
  }
  return nullptr;
}

}  // namespace pt::host
