// How the reference library's routines are fed: dense, row-major, one element a byte or more.
#pragma once

#include "lib/backend/reference/types.h"

namespace pt::reference {

inline bool IsSubByte(DataType type) { return BitsOf(type) != 0 && BitsOf(type) < 8; }
inline uint64_t FedSize(DataType type, int64_t count) { return static_cast<uint64_t>(FedBytes(type) * count); }
inline TensorLayout Dense(DataType type, const std::vector<int64_t>& dims) {
  return DenseLayout(type, dims, RowMajor(dims.size())).value();
}
// Of the operator's domain.
inline int64_t OpsetOf(const Graph& graph, const Node& node) {
  if (node.domain.empty()) return graph.opset();
  const auto version = graph.domains().find(node.domain);
  return version != graph.domains().end() ? version->second : 1;
}
inline Error Named(Error error, const Graph& graph, NodeId id) {
  if (error.node.empty()) error.node = NodeLabel(graph, id);
  return error;
}

}  // namespace pt::reference
