#include "lib/backend/reference/control_flow.h"

#include <algorithm>
#include <new>

#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/kernel.h"
#include "lib/backend/reference/run_time_kernel.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

Error Refused(const Graph& graph, NodeId id, const std::string& why) {
  return Named(MakeError(ErrorCode::kUnsupported, "reference.control_flow", graph.node(id).op + " " + why), graph, id);
}

// Every node of the graph and of what is nested in it.
Status CheckNested(const Graph& graph) {
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const NodeId id(n);
    if (IsControlFlow(graph.node(id))) {
      PT_CHECK_OK(CheckControlFlow(graph, id));
    } else if (IsPreparedInRun(graph, id)) {
      PT_CHECK_OK(CheckForRunTime(graph, id));
    } else if (Result<PreparedNode> prepared = Prepare(graph, id, nullptr); !prepared.ok()) {
      return std::move(prepared).error();
    }
  }
  return {};
}

// A branch that contradicts itself fails where a run takes it, and nowhere else.
class FailingSubgraph final : public CompiledSubgraph {
 public:
  explicit FailingSubgraph(Error error) : error_(std::move(error)) {}
  Result<std::unique_ptr<BoundSubgraph>> Bind() const override {
    return std::unique_ptr<BoundSubgraph>(std::make_unique<Bound>(error_));
  }

 private:
  class Bound final : public BoundSubgraph {
   public:
    explicit Bound(Error error) : error_(std::move(error)) {}
    Status Run(const RunContext&, std::span<const TensorView>) noexcept override { return error_; }
    std::span<const TensorView> outputs() const override { return {}; }
    void Release(const RunContext&) noexcept override {}

   private:
    const Error error_;
  };

  const Error error_;
};

bool IsContradiction(const Node& node, const Status& status) {
  return node.op == "If" && !status.ok() && status.error().code == ErrorCode::kInvalidInput;
}

// Outputs of If go where the step wants them, where that is dense memory of the same size.
class PlacesOfNode final : public OutputAllocator {
 public:
  explicit PlacesOfNode(const NodeTensors& tensors) : tensors_(tensors) {}
  Result<TensorView> Allocate(uint32_t index, DataType type, std::span<const int64_t> dims) override {
    return tensors_.PlaceOf(index, type, dims);
  }

 private:
  const NodeTensors& tensors_;
};

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
    PlacesOfNode places(tensors);
    Status status = branch.Run(Within(run, places), inputs);
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
    const auto bind = op == "If" ? BindIf : op == "Loop" ? BindLoop : op == "Scan" ? BindScan : BindSequenceMap;
    return bind(graph_, id_, in, out, nested_);
  }

 private:
  const Graph& graph_;
  NodeId id_;
  std::vector<std::shared_ptr<const CompiledSubgraph>> nested_;
};

}  // namespace

bool IsControlFlow(const Node& node) {
  return node.domain.empty() && (node.op == "If" || node.op == "Loop" || node.op == "Scan" || node.op == "SequenceMap");
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
    if (node.op == "If" && !subgraph.graph->inputs().empty()) return Refused(graph, id, "has a branch with inputs");
  }
  if (node.op == "If" && node.subgraphs[0].attribute == node.subgraphs[1].attribute) {
    return Refused(graph, id, "has one branch twice");
  }
  if (node.op == "Scan" && graph.opset() < 9) return Refused(graph, id, "is supported from opset 9 on");
  for (const Subgraph& subgraph : node.subgraphs) {
    if (Status status = CheckNested(*subgraph.graph); !status.ok() && !IsContradiction(node, status)) {
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
    if (Status status = CheckNested(*subgraph.graph); IsContradiction(graph.node(id), status)) {
      nested.push_back(std::make_shared<FailingSubgraph>(std::move(status).error()));
      continue;
    }
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

Result<int64_t> OneInteger(const TensorView& view, const std::string& what) {
  const DataType type = view.layout.type;
  const std::optional<int64_t> count = CheckedProduct(view.layout.dims);
  if (IsDatum(view)) {
    return MakeError(ErrorCode::kInvalidInput, "reference.scalar",
                     what + " is " + ToString(DatumIn(view)) + ", not a single value");
  }
  if (count != 1 || (!IsIndexType(type) && type != DataType::kBool)) {
    return MakeError(ErrorCode::kInvalidInput, "reference.scalar",
                     what + " is " + ToString(StaticType(type, view.layout.dims)) + ", not a single value");
  }
  return LoadAs<int64_t>(type, view.data, 0);
}

}  // namespace pt::reference
