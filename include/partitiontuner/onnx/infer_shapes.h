// InferShapes: specialises a graph to given dims and works out the types of all its values. Used
// after loading, after constant folding, and for every new set of input shapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

struct ShapeOverrides {
  std::map<std::string, int64_t> dims;                 // by name: {"batch", 1}
  std::map<std::string, std::vector<int64_t>> inputs;  // by input; its named dims are bound everywhere
};

// A copy of the graph with types inferred (by the ONNX library, values of small integer tensors
// propagated). Ids, names and order are unchanged. Lenient: what cannot be inferred keeps the type
// it had. Errors (kUsage): an override names no input or dim of the graph, or contradicts a number
// in the model or another override; these list what there is.
Result<Graph> InferShapes(const Graph& graph, const ShapeOverrides& overrides = {});

// Nodes whose inputs' shapes contradict each other or an attribute, each with what the ONNX library
// says about it, at the types the graph has; nodes with nested graphs are passed over. It explains
// a refusal: the library objects to some valid nodes as well, so it is not a check in itself.
std::map<NodeId, std::string> ShapeFaults(const Graph& graph);

// An input's dim that nothing has given a number yet.
struct UnresolvedDim {
  std::string input;
  int64_t axis = -1;  // -1: the input's rank is unknown
  std::string name;   // of the dim; empty: unnamed
  std::string flag;   // what to say on the command line: "--dim batch=1", "--shape x=1x3x224x224"
};

// In input order, each named dim once. Empty: every input is static.
std::vector<UnresolvedDim> UnresolvedDims(const Graph& graph);

}  // namespace pt
