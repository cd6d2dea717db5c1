#include "lib/backend/reference/kernel.h"

#include <algorithm>
#include <cstdlib>

#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

bool IsSubByte(DataType type) { return BitsOf(type) != 0 && BitsOf(type) < 8; }
bool IsNarrowFloat(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

DataType FedType(DataType stored, Feeding feeding) {
  return feeding == Feeding::kWidened && IsNarrowFloat(stored) ? DataType::kFloat32 : stored;
}

uint64_t FedSize(DataType type, int64_t count) { return static_cast<uint64_t>(FedBytes(type) * count); }

TensorLayout Dense(DataType type, const std::vector<int64_t>& dims) {
  return DenseLayout(type, dims, RowMajor(dims.size())).value();
}

// The constant as makers see it.
Result<Tensor> FedConstant(const Tensor& stored, DataType fed) {
  // Packed constants are shown to makers as they are; programs are fed the unpacked bytes.
  if (stored.type() == fed) return stored;
  std::string bytes(FedSize(fed, stored.element_count()), '\0');
  const ElementCopy copy(Dense(stored.type(), stored.dims()), Dense(fed, stored.dims()));
  copy.Run(stored.bytes().data(), bytes.data(), nullptr);
  return Tensor::FromBytes(fed, stored.dims(), std::move(bytes));
}

Status DescribeInput(const Site& site, const ValueType& type, size_t i, Feeding feeding, Operand& operand,
                     DataType& stored) {
  const std::string label = "input " + std::to_string(i);
  if (!type.other.empty()) return site.Unsupported("takes a " + type.other + " as " + label);
  if (!type.is_static()) return site.Unsupported("has an " + label + " of unknown size (" + ToString(type) + ")");
  if (type.type == DataType::kString) return site.Unsupported("is not supported for strings");
  if (BitsOf(type.type) == 0) return site.Unsupported("has an " + label + " of unknown type");
  if (type.dims.size() > kMaxRank)
    return site.Unsupported("has an " + label + " of rank " + std::to_string(type.dims.size()));
  operand.dims = *type.static_dims();
  if (!CheckedProduct(operand.dims)) return site.Invalid("the size of " + label + " does not fit 63 bits");
  stored = type.type;
  operand.type = FedType(stored, feeding);
  operand.settled = true;
  return {};
}

Status DescribeOutput(const Site& site, const ValueType& type, Feeding feeding, Operand& operand, DataType& stored) {
  if (!type.other.empty()) return site.Unsupported("makes a " + type.other);
  if (type.type == DataType::kString) return site.Unsupported("is not supported for strings");
  stored = type.type;
  if (!type.is_static()) return {};
  operand.type = FedType(stored, feeding);
  operand.dims = *type.static_dims();
  operand.settled = true;
  return {};
}

// Folding meets values that inference has not typed yet: a widened program's output is as narrow as its inputs.
DataType StorageOf(const Operand& out, DataType known, const std::vector<DataType>& in_storage) {
  if (known != DataType::kUndefined) return known;
  const auto narrow = std::find_if(in_storage.begin(), in_storage.end(), IsNarrowFloat);
  return out.type == DataType::kFloat32 && narrow != in_storage.end() ? *narrow : out.type;
}

Status DescribeOperands(const Graph& graph, const std::vector<Tensor>* evaluate, Feeding feeding, Site& site,
                        Prepared& prepared) {
  const Node& node = site.node;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const Value& value = graph.value(node.inputs[i]);
    const Tensor* constant = evaluate != nullptr ? &(*evaluate)[i] : value.is_constant() ? &*value.constant : nullptr;
    const ValueType type = constant != nullptr ? StaticType(constant->type(), constant->dims()) : value.type;
    PT_CHECK_OK(DescribeInput(site, type, i, feeding, site.in[i], prepared.in_storage[i]));
    if (constant != nullptr) {
      PT_ASSIGN(site.in[i].constant, FedConstant(*constant, site.in[i].type));
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) {
      site.out[i].settled = true;
      continue;
    }
    const ValueType& type = graph.value(node.outputs[i]).type;
    PT_CHECK_OK(DescribeOutput(site, evaluate != nullptr ? ValueType{type.type, false, {}, type.other} : type, feeding,
                               site.out[i], prepared.out_storage[i]));
  }
  return {};
}

Error Named(Error error, const Graph& graph, NodeId id) {
  if (error.node.empty()) error.node = NodeLabel(graph, id);
  return error;
}

// Where the program finds an operand.
struct Feed {
  enum class Kind : uint8_t { kAbsent, kConstant, kTensor, kNobodys };
  Kind kind = Kind::kAbsent;
  size_t tensor = 0;                // kTensor: index into the candidate's in or out
  std::optional<size_t> staged_at;  // offset into scratch, when the program cannot use the tensor as it lies
  std::optional<ElementCopy> copy;  // between the tensor and its stage; absent for packed types
  std::string bytes;                // kConstant of packed types: unpacked
};

struct CompiledNode {
  Prepared prepared;
  std::vector<Feed> in, out;
  uint64_t scratch_bytes = 0;
  uint64_t program_scratch = 0;  // offset of the program's own part

  Result<size_t> Reserve(uint64_t bytes) {
    const size_t at = scratch_bytes;
    const std::optional<uint64_t> aligned = CheckedAlignUp(bytes, kTensorAlignment);
    if (!aligned || __builtin_add_overflow(scratch_bytes, *aligned, &scratch_bytes)) {
      return MakeError(ErrorCode::kOutOfMemory, "reference.scratch", "scratch memory does not fit 64 bits");
    }
    return at;
  }
};

Status FeedTensor(CompiledNode& node, Feed& feed, const Operand& operand, const TensorLayout& lies, bool to_program) {
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
    feed.copy = to_program ? ElementCopy(lies, wanted) : ElementCopy(wanted, lies);
  }
  PT_ASSIGN(feed.staged_at, node.Reserve(FedSize(operand.type, operand.count())));
  return {};
}

class BoundNode final : public BoundKernel {
 public:
  BoundNode(std::shared_ptr<const CompiledNode> node, std::span<const TensorView> in, std::span<const TensorView> out,
            std::byte* scratch)
      : node_(std::move(node)), scratch_(scratch) {
    for (const Feed& feed : node_->in) {
      const size_t i = inputs_.size();
      void* at = feed.kind == Feed::Kind::kTensor ? in[feed.tensor].data : nullptr;
      tensors_in_.push_back(at);
      if (feed.kind == Feed::Kind::kConstant) {
        inputs_.push_back(feed.bytes.empty() ? static_cast<const void*>(node_->prepared.in[i].constant->bytes().data())
                                             : feed.bytes.data());
      } else {
        inputs_.push_back(feed.staged_at ? scratch_ + *feed.staged_at : at);
      }
    }
    for (const Feed& feed : node_->out) {
      void* at = feed.kind == Feed::Kind::kTensor ? out[feed.tensor].data : nullptr;
      tensors_out_.push_back(at);
      outputs_.push_back(feed.staged_at ? scratch_ + *feed.staged_at : at);
    }
  }

  Status Enqueue(Stream& stream, OutputAllocator&) noexcept override {
    Team* team = stream.team();
    const Prepared& prepared = node_->prepared;
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
    Run run{inputs_, outputs_, scratch_ + node_->program_scratch, team};
    PT_CHECK_OK(prepared.program.run(run));
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

 private:
  std::shared_ptr<const CompiledNode> node_;
  std::byte* scratch_;
  std::vector<void*> tensors_in_, tensors_out_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

class NodeKernel final : public Kernel {
 public:
  explicit NodeKernel(std::shared_ptr<const CompiledNode> node) : node_(std::move(node)) {}
  uint64_t scratch_bytes() const override { return node_->scratch_bytes; }
  Result<std::unique_ptr<BoundKernel>> Bind(std::span<const TensorView> in, std::span<const TensorView> out,
                                            std::span<std::byte> scratch) const override {
    if (scratch.size() < node_->scratch_bytes) {
      return MakeError(ErrorCode::kInternal, "reference.scratch", "a kernel was bound to too little scratch memory");
    }
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundNode>(node_, in, out, scratch.data()));
  }

 private:
  std::shared_ptr<const CompiledNode> node_;
};

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(ElementCopy copy) : copy_(std::make_shared<const ElementCopy>(std::move(copy))) {}
  Result<std::unique_ptr<BoundKernel>> Bind(std::span<const TensorView> in, std::span<const TensorView> out,
                                            std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(std::make_unique<Bound>(copy_, in[0].data, out[0].data));
  }

 private:
  class Bound final : public BoundKernel {
   public:
    Bound(std::shared_ptr<const ElementCopy> copy, const void* from, void* to)
        : copy_(std::move(copy)), from_(from), to_(to) {}
    Status Enqueue(Stream& stream, OutputAllocator&) noexcept override {
      copy_->Run(from_, to_, stream.team());
      return {};
    }

   private:
    std::shared_ptr<const ElementCopy> copy_;
    const void* from_;
    void* to_;
  };
  std::shared_ptr<const ElementCopy> copy_;
};

Status FeedInputs(const Graph& graph, const Node& node, NodeId id, std::span<const TensorLayout> in,
                  CompiledNode& compiled) {
  const std::vector<ValueId> outside = GroupInputs(graph, {&id, 1});
  if (outside.size() != in.size()) {
    return MakeError(ErrorCode::kInvalidInput, "reference.inputs", "a candidate has the wrong number of inputs");
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Operand& operand = compiled.prepared.in[i];
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
    const Operand& operand = compiled.prepared.out[i];
    if (!operand.present()) continue;
    Feed& feed = compiled.out[i];
    const auto found = std::find(needed.begin(), needed.end(), node.outputs[i]);
    if (found == needed.end()) {  // named but read by nobody: the program may write it all the same
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

Result<Prepared> Prepare(const Graph& graph, NodeId id, CompileContext* context, const std::vector<Tensor>* evaluate) {
  const Node& node = graph.node(id);
  Prepared prepared;
  prepared.in_storage.resize(node.inputs.size());
  prepared.out_storage.resize(node.outputs.size());
  Site site{node, graph.opset(), {}, {}, context, 1, {}};
  if (!node.domain.empty()) {
    const auto version = graph.domains().find(node.domain);
    site.opset = version != graph.domains().end() ? version->second : 1;
  }
  site.in.resize(node.inputs.size());
  site.out.resize(node.outputs.size());
  if (context != nullptr && context->team != nullptr) site.width = context->team->width();
  prepared.row = FindOperator(node, site.opset);
  if (prepared.row == nullptr) {
    const std::string name = node.domain.empty() ? node.op : node.domain + "." + node.op;
    return Named(MakeError(ErrorCode::kUnsupported, "reference.operator",
                           "operator " + name + " (opset " + std::to_string(site.opset) + ") is not supported"),
                 graph, id);
  }
  if (Status status = DescribeOperands(graph, evaluate, prepared.row->feeding, site, prepared); !status.ok()) {
    return Named(std::move(status).error(), graph, id);
  }
  Result<Program> program = prepared.row->make(site);
  if (!program.ok()) return Named(std::move(program).error(), graph, id);
  for (size_t i = 0; i < site.out.size(); ++i) {
    if (!site.out[i].settled) return Named(site.Unsupported("has an output of unknown size"), graph, id);
    prepared.out_storage[i] = StorageOf(site.out[i], prepared.out_storage[i], prepared.in_storage);
  }
  prepared.program = std::move(program).value();
  prepared.in = std::move(site.in);
  prepared.out = std::move(site.out);
  return prepared;
}

uint64_t DenseScratchBytes(const Prepared& prepared) {
  uint64_t bytes = prepared.program.scratch_bytes;
  const auto add = [&](const Operand& operand, DataType storage) {
    if (operand.present() && !operand.constant && (operand.type != storage || IsSubByte(storage))) {
      bytes += FedSize(operand.type, operand.count()) + kTensorAlignment;
    }
  };
  for (size_t i = 0; i < prepared.in.size(); ++i) add(prepared.in[i], prepared.in_storage[i]);
  for (size_t i = 0; i < prepared.out.size(); ++i) add(prepared.out[i], prepared.out_storage[i]);
  return bytes;
}

Result<std::unique_ptr<Kernel>> CompileNode(const Graph& graph, NodeId id, std::span<const TensorLayout> in,
                                            std::span<const TensorLayout> out, CompileContext& context) {
  auto compiled = std::make_shared<CompiledNode>();
  PT_ASSIGN(compiled->prepared, Prepare(graph, id, &context));
  const Node& node = graph.node(id);
  compiled->in.resize(node.inputs.size());
  compiled->out.resize(node.outputs.size());
  Status status = FeedInputs(graph, node, id, in, *compiled);
  if (status.ok()) status = FeedOutputs(graph, node, id, out, *compiled);
  if (!status.ok()) return Named(std::move(status).error(), graph, id);
  PT_ASSIGN(compiled->program_scratch, compiled->Reserve(compiled->prepared.program.scratch_bytes));
  return std::unique_ptr<Kernel>(std::make_unique<NodeKernel>(std::move(compiled)));
}

Result<std::unique_ptr<Kernel>> CompileElementCopy(const TensorLayout& from, const TensorLayout& to) {
  if (from.dims != to.dims || !ElementCopy::CanConvert(from.type, to.type)) {
    return MakeError(
        ErrorCode::kUnsupported, "reference.reorder",
        "cannot reorder " + std::string(DataTypeName(from.type)) + " to " + std::string(DataTypeName(to.type)));
  }
  return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>(ElementCopy(from, to)));
}

Result<std::vector<Tensor>> Evaluate(const Prepared& prepared, Team* team) {
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  const uint64_t scratch_bytes =
      CheckedAlignUp(std::max<uint64_t>(1, prepared.program.scratch_bytes), kTensorAlignment).value_or(0);
  const std::unique_ptr<std::byte, Free> scratch(
      static_cast<std::byte*>(std::aligned_alloc(kTensorAlignment, scratch_bytes)));
  if (!scratch) return MakeError(ErrorCode::kOutOfMemory, "reference.scratch", "out of memory");
  std::vector<std::string> unpacked(prepared.in.size()), results(prepared.out.size());
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < prepared.in.size(); ++i) {
    const Operand& operand = prepared.in[i];
    inputs.push_back(operand.constant ? operand.constant->bytes().data() : nullptr);
    if (!operand.constant || !IsSubByte(operand.type)) continue;
    unpacked[i].resize(FedSize(operand.type, operand.count()));
    Unpack(operand.type, operand.constant->bytes().data(), operand.count(), unpacked[i].data());
    inputs.back() = unpacked[i].data();
  }
  for (size_t i = 0; i < prepared.out.size(); ++i) {
    results[i].resize(FedSize(prepared.out[i].type, prepared.out[i].count()));
    outputs.push_back(prepared.out[i].present() ? results[i].data() : nullptr);
  }
  PT_CHECK_OK(prepared.program.run(Run{inputs, outputs, scratch.get(), team}));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < prepared.out.size(); ++i) {
    const Operand& operand = prepared.out[i];
    if (!operand.present()) {
      tensors.emplace_back();
      continue;
    }
    std::string bytes = std::move(results[i]);
    const DataType stored = prepared.out_storage[i];
    if (IsSubByte(stored)) {
      std::string packed(static_cast<size_t>((operand.count() * BitsOf(stored) + 7) / 8), '\0');
      Pack(stored, bytes.data(), operand.count(), packed.data());
      bytes = std::move(packed);
    } else if (stored != operand.type) {
      std::string narrow(FedSize(stored, operand.count()), '\0');
      ElementCopy(Dense(operand.type, operand.dims), Dense(stored, operand.dims))
          .Run(bytes.data(), narrow.data(), nullptr);
      bytes = std::move(narrow);
    }
    PT_ASSIGN(Tensor tensor, Tensor::FromBytes(stored, operand.dims, std::move(bytes)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace pt::reference
