#include "lib/backend/reference/control_flow.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/kernel.h"
#include "lib/backend/reference/run_time_kernel.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

Error Refused(const Graph& graph, NodeId id, const std::string& why) {
  return Named(MakeError(ErrorCode::kUnsupported, "reference.control_flow", graph.node(id).op + " " + why), graph, id);
}

bool LiesPlain(const TensorLayout& layout) { return layout.layout.is_row_major() && IsDense(layout); }

// Every node of the graph and of what is nested in it.
Status CheckNested(const Graph& graph) {
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const NodeId id(n);
    if (IsControlFlow(graph.node(id))) {
      PT_CHECK_OK(CheckControlFlow(graph, id));
    } else if (IsPreparedInRun(graph, id)) {
      PT_CHECK_OK(CheckForRunTime(graph, id));
    } else if (Result<Prepared> prepared = Prepare(graph, id, nullptr); !prepared.ok()) {
      return std::move(prepared).error();
    }
  }
  for (ValueId output : graph.outputs()) {
    const ValueType& type = graph.value(output).type;
    if (!type.other.empty() || type.type == DataType::kString) {
      return MakeError(ErrorCode::kUnsupported, "reference.control_flow",
                       "a nested graph returns a " + (type.other.empty() ? std::string("string") : type.other));
    }
  }
  return {};
}

class BoundIf final : public BoundKernel {
 public:
  BoundIf(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out)
      : graph_(graph), id_(id), in_(in.begin(), in.end()), out_(out.begin(), out.end()) {}

  Status AddBranches(std::span<const std::shared_ptr<const CompiledSubgraph>> nested) {
    for (const auto& branch : nested) {
      PT_ASSIGN(auto bound, branch->Bind());
      branches_.push_back(std::move(bound));
    }
    return {};
  }

  Status Enqueue(const RunContext& run) noexcept override try {
    const Node& node = graph_.node(id_);
    NodeTensors tensors(graph_, id_, in_, out_, run);
    PT_ASSIGN(const TensorView condition, tensors.Input(0));
    PT_ASSIGN(const int64_t truth, OneInteger(condition, "the condition of If"));
    const std::string_view wanted = truth != 0 ? "then_branch" : "else_branch";
    size_t taken = 0;
    while (node.subgraphs[taken].attribute != wanted) ++taken;
    PT_ASSIGN(const std::vector<TensorView> inputs, tensors.WithCaptures({}, node.subgraphs[taken]));
    BoundSubgraph& branch = *branches_[taken];
    Status status = branch.Run(run, inputs);
    for (size_t i = 0; i < node.outputs.size() && status.ok(); ++i) {
      status = tensors.SetOutput(i, branch.outputs()[i]);
    }
    branch.Release(run);
    return status;
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "reference.memory", "no memory to run a branch");
  }

 private:
  const Graph& graph_;
  const NodeId id_;
  const std::vector<const TensorView*> in_, out_;
  std::vector<std::unique_ptr<BoundSubgraph>> branches_;
};

class ControlFlowKernel final : public Kernel {
 public:
  ControlFlowKernel(const Graph& graph, NodeId id, std::vector<std::shared_ptr<const CompiledSubgraph>> nested)
      : graph_(graph), id_(id), nested_(std::move(nested)) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    const std::string& op = graph_.node(id_).op;
    const auto bind = op == "If" ? BindIf : op == "Loop" ? BindLoop : BindScan;
    return bind(graph_, id_, in, out, nested_);
  }

 private:
  const Graph& graph_;
  NodeId id_;
  std::vector<std::shared_ptr<const CompiledSubgraph>> nested_;
};

}  // namespace

bool IsControlFlow(const Node& node) {
  return node.domain.empty() && (node.op == "If" || node.op == "Loop" || node.op == "Scan");
}

Status CheckControlFlow(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const size_t wanted = node.op == "If" ? 2 : 1;
  if (node.subgraphs.size() != wanted) return Refused(graph, id, "has the wrong number of nested graphs");
  for (const Subgraph& subgraph : node.subgraphs) {
    const size_t expected = node.outputs.size() + (node.op == "Loop" ? 1 : 0);
    const bool named = node.op == "If" ? subgraph.attribute == "then_branch" || subgraph.attribute == "else_branch"
                                       : subgraph.attribute == "body";
    if (!named || subgraph.graph->outputs().size() < expected) {
      return Refused(graph, id, "has a nested graph that returns too little, or of another name");
    }
  }
  if (node.op == "If" && node.subgraphs[0].attribute == node.subgraphs[1].attribute) {
    return Refused(graph, id, "has one branch twice");
  }
  if (node.op == "Scan" && graph.opset() < 9) return Refused(graph, id, "is supported from opset 9 on");
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) {
      if (!value.valid()) continue;
      const ValueType& type = graph.value(value).type;
      if (!type.other.empty()) return Refused(graph, id, "reads or makes a " + type.other);
      if (type.type == DataType::kString) return Refused(graph, id, "is not supported for strings");
    }
  }
  for (const Subgraph& subgraph : node.subgraphs) {
    if (Status status = CheckNested(*subgraph.graph); !status.ok()) {
      return Refused(graph, id, "holds what cannot be run: " + status.error().message);
    }
  }
  return {};
}

Result<std::unique_ptr<Kernel>> CompileControlFlow(const Graph& graph, NodeId id, CompileContext& context) {
  PT_CHECK_OK(CheckControlFlow(graph, id));
  if (context.subgraphs == nullptr) return Refused(graph, id, "can only be run by a session");
  std::vector<std::shared_ptr<const CompiledSubgraph>> nested;
  for (const Subgraph& subgraph : graph.node(id).subgraphs) {
    PT_ASSIGN(auto compiled, context.subgraphs->Compile(subgraph.graph));
    nested.push_back(std::move(compiled));
  }
  return std::unique_ptr<Kernel>(std::make_unique<ControlFlowKernel>(graph, id, std::move(nested)));
}

Result<std::unique_ptr<BoundKernel>> BindIf(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                            std::span<const std::shared_ptr<const CompiledSubgraph>> nested) {
  auto bound = std::make_unique<BoundIf>(graph, id, in, out);
  PT_CHECK_OK(bound->AddBranches(nested));
  return std::unique_ptr<BoundKernel>(std::move(bound));
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
    // Views are of memory that somebody writes; inputs are only read.
    return TensorView{const_cast<std::byte*>(tensor.bytes().data()),  // NOLINT
                      Dense(tensor.type(), tensor.dims())};
  }
  const auto at = std::find(in_values_.begin(), in_values_.end(), node_.inputs[input]);
  const TensorView& slot = *in_[static_cast<size_t>(at - in_values_.begin())];
  if (LiesPlain(slot.layout)) return slot;
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

Status NodeTensors::SetOutput(size_t output, const TensorView& from) {
  const auto at = std::find(out_values_.begin(), out_values_.end(), node_.outputs[output]);
  if (!node_.outputs[output].valid() || at == out_values_.end()) return {};
  const auto index = static_cast<uint32_t>(at - out_values_.begin());
  PT_ASSIGN(const uint64_t bytes, BytesOf(from.layout));
  if (!graph_.value(*at).type.is_static()) {
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
    if (bytes > 0) std::memcpy(slot.data, from.data, bytes);
  } else {
    ElementCopy(from.layout, slot.layout).Run(from.data, slot.data, run_.stream.team());
  }
  return {};
}

Result<int64_t> OneInteger(const TensorView& view, const std::string& what) {
  const DataType type = view.layout.type;
  const std::optional<int64_t> count = CheckedProduct(view.layout.dims);
  if (count != 1 || (!IsIndexType(type) && type != DataType::kBool)) {
    return MakeError(ErrorCode::kInvalidInput, "reference.scalar",
                     what + " is " + ToString(StaticType(type, view.layout.dims)) + ", not a single value");
  }
  return LoadAs<int64_t>(type, view.data, 0);
}

}  // namespace pt::reference
