// Which nodes a plugin takes to another program's runtime at all: a table of operators, one row each.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "partitiontuner/graph/graph.h"

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

struct OperatorRow {
  std::string_view op;
  // Of attributes and inputs beyond their types; "" when it is taken. May be null.
  std::string (*why_not)(const Graph& graph, const Node& node) = nullptr;
  // Of inputs that are computed, and of outputs.
  TypeSet types = kFloat32Alone;
};

// Why the node is not taken; nothing for one of the default domain that has a row, computes on something, and whose
// computed inputs and outputs are tensors of known, positive dims and of the row's types. Constants may be integers and
// bools besides: axes, shapes, indices. rows: by name, ascending.
std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id, std::span<const OperatorRow> rows);

// For rows. The operator's other outputs are not there.
std::string WithOneOutput(const Graph& graph, const Node& node);
// The operator in training mode is not there.
std::string NotTraining(const Graph& graph, const Node& node);

}  // namespace pt::plugins
