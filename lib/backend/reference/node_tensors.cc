#include "lib/backend/reference/node_tensors.h"

#include <algorithm>
#include <cstring>

#include "lib/backend/reference/counted.h"
#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/feeding.h"

namespace pt::reference {
namespace {

bool LiesPlain(const TensorLayout& layout) { return layout.layout.is_row_major() && IsDense(layout); }

}  // namespace

Tensor TensorOf(const TensorView& view) {
  const uint64_t bytes = BytesOf(view.layout).value();
  return Tensor::FromShared(view.layout.type, view.layout.dims, nullptr,
                            {static_cast<const std::byte*>(view.data), static_cast<size_t>(bytes)})
      .value();
}

TensorView PlainViewOf(const Tensor& tensor) {
  return {const_cast<std::byte*>(tensor.bytes().data()), Dense(tensor.type(), tensor.dims())};  // NOLINT
}

NodeTensors::NodeTensors(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out, const RunContext& run)
    : graph_(graph),
      node_(graph.node(id)),
      in_values_(GroupInputs(graph, {&id, 1})),
      out_values_(GroupOutputs(graph, {&id, 1})),
      in_(in),
      out_(out),
      run_(run) {}

NodeTensors::~NodeTensors() {
  for (void* memory : taken_) run_.memory.GiveBack(memory);
}

bool NodeTensors::has(size_t input) const { return input < node_.inputs.size() && node_.inputs[input].valid(); }

Result<void*> NodeTensors::Take(uint64_t bytes) {
  taken_.reserve(taken_.size() + 1);
  PT_ASSIGN(void* const memory, run_.memory.Take(bytes));
  taken_.push_back(memory);
  return memory;
}

Result<TensorView> NodeTensors::Input(size_t input) {
  if (!has(input)) return MakeError(ErrorCode::kInvalidInput, "reference.input", "an input is missing");
  const Value& value = graph_.value(node_.inputs[input]);
  if (value.is_constant()) {
    const Tensor& tensor = *value.constant;
    if (tensor.type() == DataType::kString) return ViewOf(constants_.emplace_back(tensor));
    return PlainViewOf(tensor);
  }
  const auto at = std::find(in_values_.begin(), in_values_.end(), node_.inputs[input]);
  const TensorView& slot = *in_[static_cast<size_t>(at - in_values_.begin())];
  if (IsDatum(slot)) return slot;
  // In dims of one element strides may say anything, which who takes this need not know: a slice of a row, say.
  if (LiesPlain(slot.layout)) return TensorView{slot.data, Dense(slot.layout.type, slot.layout.dims)};
  TensorView dense{nullptr, Dense(slot.layout.type, slot.layout.dims)};
  PT_ASSIGN(const uint64_t bytes, BytesOf(dense.layout));
  PT_ASSIGN(dense.data, Take(bytes));
  ElementCopy(slot.layout, dense.layout).Run(slot.data, dense.data, run_.stream.team());
  return dense;
}

Result<std::vector<TensorView>> NodeTensors::WithCaptures(std::vector<TensorView> formal, const Subgraph& subgraph) {
  for (const uint32_t index : subgraph.captures) {
    PT_ASSIGN(TensorView captured, Input(index));
    formal.push_back(std::move(captured));
  }
  return formal;
}

TensorView NodeTensors::PlaceOf(size_t output, DataType type, std::span<const int64_t> dims) const {
  if (output >= node_.outputs.size()) return {};
  const auto at = std::find(out_values_.begin(), out_values_.end(), node_.outputs[output]);
  if (!node_.outputs[output].valid() || at == out_values_.end() || !graph_.value(*at).type.is_static()) return {};
  const TensorView& slot = *out_[static_cast<size_t>(at - out_values_.begin())];
  const bool fits = slot.layout.type == type && std::ranges::equal(slot.layout.dims, dims) && !IsDatum(slot);
  return fits && LiesPlain(slot.layout) ? slot : TensorView();
}

Status NodeTensors::SetOutput(size_t output, const TensorView& from) {
  const auto at = std::find(out_values_.begin(), out_values_.end(), node_.outputs[output]);
  if (!node_.outputs[output].valid() || at == out_values_.end()) return {};
  const auto index = static_cast<uint32_t>(at - out_values_.begin());
  const ValueType& type = graph_.value(*at).type;
  if (IsDatum(from)) {
    const Datum& datum = DatumIn(from);
    if (!datum.is_tensor() || datum.tensor().type() == DataType::kString || !type.other.empty()) {
      return PutDatum(run_.outputs, index, datum);
    }
    return SetOutput(output, PlainViewOf(datum.tensor()));
  }
  if (!type.other.empty()) {  // an optional value that a tensor came for
    PT_ASSIGN(TensorPtr kept, CountedCopy(run_.memory, TensorOf(from)));
    return PutDatum(run_.outputs, index, Datum(std::move(kept)));
  }
  PT_ASSIGN(const uint64_t bytes, BytesOf(from.layout));
  if (!type.is_static()) {
    PT_ASSIGN(const TensorView to, run_.outputs.Allocate(index, from.layout.type, from.layout.dims));
    if (bytes > 0) std::memcpy(to.data, from.data, bytes);
    return {};
  }
  const TensorView& slot = *out_[index];
  if (slot.layout.type != from.layout.type || slot.layout.dims != from.layout.dims) {
    return MakeError(ErrorCode::kInvalidInput, "reference.shape",
                     node_.op + ": output " + std::to_string(output) + " came out as " +
                         ToString(StaticType(from.layout.type, from.layout.dims)) + ", the graph says " +
                         ToString(StaticType(slot.layout.type, slot.layout.dims)));
  }
  if (LiesPlain(slot.layout)) {
    if (bytes > 0 && slot.data != from.data) std::memcpy(slot.data, from.data, bytes);
  } else {
    ElementCopy(from.layout, slot.layout).Run(from.data, slot.data, run_.stream.team());
  }
  return {};
}

}  // namespace pt::reference
