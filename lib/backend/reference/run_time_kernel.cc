#include "lib/backend/reference/run_time_kernel.h"

#include <algorithm>
#include <new>

#include "lib/backend/reference/compiled_node.h"
#include "lib/backend/reference/control_flow.h"
#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/feeding.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

bool IsUnsized(const Graph& graph, std::span<const ValueId> values) {
  return std::any_of(values.begin(), values.end(), [&](ValueId id) {
    return id.valid() && !graph.value(id).is_constant() && !graph.value(id).type.is_static();
  });
}

// The content of a slot, dense; borrowed where it lies so already.
Result<Tensor> ContentOf(const TensorView& view) {
  const TensorLayout dense = Dense(view.layout.type, view.layout.dims);
  PT_ASSIGN(const uint64_t bytes, BytesOf(dense));
  if (view.layout.layout.is_row_major() && IsDense(view.layout)) {
    return Tensor::FromShared(view.layout.type, view.layout.dims, nullptr,
                              {static_cast<const std::byte*>(view.data), static_cast<size_t>(bytes)});
  }
  std::string copied(bytes, '\0');
  ElementCopy(view.layout, dense).Run(view.data, copied.data(), nullptr);
  return Tensor::FromBytes(view.layout.type, view.layout.dims, std::move(copied));
}

class RunTimeNode final : public BoundKernel {
 public:
  RunTimeNode(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out)
      : graph_(graph),
        id_(id),
        in_values_(GroupInputs(graph, {&id, 1})),
        out_values_(GroupOutputs(graph, {&id, 1})),
        in_(in.begin(), in.end()),
        out_(out.begin(), out.end()) {}

  Status Enqueue(const RunContext& run) noexcept override try {
    if (TakesData(graph_, id_, in_)) return RunDatumNode(graph_, id_, in_, out_, run, kept_);
    const uint32_t width = run.stream.team() == nullptr ? 1 : run.stream.team()->width();
    if (!IsUpToDate()) PT_CHECK_OK(Compile(width));
    PT_CHECK_OK(AllocateOutputs(run.outputs));
    PT_ASSIGN(void* const scratch, run.memory.Take(compiled_->scratch_bytes));
    const Status status = BoundNode(compiled_, in_, out_, static_cast<std::byte*>(scratch)).Enqueue(run);
    run.memory.GiveBack(scratch);
    return status;
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "reference.memory", "no memory to prepare a node in the run");
  }

 private:
  // What was made from the inputs' contents holds for one run, however that ended.
  bool IsUpToDate() const {
    return compiled_ != nullptr && !by_content_ &&
           std::equal(in_.begin(), in_.end(), layouts_.begin(), layouts_.end(),
                      [](const TensorView* slot, const TensorLayout& layout) { return slot->layout == layout; });
  }

  // By the sizes alone if that will do, so that equal sizes need no second preparing; else by the contents.
  Status Compile(uint32_t width) {
    compiled_.reset();
    layouts_.clear();
    for (const TensorView* slot : in_) layouts_.push_back(slot->layout);
    PT_ASSIGN(const Given given, GivenNow(width));
    Result<PreparedNode> prepared = Prepare(graph_, id_, nullptr, &given);
    if (!prepared.ok() && prepared.error().code == ErrorCode::kUnsupported && !by_content_) {
      by_content_ = true;
      PT_ASSIGN(const Given with_contents, GivenNow(width));
      prepared = Prepare(graph_, id_, nullptr, &with_contents);
    }
    if (!prepared.ok()) return std::move(prepared).error();
    const Node& node = graph_.node(id_);
    std::vector<TensorLayout> out;
    for (size_t i = 0; i < out_.size(); ++i) {
      const auto at = std::find(node.outputs.begin(), node.outputs.end(), out_values_[i]);
      const auto output = static_cast<size_t>(at - node.outputs.begin());
      out.push_back(IsUnsized(graph_, {&out_values_[i], 1})
                        ? Dense(prepared->out_storage[output], prepared->out[output].dims)
                        : out_[i]->layout);
    }
    PT_ASSIGN(compiled_, FeedNode(graph_, id_, std::move(prepared).value(), layouts_, out));
    out_layouts_ = std::move(out);
    return {};
  }

  Result<Given> GivenNow(uint32_t width) const {
    const Node& node = graph_.node(id_);
    Given given;
    given.holds_outputs = true;
    given.width = width;
    for (ValueId input : node.inputs) {
      GivenInput& now = given.inputs.emplace_back();
      if (!input.valid()) continue;
      if (graph_.value(input).is_constant()) {
        now.content = graph_.value(input).constant;
        continue;
      }
      const auto at = std::find(in_values_.begin(), in_values_.end(), input);
      const TensorView& slot = *in_[static_cast<size_t>(at - in_values_.begin())];
      now.type = slot.layout.type;
      now.dims = slot.layout.dims;
      if (by_content_) {
        PT_ASSIGN(now.content, ContentOf(slot));
      }
    }
    return given;
  }

  Status AllocateOutputs(OutputAllocator& outputs) {
    for (uint32_t i = 0; i < out_.size(); ++i) {
      if (!IsUnsized(graph_, {&out_values_[i], 1})) continue;
      PT_CHECK_OK(outputs.Allocate(i, out_layouts_[i].type, out_layouts_[i].dims));
    }
    return {};
  }

  const Graph& graph_;
  const NodeId id_;
  const std::vector<ValueId> in_values_, out_values_;
  const std::vector<const TensorView*> in_, out_;
  bool by_content_ = false;
  std::shared_ptr<const CompiledNode> compiled_;
  std::shared_ptr<const void> kept_;                 // by a row of datum_operator.h
  std::vector<TensorLayout> layouts_, out_layouts_;  // that it was compiled for
};

// Element types are known before the run even where sizes are not: the row is asked about tensors whose open dims are
// 1, and whose contents, where they are small, are 0. What else it says of those says nothing about the run.
Status CheckTypes(const Graph& graph, NodeId id) {
  constexpr int64_t kFewElements = 4096;
  Given given;
  for (const ValueId input : graph.node(id).inputs) {
    GivenInput& now = given.inputs.emplace_back();
    if (!input.valid()) continue;
    const Value& value = graph.value(input);
    if (value.is_constant()) {
      now.content = value.constant;
      continue;
    }
    if (!value.type.ranked || BitsOf(value.type.type) == 0) return {};
    now.type = value.type.type;
    for (const Dim& dim : value.type.dims) now.dims.push_back(dim.known() ? dim.value : 1);
    const std::optional<int64_t> count = CheckedProduct(now.dims);
    if (!count || *count > kFewElements) continue;
    PT_ASSIGN(const uint64_t bytes, TensorByteCount(now.type, now.dims));
    PT_ASSIGN(now.content, Tensor::FromBytes(now.type, now.dims, std::string(bytes, '\0')));
  }
  const Result<PreparedNode> prepared = Prepare(graph, id, nullptr, &given);
  return prepared.ok() || prepared.error().id != kUnsupportedTypeId ? Status() : Status(prepared.error());
}

class RunTimeKernel final : public Kernel {
 public:
  RunTimeKernel(const Graph& graph, NodeId id) : graph_(graph), id_(id) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(std::make_unique<RunTimeNode>(graph_, id_, in, out));
  }

 private:
  const Graph& graph_;
  NodeId id_;
};

}  // namespace

// A Split by sizes that are not constant finds them in the types of its outputs, but not that of one that is not
// wanted.
bool LacksSizes(const Graph& graph, const Node& node) {
  return node.domain.empty() && node.op == "Split" && node.inputs.size() > 1 && node.inputs[1].valid() &&
         !graph.value(node.inputs[1]).is_constant() &&
         std::ranges::any_of(node.outputs, [](ValueId output) { return !output.valid(); });
}

bool IsPreparedInRun(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (IsControlFlow(node) || IsUnsized(graph, node.inputs) || IsUnsized(graph, node.outputs)) return true;
  if (TakesData(graph, id) || LacksSizes(graph, node)) return true;
  const ReferenceRow* row = FindOperator(node, OpsetOf(graph, node));
  for (size_t i = 0; row != nullptr && i < std::min<size_t>(node.inputs.size(), 32); ++i) {
    const ValueId input = node.inputs[i];
    if ((row->by_content >> i & 1) != 0 && input.valid() && !graph.value(input).is_constant()) return true;
  }
  return false;
}

Status CheckForRunTime(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (IsControlFlow(node)) return CheckControlFlow(graph, id);
  const auto refuse = [&](const std::string& why) -> Error {
    return Named(MakeError(ErrorCode::kUnsupported, "reference.unsupported", node.op + " " + why), graph, id);
  };
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) {
      if (value.valid() && !IsKindOfDatum(graph.value(value).type)) {
        return refuse("reads or makes a " + graph.value(value).type.other);
      }
    }
  }
  if (TakesData(graph, id) && FindDatumOperator(node) != nullptr) return {};
  if (FindOperator(node, OpsetOf(graph, node)) == nullptr) {
    const std::string name = node.domain.empty() ? node.op : node.domain + "." + node.op;
    return refuse("is not supported (" + name + ", opset " + std::to_string(OpsetOf(graph, node)) + ")");
  }
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) {
      if (!value.valid()) continue;
      const ValueType& type = graph.value(value).type;
      if (!type.other.empty()) return refuse("reads or makes a " + type.other);
      if (type.type == DataType::kString) return refuse("is not supported for strings");
    }
  }
  return CheckTypes(graph, id);
}

Result<std::unique_ptr<Kernel>> CompileForRunTime(const Graph& graph, NodeId id) {
  PT_CHECK_OK(CheckForRunTime(graph, id));
  return std::unique_ptr<Kernel>(std::make_unique<RunTimeKernel>(graph, id));
}

}  // namespace pt::reference
