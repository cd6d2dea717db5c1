// DisjointUnion: several graphs as one, side by side, for networks that are wanted together. Nothing connects them.
#pragma once

#include <span>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt {

// Between the name of a model and what it calls its own: "detector/x".
inline constexpr char kModelSeparator = '/';

// A graph under the name that everything of it is to have. The graph outlives the call.
struct NamedGraph {
  std::string name;
  const Graph* graph = nullptr;
};

// "detector/x"; a name that is empty stays so.
std::string NameIn(const std::string& model, const std::string& name);
// The types of what NameIn names: a symbolic dim is called "detector/batch".
ValueType TypeIn(const std::string& model, ValueType type);

// Inputs, outputs and nodes are the first graph's, then the second's and so on, each in its order. Values, nodes,
// symbolic dims and the sources of nodes get the graph's name in front, in nested graphs too. Tensors share the bytes
// of those that they stand for. Errors: kInvalidInput for no graph, and for names that are empty, hold the separator or
// come twice; kUnsupported where graphs have other opsets, or nodes of one domain in other versions, and where all
// together hold more than ids can name.
Result<Graph> DisjointUnion(std::span<const NamedGraph> graphs);

}  // namespace pt
