// What a file declares about its values (graph inputs and outputs, value_info), kept aside: inference must not lean on
// it. Exporters write ranks and dims that do not hold, so that what is inferred wins there.
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

// What inference found stands; a declared type that contradicts it in kind or element type is an error
// (kInvalidInput), one that differs in rank or dims is a warning of the report. Of values that inference does not know
// the declared type is taken over, its rank unless another declared rank does not hold.
Result<Graph> MergeDeclared(Graph graph, const DeclaredTypes& declared, LoadReport& report);

}  // namespace pt
