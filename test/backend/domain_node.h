// One node of another domain on tensors, by the reference library.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt::testing {

using Attributes = std::map<std::string, Attribute, std::less<>>;

inline Result<std::vector<Tensor>> EvaluateOf(const std::string& domain, const std::string& op, int64_t version,
                                              const Attributes& attributes, const std::vector<Tensor>& inputs,
                                              size_t outputs = 1) {
  GraphBuilder builder;
  builder.set_domain(domain, version);
  Node node;
  node.op = op;
  node.domain = domain;
  node.attributes = attributes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    node.inputs.push_back(builder.AddInput("x" + std::to_string(i), StaticType(inputs[i].type(), inputs[i].dims())));
  }
  std::vector<ValueId> made;
  for (size_t i = 0; i < outputs; ++i) made.push_back(builder.AddValue("y" + std::to_string(i), {}));
  node.outputs = made;
  node.formal_inputs = static_cast<uint32_t>(inputs.size());
  const NodeId id = builder.AddNode(std::move(node));
  for (const ValueId value : made) builder.AddOutput(value);
  const Graph graph = builder.Build().value();
  return EvaluateNode(graph, id, inputs);
}

}  // namespace pt::testing
