// Products of 8-bit integers on panels: MatMulInteger and ConvInteger, alone or with what turns their sums into real
// numbers and is element-wise behind that. The pattern that quantisers write is one group: Cast to float32, Mul by the
// product of both scales, Add of a constant.
#pragma once

#include <optional>
#include <vector>

#include "lib/backend/host_kernels/kernels/bounds.h"
#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

// How a factor or summand meets the result: one number, one for each column of a matrix (its last dim), or one for each
// channel of an image.
enum class Spread : uint8_t { kOne, kColumns, kRows };

struct IntegerProduct {
  NodeId node;  // MatMulInteger or ConvInteger
  bool convolution = false;
  // Matrices as they are multiplied: a convolution's filters by its images.
  ValueId a, b, a_zero, b_zero;  // zero points may be absent
  ValueId result;                // of the nodes below
  bool is_real = false;          // the result is float32; otherwise the sums as they are
  // Of which the scale is the product, up to two; known in the run or before.
  std::vector<std::pair<ValueId, Spread>> scales;
  std::optional<Tensor> bias;
  Spread bias_spread = Spread::kOne;
  std::optional<Bounds> bounds = {};  // of real results
  std::vector<NodeId> nodes;          // that the product stands for, ascending
  std::vector<NodeId> rest;           // element-wise, behind it
};

// nullopt where the nodes are not such a group.
std::optional<IntegerProduct> ReadIntegerProduct(const Graph& graph, std::span<const NodeId> nodes);

// Groups of several nodes worth offering. `able`: nodes that run element-wise.
std::vector<std::vector<NodeId>> IntegerProductGroups(const Graph& graph, const std::vector<bool>& able);

// The site's nodes, which the product was read from. kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeIntegerProduct(const HostSite& site, const IntegerProduct& product);

}  // namespace pt::host
