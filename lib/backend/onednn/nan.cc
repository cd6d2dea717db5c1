#include "lib/backend/onednn/nan.h"

#include <algorithm>
#include <array>

#include "lib/backend/onednn/winograd.h"

namespace pt::onednn {
namespace {

// Anchors that pass over NaN, or whose result is another number beside it.
constexpr std::array<std::string_view, 4> kLosers = {"MaxPool", "GlobalMaxPool", "Softmax", "LogSoftmax"};

// docs/decisions/0003-edges-of-activations.md
bool MayLoseNan(const Pointwise& op) {
  if (op.kind == Pointwise::Kind::kPrelu) return true;  // makes it of a slope that is not asked for
  switch (op.algorithm) {
    case dnnl::algorithm::eltwise_relu:
      return op.alpha == 0;
    case dnnl::algorithm::eltwise_clip:
    case dnnl::algorithm::eltwise_hardsigmoid:
    case dnnl::algorithm::eltwise_exp:
    case dnnl::algorithm::binary_max:
    case dnnl::algorithm::binary_min:
      return true;
    default:
      return false;
  }
}

// Some kernels of convolutions make 0 of NaN by the functions that they compute through an exponent.
bool IsArithmetic(const Pointwise& op) {
  switch (op.algorithm) {
    case dnnl::algorithm::eltwise_linear:
    case dnnl::algorithm::eltwise_abs:
    case dnnl::algorithm::eltwise_sqrt:
    case dnnl::algorithm::binary_add:
    case dnnl::algorithm::binary_sub:
    case dnnl::algorithm::binary_mul:
    case dnnl::algorithm::binary_div:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool GroupKeepsNan(const Graph& graph, const FusionGroup& group, Way way) {
  if (group.has_integers() || WinogradTile(way)) return false;  // integers have none, minimal filtering spreads it
  if (!group.anchor.valid()) return std::ranges::none_of(group.ops, MayLoseNan);
  const bool loses = std::ranges::find(kLosers, graph.node(group.anchor).op) != kLosers.end();
  return !loses && std::ranges::all_of(group.ops, IsArithmetic);
}

}  // namespace pt::onednn
