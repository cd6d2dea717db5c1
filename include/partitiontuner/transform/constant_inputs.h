// Inputs that always have one value, a sampling rate or a mask of ones say: what depends on them is computed once, and
// an If on them is the branch taken.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// By name of the input: the number that every element of it is.
using ConstantInputs = std::map<std::string, double>;

// The shortest text that reads back as the number: "16000", "0.1".
std::string ConstantText(double number);

// By input of the graph: its value, or nothing where any will do. Errors (kUsage): no such input; it is not a tensor
// of real numbers; its type has no such number (the nearest one is taken where it is floating-point); its dims are not
// known. kOutOfMemory: it is too large.
Result<std::vector<std::optional<Tensor>>> ConstantTensors(const Graph& graph, const ConstantInputs& constants);

// The graph with what reads these inputs reading the values instead. The inputs stay: callers still give them,
// and sessions refuse what differs (SessionOptions::constant_inputs). Types are not inferred anew.
Result<Graph> ReadConstantInputs(const Graph& graph, std::span<const std::optional<Tensor>> values);

}  // namespace pt
