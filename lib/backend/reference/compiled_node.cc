#include "lib/backend/reference/compiled_node.h"

#include <algorithm>

#include "lib/backend/reference/feeding.h"

namespace pt::reference {
namespace {

Status FeedTensor(CompiledNode& node, Feed& feed, const TensorFacts& operand, const TensorLayout& lies,
                  bool to_routine) {
  const TensorLayout wanted = Dense(operand.type, operand.dims);
  if (lies.dims != operand.dims) {
    return MakeError(ErrorCode::kInvalidInput, "reference.layout", "a tensor's dims are not the graph's");
  }
  const bool packed = IsSubByte(operand.type);
  if (lies.layout.is_row_major() && IsDense(lies) && lies.type == operand.type && !packed) return {};
  if (packed ? !IsDense(lies) || lies.type != operand.type : !ElementCopy::CanConvert(lies.type, operand.type)) {
    return MakeError(ErrorCode::kUnsupported, "reference.storage",
                     "cannot use a tensor stored as " + std::string(DataTypeName(lies.type)));
  }
  if (!packed) {
    feed.copy = to_routine ? ElementCopy(lies, wanted) : ElementCopy(wanted, lies);
  }
  PT_ASSIGN(feed.staged_at, node.Reserve(FedSize(operand.type, operand.count())));
  return {};
}

Status FeedInputs(const Graph& graph, const Node& node, NodeId id, std::span<const TensorLayout> in,
                  CompiledNode& compiled) {
  const std::vector<ValueId> outside = GroupInputs(graph, {&id, 1});
  if (outside.size() != in.size()) {
    return MakeError(ErrorCode::kInvalidInput, "reference.inputs", "a candidate has the wrong number of inputs");
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorFacts& operand = compiled.prepared.in[i];
    if (!operand.present()) continue;
    Feed& feed = compiled.in[i];
    if (operand.constant) {
      feed.kind = Feed::Kind::kConstant;
      if (IsSubByte(operand.type)) {
        feed.bytes.resize(FedSize(operand.type, std::max<int64_t>(1, operand.count())));
        Unpack(operand.type, operand.constant->bytes().data(), operand.count(), feed.bytes.data());
      }
      continue;
    }
    feed.kind = Feed::Kind::kTensor;
    feed.tensor = static_cast<size_t>(std::find(outside.begin(), outside.end(), node.inputs[i]) - outside.begin());
    PT_CHECK_OK(FeedTensor(compiled, feed, operand, in[feed.tensor], true));
  }
  return {};
}

Status FeedOutputs(const Graph& graph, const Node& node, NodeId id, std::span<const TensorLayout> out,
                   CompiledNode& compiled) {
  const std::vector<ValueId> needed = GroupOutputs(graph, {&id, 1});
  if (needed.size() != out.size()) {
    return MakeError(ErrorCode::kInvalidInput, "reference.outputs", "a candidate has the wrong number of outputs");
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorFacts& operand = compiled.prepared.out[i];
    if (!operand.present()) continue;
    Feed& feed = compiled.out[i];
    const auto found = std::find(needed.begin(), needed.end(), node.outputs[i]);
    if (found == needed.end()) {  // named but never read: the routine may write it nevertheless
      feed.kind = Feed::Kind::kNobodys;
      PT_ASSIGN(feed.staged_at, compiled.Reserve(FedSize(operand.type, operand.count())));
      continue;
    }
    feed.kind = Feed::Kind::kTensor;
    feed.tensor = static_cast<size_t>(found - needed.begin());
    PT_CHECK_OK(FeedTensor(compiled, feed, operand, out[feed.tensor], false));
  }
  return {};
}

}  // namespace

BoundNode::BoundNode(std::shared_ptr<const CompiledNode> node, TensorSlots in, TensorSlots out, std::byte* scratch)
    : node_(std::move(node)), scratch_(scratch) {
  for (const Feed& feed : node_->in) {
    const size_t i = inputs_.size();
    void* at = feed.kind == Feed::Kind::kTensor ? in[feed.tensor]->data : nullptr;
    tensors_in_.push_back(at);
    if (feed.kind == Feed::Kind::kConstant) {
      inputs_.push_back(feed.bytes.empty() ? static_cast<const void*>(node_->prepared.in[i].constant->bytes().data())
                                           : feed.bytes.data());
    } else {
      inputs_.push_back(feed.staged_at ? scratch_ + *feed.staged_at : at);
    }
  }
  for (const Feed& feed : node_->out) {
    void* at = feed.kind == Feed::Kind::kTensor ? out[feed.tensor]->data : nullptr;
    tensors_out_.push_back(at);
    outputs_.push_back(feed.staged_at ? scratch_ + *feed.staged_at : at);
  }
}

Status BoundNode::Enqueue(const RunContext& context) noexcept {
  Team* team = context.stream.team();
  const PreparedNode& prepared = node_->prepared;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Feed& feed = node_->in[i];
    if (feed.kind != Feed::Kind::kTensor || !feed.staged_at) continue;
    void* stage = scratch_ + *feed.staged_at;
    if (feed.copy) {
      feed.copy->Run(tensors_in_[i], stage, team);
    } else {
      Unpack(prepared.in[i].type, tensors_in_[i], prepared.in[i].count(), stage);
    }
  }
  TensorCall run{inputs_, outputs_, scratch_ + node_->routine_scratch, team};
  PT_CHECK_OK(prepared.routine.run(run));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Feed& feed = node_->out[i];
    if (feed.kind != Feed::Kind::kTensor || !feed.staged_at) continue;
    if (feed.copy) {
      feed.copy->Run(outputs_[i], tensors_out_[i], team);
    } else {
      Pack(prepared.out[i].type, outputs_[i], prepared.out[i].count(), tensors_out_[i]);
    }
  }
  return {};
}

Result<std::shared_ptr<const CompiledNode>> FeedNode(const Graph& graph, NodeId id, PreparedNode prepared,
                                                     std::span<const TensorLayout> in,
                                                     std::span<const TensorLayout> out) {
  auto compiled = std::make_shared<CompiledNode>();
  compiled->prepared = std::move(prepared);
  const Node& node = graph.node(id);
  compiled->in.resize(node.inputs.size());
  compiled->out.resize(node.outputs.size());
  Status status = FeedInputs(graph, node, id, in, *compiled);
  if (status.ok()) status = FeedOutputs(graph, node, id, out, *compiled);
  if (!status.ok()) return Named(std::move(status).error(), graph, id);
  PT_ASSIGN(compiled->routine_scratch, compiled->Reserve(compiled->prepared.routine.scratch_bytes));
  return std::shared_ptr<const CompiledNode>(std::move(compiled));
}

}  // namespace pt::reference
