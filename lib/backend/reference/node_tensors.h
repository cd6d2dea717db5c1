// NodeTensors: the inputs and outputs of a node during one Enqueue, for kernels that take whatever sizes and kinds of
// values come: control flow, and operators on what is not a tensor of numbers.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "partitiontuner/backend/datum_view.h"

namespace pt::reference {

// Everything that it hands out is dense and row-major, or of a Datum, and lasts until it is destroyed.
class NodeTensors {
 public:
  NodeTensors(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out, const RunContext& run);
  ~NodeTensors();
  NodeTensors(const NodeTensors&) = delete;
  NodeTensors& operator=(const NodeTensors&) = delete;

  bool has(size_t input) const;
  Result<TensorView> Input(size_t input);
  // The inputs of a nested graph: `formal`, then what it captures.
  Result<std::vector<TensorView>> WithCaptures(std::vector<TensorView> formal, const Subgraph& subgraph);

  // Memory that lasts as long as this.
  Result<void*> Take(uint64_t bytes);

  // Where output i lies if it is of that type and dims, dense and known before the run; else a view without data.
  TensorView PlaceOf(size_t output, DataType type, std::span<const int64_t> dims) const;
  // Gives output i its size and content, which may be in its place already; nothing for one that is not read.
  Status SetOutput(size_t output, const TensorView& from);

 private:
  const Graph& graph_;
  const Node& node_;
  const std::vector<ValueId> in_values_, out_values_;
  TensorSlots in_, out_;
  const RunContext& run_;
  std::vector<void*> taken_;
  std::deque<Datum> constants_;  // of strings
};

// Of numbers. Views are of memory that somebody writes; this one is only read.
TensorView PlainViewOf(const Tensor& tensor);
// The bytes of a view that is dense, row-major and of numbers, borrowed.
Tensor TensorOf(const TensorView& view);

}  // namespace pt::reference
