// Operators whose results are as large as the data says. They take whatever sizes come and ask for the memory of their
// outputs when they know how much it is.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::host {

inline constexpr size_t kMostDataSizedInputs = 5;

// Whether elements of the type are real numbers or bool.
bool IsNumber(DataType type);

// What all runs of a node have in common.
struct DataSizedNode {
  DataSizedNode(const Graph& graph, NodeId node, TensorSlots in, TensorSlots out);

  const Graph& graph;
  const Node& node;
  std::vector<TensorView> constants;      // by input; those that are not constant are not looked at
  std::vector<const TensorView*> inputs;  // by input: its slot, or its constant; null: absent
  std::vector<ValueId> out_values;
  std::vector<const TensorView*> out;
};

// The node's tensors in one run, dense and row-major.
class DataSizedRun {
 public:
  DataSizedRun(const DataSizedNode& node, const RunContext& run) : node_(node), run_(run) {}
  ~DataSizedRun();
  DataSizedRun(const DataSizedRun&) = delete;
  DataSizedRun& operator=(const DataSizedRun&) = delete;

  // Before anything else. kOutOfMemory where an input that lies otherwise cannot be copied.
  Status TakeInputs();

  Team* team() const { return run_.stream.team(); }
  const Node& node() const { return node_.node; }
  int64_t opset() const { return node_.graph.opset(); }
  bool has(size_t input) const { return input < node_.inputs.size() && node_.inputs[input] != nullptr; }
  const std::vector<int64_t>& dims(size_t input) const { return node_.inputs[input]->layout.dims; }
  DataType type(size_t input) const { return node_.inputs[input]->layout.type; }
  int64_t count(size_t input) const;
  template <typename T>
  const T* in(size_t input) const {
    return static_cast<const T*>(in_[input]);
  }

  // Where output i goes, once a run: null where it has no reader. kInvalidInput where the graph says other dims.
  Result<void*> Output(size_t i, DataType type, std::span<const int64_t> dims);
  // After the last output is written: brings those to their place that lie otherwise.
  void PutOutputs();

  Error Invalid(std::string why) const;
  // Counts a negative axis from the end; kInvalidInput where it does not exist.
  Result<size_t> Axis(int64_t axis, size_t rank) const;

 private:
  Result<void*> Take(uint64_t bytes);

  const DataSizedNode& node_;
  const RunContext& run_;
  std::array<const void*, kMostDataSizedInputs> in_{};
  std::vector<void*> taken_;
  std::vector<std::pair<const void*, const TensorView*>> put_;
};

// A node bound to a run state. One run at a time; keeps memory from run to run.
class DataSized {
 public:
  virtual ~DataSized() = default;
  virtual Status Run(DataSizedRun& run) = 0;
};

struct DataSizedRow {
  std::string_view op;
  // Of the first input; what else may be wrong shows in the run.
  bool (*takes)(DataType type);
  std::unique_ptr<DataSized> (*make)();
};

// Whether the node is of a row, on types that it takes.
bool IsDataSized(const Graph& graph, NodeId node);
// Of such a node. The graph must outlive the kernel.
std::unique_ptr<Kernel> MakeDataSized(const Graph& graph, NodeId node);

// One table a family; data_sized.cc lists them.
std::span<const DataSizedRow> SelectionOperators();
std::span<const DataSizedRow> UniqueOperators();
std::span<const DataSizedRow> NonMaxSuppressionOperators();

}  // namespace pt::host
