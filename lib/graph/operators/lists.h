// Lists and tensors among a node's attributes, for the readers of this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// What the attribute holds if it is of kind T; null where the node does not have it, or it is of another kind.
template <typename T>
const T* AttributeOf(const Node& node, std::string_view name) {
  const Attribute* const found = node.find(name);
  return found == nullptr ? nullptr : std::get_if<T>(found);
}

// A copy of it, or of `otherwise`.
template <typename T>
T AttributeOr(const Node& node, std::string_view name, T otherwise) {
  const T* const found = AttributeOf<T>(node, name);
  return found == nullptr ? std::move(otherwise) : *found;
}

inline std::vector<float> FloatsOf(const Node& node, std::string_view name) {
  return AttributeOr(node, name, std::vector<float>());
}

// There is an attribute of that name, of another kind than T.
template <typename T>
bool IsOtherKind(const Node& node, std::string_view name) {
  return node.find(name) != nullptr && AttributeOf<T>(node, name) == nullptr;
}

}  // namespace pt
