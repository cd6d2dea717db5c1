#include "lib/backend/reference/datum_operator.h"

#include <algorithm>
#include <array>

#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/node_tensors.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

using Table = std::span<const DatumOperator> (*)();

constexpr std::array<Table, 8> kTables = {
    StringOperators,        StringMoveOperators, StringCastOperators, LabelOperators,
    StringFeatureOperators, SequenceOperators,   OptionalOperators,   TfIdfStringOperators,
};

bool AnyHeldAsDatum(const Graph& graph, std::span<const ValueId> values) {
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId id) { return id.valid() && IsHeldAsDatum(graph.value(id).type); });
}

Error OfKind(const DatumCall& call, size_t i, const char* wanted) {
  return call.Invalid("input " + std::to_string(i) + " is " + (call.has(i) ? ToString(*call.in[i]) : "missing") +
                      ", not " + wanted);
}

Status FillInputs(NodeTensors& tensors, DatumCall& call) {
  for (uint32_t i = 0; i < call.node.formal_inputs; ++i) {
    call.in.emplace_back();
    call.borrowed.push_back(false);
    if (!tensors.has(i)) continue;
    PT_ASSIGN(const TensorView view, tensors.Input(i));
    if (IsDatum(view)) {
      call.in.back() = DatumIn(view);
    } else {
      call.in.back() = Datum(TensorOf(view));
      call.borrowed.back() = true;
    }
  }
  return {};
}

}  // namespace

Error DatumCall::Invalid(const std::string& why) const {
  return Named(MakeError(ErrorCode::kInvalidInput, "reference.invalid", node.op + ": " + why), graph, id);
}

Error DatumCall::Unsupported(const std::string& why) const {
  return Named(MakeError(ErrorCode::kUnsupported, "reference.unsupported", node.op + " " + why), graph, id);
}

Result<const Tensor*> DatumCall::TensorAt(size_t i) const {
  if (!has(i) || !in[i]->is_tensor()) return OfKind(*this, i, "a tensor");
  return &in[i]->tensor();
}

Result<std::span<const std::string>> DatumCall::StringsAt(size_t i) const {
  if (!has(i) || !in[i]->is_tensor() || in[i]->tensor().type() != DataType::kString) {
    return OfKind(*this, i, "a tensor of strings");
  }
  return in[i]->tensor().strings();
}

Result<const Datum*> DatumCall::SequenceAt(size_t i) const {
  if (!has(i) || !in[i]->is_sequence()) return OfKind(*this, i, "a sequence");
  return &*in[i];
}

Result<int64_t> DatumCall::IntegerAt(size_t i) const {
  if (!has(i) || !in[i]->is_tensor() || !IsIndexType(in[i]->tensor().type()) || in[i]->tensor().element_count() != 1) {
    return OfKind(*this, i, "one integer");
  }
  return in[i]->tensor().ToInts()[0];
}

Result<TensorPtr> DatumCall::Keep(size_t i) const {
  PT_ASSIGN(const Tensor* const tensor, TensorAt(i));
  if (!borrowed[i]) return in[i]->shared_tensor();
  return CountedCopy(memory, *tensor);
}

Status DatumCall::SetStrings(size_t output, std::vector<int64_t> dims, std::vector<std::string> strings,
                             Receipt receipt) {
  if (output >= out.size()) return {};
  PT_ASSIGN(Tensor tensor, Tensor::FromStrings(std::move(dims), std::move(strings)));
  out[output] = Datum(KeepWith(std::move(receipt), std::move(tensor)));
  return {};
}

const DatumOperator* FindDatumOperator(const Node& node) {
  for (const Table& table : kTables) {
    const std::span<const DatumOperator> rows = table();
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const DatumOperator& r) { return r.op == node.op && r.domain == node.domain; });
    if (row != rows.end()) return &*row;
  }
  return nullptr;
}

bool TakesData(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (AnyHeldAsDatum(graph, node.inputs) || AnyHeldAsDatum(graph, node.outputs)) return true;
  return FindDatumOperator(node) != nullptr && FindOperator(node, OpsetOf(graph, node)) == nullptr;
}

bool TakesData(const Graph& graph, NodeId id, TensorSlots in) {
  return TakesData(graph, id) ||
         std::any_of(in.begin(), in.end(), [](const TensorView* slot) { return IsDatum(*slot); });
}

Status RunDatumNode(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out, const RunContext& run,
                    std::shared_ptr<const void>& kept) {
  const Node& node = graph.node(id);
  DatumCall call{graph, id, node, OpsetOf(graph, node), run.memory, run.stop, kept, {}, {}, {}};
  const DatumOperator* const row = FindDatumOperator(node);
  if (row == nullptr) return call.Unsupported("is not supported for what its inputs turned out to be");
  NodeTensors tensors(graph, id, in, out, run);
  PT_CHECK_OK(FillInputs(tensors, call));
  call.out.resize(node.outputs.size());
  PT_CHECK_OK(row->run(call));
  for (size_t i = 0; i < call.out.size(); ++i) PT_CHECK_OK(tensors.SetOutput(i, ViewOf(call.out[i])));
  return {};
}

}  // namespace pt::reference
