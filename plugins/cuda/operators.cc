#include "plugins/cuda/operators.h"

#include <algorithm>

#include "plugins/cuda/attention.h"
#include "plugins/cuda/attention_kernel.h"
#include "plugins/cuda/convolution.h"
#include "plugins/cuda/expression.h"
#include "plugins/cuda/top_k.h"

namespace pt::cuda {
namespace {

const OperatorRow* FindOperator(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  for (const std::span<const OperatorRow> table :
       {RowOperators(), MovementOperators(), PoolingOperators(), IndexedOperators(), PadOperators(), ResizeOperators(),
        NormalizationOperators(), LineOperators(), RecurrentOperators()}) {
    const auto row = std::ranges::find(table, node.op, &OperatorRow::op);
    if (row != table.end()) return &*row;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<std::string>> KernelVariants(const Site& site) {
  if (IsConvolution(site.node())) return ConvolutionVariants(site);
  if (IsTopK(site.node())) return TopKVariants(site);
  if (IsAttention(site.graph, site.nodes)) return AttentionVariants(site);
  return std::vector<std::string>{""};
}

Result<Routine> MakeRoutine(const Site& site, std::string_view variant) {
  if (IsConvolution(site.node())) return MakeConvolution(site, variant);
  if (IsTopK(site.node())) return MakeTopK(site, variant);
  if (IsAttention(site.graph, site.nodes)) return MakeAttentionKernel(site, variant);
  if (site.nodes.size() == 1) {
    if (const OperatorRow* const row = FindOperator(site.node())) return row->make(site);
    if (!IsElementwiseOperator(site.node())) return site.Unsupported("there is no kernel for it");
  }
  PT_ASSIGN(KernelText kernel, MakeElementwise(site));
  return Routine{{std::move(kernel)}, InPlaceInputs(site)};
}

}  // namespace pt::cuda
