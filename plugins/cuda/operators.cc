#include "plugins/cuda/operators.h"

#include <algorithm>

#include "plugins/cuda/attention.h"
#include "plugins/cuda/attention_kernel.h"
#include "plugins/cuda/convolution.h"
#include "plugins/cuda/expression.h"
#include "plugins/cuda/integer_average.h"
#include "plugins/cuda/integer_product.h"
#include "plugins/cuda/top_k.h"

namespace pt::cuda {
namespace {

const CudaRow* FindOperator(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  for (const std::span<const CudaRow> table :
       {RowOperators(), MovementOperators(), PoolingOperators(), IndexedOperators(), PadOperators(), ResizeOperators(),
        NormalizationOperators(), LineOperators(), RecurrentOperators(), QuantisationOperators()}) {
    const auto row = std::ranges::find(table, node.op, &CudaRow::op);
    if (row != table.end()) return &*row;
  }
  return nullptr;
}

// What has several ways to run; null for anything else.
struct Family {
  Result<std::vector<std::string>> (*variants)(const CudaSite&);
  Result<CudaRoutine> (*make)(const CudaSite&, std::string_view);
};
constexpr Family kConvolution{ConvolutionVariants, MakeConvolution}, kTopK{TopKVariants, MakeTopK},
    kAttention{AttentionVariants, MakeAttentionKernel}, kMatrixProduct{MatrixVariants, MakeMatrixProduct};

const Family* FamilyOf(const CudaSite& site) {
  if (IsConvolution(site.node())) return &kConvolution;
  if (IsTopK(site.node())) return &kTopK;
  if (IsAttention(site.graph, site.nodes)) return &kAttention;
  const NodeId product = FindIntegerProduct(site.graph, site.nodes);
  if (!product.valid()) return nullptr;
  return IsIntegerConvolution(site.graph.node(product)) ? &kConvolution : &kMatrixProduct;
}

}  // namespace

Result<std::vector<std::string>> KernelVariants(const CudaSite& site) {
  if (const Family* const family = FamilyOf(site)) return family->variants(site);
  return std::vector<std::string>{""};
}

Result<CudaRoutine> MakeRoutine(const CudaSite& site, std::string_view variant) {
  if (const Family* const family = FamilyOf(site)) return family->make(site, variant);
  if (FindIntegerAverage(site.graph, site.nodes).valid()) return MakeIntegerAverage(site);
  if (site.nodes.size() == 1) {
    if (const CudaRow* const row = FindOperator(site.node())) return row->make(site);
    if (!IsElementwiseOperator(site.node())) return site.Unsupported("there is no kernel for it");
  }
  PT_ASSIGN(KernelText kernel, MakeElementwise(site));
  return CudaRoutine{{std::move(kernel)}, InPlaceInputs(site)};
}

}  // namespace pt::cuda
