// A prepared node and what stands between its routine and tensors that are strided, narrow or packed.
#pragma once

#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/kernel.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {

// Where the routine finds an operand.
struct Feed {
  enum class Kind : uint8_t { kAbsent, kConstant, kTensor, kNobodys };
  Kind kind = Kind::kAbsent;
  size_t tensor = 0;                // kTensor: index into the candidate's in or out
  std::optional<size_t> staged_at;  // offset into scratch, when the routine cannot use the tensor as it lies
  std::optional<ElementCopy> copy;  // between the tensor and its stage; absent for packed types
  std::string bytes;                // kConstant of packed types: unpacked
};

struct CompiledNode {
  PreparedNode prepared;
  std::vector<Feed> in, out;
  uint64_t scratch_bytes = 0;
  uint64_t routine_scratch = 0;  // offset of the routine's own part

  Result<size_t> Reserve(uint64_t bytes) {
    const size_t at = scratch_bytes;
    const std::optional<uint64_t> aligned = CheckedAlignUp(bytes, kTensorAlignment);
    if (!aligned || __builtin_add_overflow(scratch_bytes, *aligned, &scratch_bytes)) {
      return MakeError(ErrorCode::kOutOfMemory, "reference.scratch", "scratch memory does not fit 64 bits");
    }
    return at;
  }
};

// in, out: one layout each of the node's GroupInputs and GroupOutputs; those of prepared operands.
Result<std::shared_ptr<const CompiledNode>> FeedNode(const Graph& graph, NodeId id, PreparedNode prepared,
                                                     std::span<const TensorLayout> in,
                                                     std::span<const TensorLayout> out);

class BoundNode final : public BoundKernel {
 public:
  BoundNode(std::shared_ptr<const CompiledNode> node, TensorSlots in, TensorSlots out, std::byte* scratch);

  Status Enqueue(const RunContext& context) noexcept override;

 private:
  std::shared_ptr<const CompiledNode> node_;
  std::byte* scratch_;
  std::vector<void*> tensors_in_, tensors_out_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace pt::reference
