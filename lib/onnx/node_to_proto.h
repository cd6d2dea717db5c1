// Nodes of a Graph as NodeProto.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "lib/onnx/fence.h"
#include "partitiontuner/graph/graph.h"

namespace pt {

// How much of a tensor in an attribute the proto gets.
using FillTensor = std::function<void(const Tensor& tensor, proto::TensorProto& to)>;

// Operator, domain, formal inputs, outputs and attributes, for an empty proto; its name and nested graphs are the
// caller's. names: of the graph's values, by id; that of an absent one is "".
void NodeToProto(const Node& node, std::span<const std::string> names, const FillTensor& fill, proto::NodeProto& to);

// The names that a nested graph's captured values have outside, by the nested graph's ids; all others are empty.
std::vector<std::string> CapturedNames(const Node& node, const Subgraph& subgraph, std::span<const std::string> names);

// The attribute of that nested graph, which is empty.
proto::GraphProto& AddGraphAttribute(const Subgraph& subgraph, proto::NodeProto& to);

// A model without a graph that imports what the graph's operators are of; no default domain for an opset of 0.
proto::ModelProto ModelWithImports(const Graph& graph);

}  // namespace pt
