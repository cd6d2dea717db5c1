// What a file declares about its values (graph inputs and outputs, value_info), kept aside: inference must not lean on
// it, and what contradicts it is refused.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/onnx/fence.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt {

using DeclaredTypes = std::unordered_map<std::string, ValueType>;

// Of the values, inputs and outputs of one graph.
DeclaredTypes DeclaredTypesOf(const proto::GraphProto& graph);

// Initialisers by name against everything that the graph declares about those names. Errors (kInvalidInput): another
// element type, rank or dim.
Status CheckInitializers(const proto::GraphProto& graph, std::span<const std::pair<std::string, Tensor>> initializers);

// What inference found stands; a declared type that contradicts it in kind, element type or rank is an error
// (kInvalidInput), one that only differs in numbers is a warning of the report.
Result<Graph> MergeDeclared(Graph graph, const DeclaredTypes& declared, LoadReport& report);

}  // namespace pt
