// Tensors in a Datum: they count against the memory of the run that made them for as long as some datum holds them.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/graph/datum.h"

namespace pt::reference {

// Bytes that the holder keeps, given back with the last copy. The run's memory must outlive it.
using Receipt = std::shared_ptr<void>;

// Memory of the run; also for bytes that the caller is about to allocate elsewhere (strings lie on the heap), which
// then are left untouched and only count. kOutOfMemory names the run's limit.
Result<Receipt> CountBytes(RunMemory& memory, uint64_t bytes);
// What `count` strings of `bytes` bytes in all take. `bytes` may be more than fits, then it is refused.
Result<Receipt> CountStrings(RunMemory& memory, int64_t count, uint64_t bytes);

// The tensor, or the list of a sequence, which holds the receipt.
template <typename T>
std::shared_ptr<const T> KeepWith(Receipt receipt, T kept) {
  struct Both {
    Receipt receipt;
    T kept;
  };
  auto both = std::make_shared<const Both>(Both{std::move(receipt), std::move(kept)});
  return std::shared_ptr<const T>(both, &both->kept);
}

// A tensor of numbers in memory of its own.
Result<TensorPtr> CountedCopy(RunMemory& memory, const Tensor& tensor);
// A sequence of elements that are counted already.
Result<Datum> CountedSequence(RunMemory& memory, DataType type, std::vector<TensorPtr> elements);

}  // namespace pt::reference
