#include "lib/backend/reference/kernel.h"

#include <algorithm>
#include <cstdlib>

#include "lib/backend/reference/compiled_node.h"
#include "lib/backend/reference/control_flow.h"
#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/run_time_kernel.h"

namespace pt::reference {
namespace {

class NodeKernel final : public Kernel {
 public:
  explicit NodeKernel(std::shared_ptr<const CompiledNode> node) : node_(std::move(node)) {}
  uint64_t scratch_bytes() const override { return node_->scratch_bytes; }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
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
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(std::make_unique<Bound>(copy_, in[0]->data, out[0]->data));
  }

 private:
  class Bound final : public BoundKernel {
   public:
    Bound(std::shared_ptr<const ElementCopy> copy, const void* from, void* to)
        : copy_(std::move(copy)), from_(from), to_(to) {}
    Status Enqueue(const RunContext& run) noexcept override {
      copy_->Run(from_, to_, run.stream.team());
      return {};
    }

   private:
    std::shared_ptr<const ElementCopy> copy_;
    const void* from_;
    void* to_;
  };
  std::shared_ptr<const ElementCopy> copy_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> CompileNode(const Graph& graph, NodeId id, std::span<const TensorLayout> in,
                                            std::span<const TensorLayout> out, CompileContext& context) {
  if (IsControlFlow(graph.node(id))) return CompileControlFlow(graph, id, context);
  if (IsPreparedInRun(graph, id)) return CompileForRunTime(graph, id);
  PT_ASSIGN(PreparedNode prepared, Prepare(graph, id, &context));
  PT_ASSIGN(std::shared_ptr<const CompiledNode> compiled, FeedNode(graph, id, std::move(prepared), in, out));
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

Result<std::vector<Tensor>> Evaluate(const PreparedNode& prepared, Team* team) {
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  const uint64_t scratch_bytes =
      CheckedAlignUp(std::max<uint64_t>(1, prepared.routine.scratch_bytes), kTensorAlignment).value_or(0);
  const std::unique_ptr<std::byte, Free> scratch(
      static_cast<std::byte*>(std::aligned_alloc(kTensorAlignment, scratch_bytes)));
  if (!scratch) return MakeError(ErrorCode::kOutOfMemory, "reference.scratch", "out of memory");
  std::vector<std::string> unpacked(prepared.in.size()), results(prepared.out.size());
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < prepared.in.size(); ++i) {
    const TensorFacts& operand = prepared.in[i];
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
  PT_CHECK_OK(prepared.routine.run(TensorCall{inputs, outputs, scratch.get(), team}));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < prepared.out.size(); ++i) {
    const TensorFacts& operand = prepared.out[i];
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
