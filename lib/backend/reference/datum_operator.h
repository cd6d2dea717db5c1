// Operators on values that are not tensors of numbers: strings, sequences, optional values. They run on whole data, on
// one core, and are prepared anew in every run, except what a row keeps; nothing of them is timed. Where a row has the
// name of one of operator.h's, it takes the node over as soon as such a value is among its inputs or outputs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/backend/reference/counted.h"
#include "partitiontuner/support/limits.h"

namespace pt::reference {

// One node in one run.
struct DatumCall {
  const Graph& graph;
  NodeId id;
  const Node& node;
  int64_t opset;
  RunMemory& memory;
  StopFlag& stop;
  std::shared_ptr<const void>& kept;     // what an earlier run of the same node made to keep; null in the first
  std::vector<std::optional<Datum>> in;  // one each of the formal inputs; nothing for absent ones
  std::vector<bool> borrowed;            // by input: its bytes are a slot's, and are gone after the call
  std::vector<Datum> out;                // one each of the node's outputs, to be filled

  bool has(size_t i) const { return i < in.size() && in[i].has_value(); }
  Error Invalid(const std::string& why) const;
  Error Unsupported(const std::string& why) const;

  // kInvalidInput when there is no input i, or it is something else.
  Result<const Tensor*> TensorAt(size_t i) const;
  Result<std::span<const std::string>> StringsAt(size_t i) const;
  Result<const Datum*> SequenceAt(size_t i) const;
  // One integer, of int32 or int64; kInvalidInput for anything else.
  Result<int64_t> IntegerAt(size_t i) const;
  // The tensor of input i, to be kept beyond the call: shared, or copied where it is borrowed.
  Result<TensorPtr> Keep(size_t i) const;

  // Fills an output with strings that were counted before they were made.
  Status SetStrings(size_t output, std::vector<int64_t> dims, std::vector<std::string> strings, Receipt receipt);
};

struct DatumOperator {
  std::string_view op;
  Status (*run)(DatumCall&);
  std::string_view domain = "";
};

// The row of a node; null when no table has one.
const DatumOperator* FindDatumOperator(const Node& node);

// One table a family; datum_operator.cc lists them.
std::span<const DatumOperator> StringOperators();
std::span<const DatumOperator> StringMoveOperators();
std::span<const DatumOperator> StringCastOperators();
std::span<const DatumOperator> LabelOperators();
std::span<const DatumOperator> StringFeatureOperators();
std::span<const DatumOperator> SequenceOperators();
std::span<const DatumOperator> OptionalOperators();
std::span<const DatumOperator> TfIdfStringOperators();

// True when a node has to run by such a row: it has no other one, or an input or output is known to be no tensor of
// numbers. What is not known until run time is asked then.
bool TakesData(const Graph& graph, NodeId id);
bool TakesData(const Graph& graph, NodeId id, TensorSlots in);

// `kept` is the node's own, from run to run.
Status RunDatumNode(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out, const RunContext& run,
                    std::shared_ptr<const void>& kept);

}  // namespace pt::reference
