// A node as its readers see it: an operator's name and attributes, in no graph.
#pragma once

#include <map>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

using Attributes = std::map<std::string, Attribute, std::less<>>;

inline Node Made(const char* op, Attributes attributes = {}) {
  Node node;
  node.op = op;
  node.attributes = std::move(attributes);
  return node;
}

}  // namespace pt::testing
