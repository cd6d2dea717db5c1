// Which nodes a plugin takes to another program's runtime at all: a table of operators, one row each.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/platform/platform.h"

namespace pt::plugins {

// Element types as one number.
class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<DataType> types) {
    for (const DataType type : types) bits_ |= 1u << static_cast<unsigned>(type);
  }
  constexpr bool contains(DataType type) const { return (bits_ >> static_cast<unsigned>(type) & 1u) != 0; }

 private:
  uint32_t bits_ = 0;
};

inline constexpr TypeSet kFloat32Alone = {DataType::kFloat32};

struct TakenRow {
  std::string_view op;
  // Of attributes and inputs beyond their types; "" when it is taken. May be null.
  std::string (*why_not)(const Graph& graph, const Node& node) = nullptr;
  // Of inputs that are computed, and of outputs.
  TypeSet types = kFloat32Alone;
  // Taken also when it computes on constants alone: the runtime is to see what a quantised constant stands for.
  bool of_constants = false;
};

// Why the node is not taken; nothing for one of the default domain that has a row, computes on something (unless its
// row says that it need not), and whose computed inputs and outputs are tensors of known, positive dims and of the
// row's types. Constants may also be integers and bools: axes, shapes, indices. rows: by name, ascending.
// exact_products: HasExactProducts of the host; elsewhere the runtimes' products of quantised tensors overflow, and
// what makes such tensors, reads them or multiplies them is not taken.
std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id, std::span<const TakenRow> rows,
                                       bool exact_products);

// The processor multiplies integers of 8 bits and sums them without overflow. A host that says nothing of its
// instructions is taken to be this machine's.
bool HasExactProducts(const Device& host);

// For rows. The operator's other outputs are not there.
std::string WithOneOutput(const Graph& graph, const Node& node);
// The operator in training mode is not there.
std::string NotTraining(const Graph& graph, const Node& node);
// Resize of the last two of four dims, stretched by nearest or linear sampling. Runtimes disagree with the standard in
// what is left: cubic and antialiased sampling, cropping, other dims, axes out of order, kept aspect ratios.
std::string StretchesImages(const Graph& graph, const Node& node);

}  // namespace pt::plugins
