// Groups of nodes that oneDNN runs as one primitive: an anchor (convolution, matmul, …) followed by
// elementwise operations, or such operations alone; with DequantizeLinear nodes before and a QuantizeLinear behind
// them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/backend/onednn/pointwise.h"
#include "lib/backend/onednn/quantised.h"
#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/graph/packed_matrix.h"

namespace pt::onednn {

struct FusionGroup {
  std::vector<NodeId> nodes;   // ascending
  NodeId anchor;               // invalid: elementwise operations alone, starting from `main`
  ValueId main;                // valid without anchor; a real number, also where it is read as integers
  std::vector<Pointwise> ops;  // applied in order to the anchor's result or to main
  ValueId result;              // the one output, as integers when written

  std::vector<Quantised> reads = {};               // inputs of the operations that are read as integers
  std::optional<Quantised> writes = std::nullopt;  // the result is written as integers

  // Constant integer weights of a product of real numbers, dequantised when the kernel is made.
  std::optional<Quantised> real_weights = std::nullopt;
  // The same of a product whose matrix is of a few bits an element, maybe with scales by blocks.
  std::optional<PackedMatrix> packed_weights = std::nullopt;

  // How the operations read the value; null: as it is.
  const Quantised* read(ValueId real) const;
  // What the group as a whole reads for it.
  ValueId input_of(ValueId real) const;
  // Nothing but a change between integers and real numbers, or to other integers.
  bool is_conversion() const { return !anchor.valid() && ops.empty() && (!reads.empty() || writes); }
  bool has_integers() const { return !reads.empty() || writes.has_value(); }
};

// The group of one node; nullopt when this library cannot run it.
std::optional<FusionGroup> SingleGroup(const Graph& graph, NodeId node);
// Every group worth offering: single nodes, activations spelled out in several nodes, and chains
// grown from these along values that nothing else needs; conversions. In a stable order, without repeats.
std::vector<FusionGroup> NaturalGroups(const Graph& graph);
// The group with what surrounds it taken along: inputs that are dequantised for it alone and, when nothing else reads
// its result, the QuantizeLinear behind. nullopt where there is nothing to take, or the operations cannot take it.
std::optional<FusionGroup> WithIntegers(const Graph& graph, const FusionGroup& group);
// A product with the DequantizeLinear of its constant weights taken along, for where it cannot be computed on integers.
std::optional<FusionGroup> WithRealWeights(const Graph& graph, const FusionGroup& group);
// The group of exactly these nodes; nullopt when they are not one.
std::optional<FusionGroup> GroupOf(const Graph& graph, std::span<const NodeId> nodes);

// Whether anything may follow the group's anchor as a post-operation at all.
bool MayGrow(const Graph& graph, const FusionGroup& group);

}  // namespace pt::onednn
