#include "lib/backend/reference/counted.h"

#include <algorithm>
#include <cstring>

#include "partitiontuner/support/checked.h"

namespace pt::reference {

Result<Receipt> CountBytes(RunMemory& memory, uint64_t bytes) {
  PT_ASSIGN(void* const block, memory.Take(std::max<uint64_t>(bytes, 1)));
  return Receipt(block, [&memory](void* taken) { memory.GiveBack(taken); });
}

Result<Receipt> CountStrings(RunMemory& memory, int64_t count, uint64_t bytes) {
  const std::optional<int64_t> heads = CheckedMul(count, static_cast<int64_t>(sizeof(std::string)));
  uint64_t all = 0;
  if (!heads || __builtin_add_overflow(static_cast<uint64_t>(*heads), bytes, &all)) {
    return MakeError(ErrorCode::kOutOfMemory, "reference.size", "the size of a tensor of strings does not fit 64 bits");
  }
  return CountBytes(memory, all);
}

Result<TensorPtr> CountedCopy(RunMemory& memory, const Tensor& tensor) {
  const size_t bytes = tensor.bytes().size();
  PT_ASSIGN(Receipt receipt, CountBytes(memory, bytes));
  if (bytes > 0) std::memcpy(receipt.get(), tensor.bytes().data(), bytes);
  PT_ASSIGN(Tensor copy, Tensor::FromShared(tensor.type(), tensor.dims(), nullptr,
                                            {static_cast<const std::byte*>(receipt.get()), bytes}));
  return KeepWith(std::move(receipt), std::move(copy));
}

Result<Datum> CountedSequence(RunMemory& memory, DataType type, std::vector<TensorPtr> elements) {
  PT_ASSIGN(Receipt receipt, CountBytes(memory, elements.size() * sizeof(TensorPtr)));
  return Datum::Sequence(type, KeepWith(std::move(receipt), std::move(elements)));
}

}  // namespace pt::reference
