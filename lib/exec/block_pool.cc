#include "lib/exec/block_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <new>

#include "partitiontuner/support/alignment.h"

namespace pt {
namespace {

constexpr uint64_t kSmallest = 256;

// Classes are powers of two, so that a little more than last time fits too.
uint64_t ClassBytes(uint64_t bytes) { return std::bit_ceil(std::max(bytes, kSmallest)); }

// False where there is no memory for it. Grows by half at least, as vectors do by themselves.
template <typename T>
bool MakeRoom(std::vector<T>& of, size_t count) {
  if (count <= of.capacity()) return true;
  try {
    of.reserve(std::max(count, of.capacity() + of.capacity() / 2));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace

// In front of each block, as wide as the alignment.
struct alignas(kTensorAlignment) BlockPool::Header {
  uint32_t size_class = 0;

  uint64_t bytes() const { return uint64_t{1} << size_class; }
  void* data() { return this + 1; }
};

BlockPool::Header* BlockPool::HeaderOf(void* data) { return static_cast<Header*>(data) - 1; }

BlockPool::~BlockPool() { FreeUnused(); }

void BlockPool::FreeUnused() {
  for (SizeClass& of : classes_) {
    for (Header* const block : of.unused) {
      held_bytes_ -= block->bytes();
      --of.blocks;
      std::free(block);
    }
    of.unused.clear();
  }
}

Result<void*> BlockPool::Take(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  const auto refuse = [&](const std::string& why) {
    return MakeError(ErrorCode::kOutOfMemory, "run.memory",
                     "a tensor of " + std::to_string(bytes) + " bytes, a size not known until run time, " + why);
  };
  if (bytes > uint64_t{1} << 62) return refuse("is too large");
  const uint64_t block_bytes = ClassBytes(bytes);
  const auto size_class = static_cast<uint32_t>(std::countr_zero(block_bytes));
  const std::lock_guard lock(mutex_);
  SizeClass& of = classes_[size_class];
  if (!of.unused.empty()) {
    std::pop_heap(of.unused.begin(), of.unused.end(), std::greater<>());
    Header* const block = of.unused.back();
    of.unused.pop_back();
    return block->data();
  }
  const auto fits = [&] {
    return limit_bytes_ == 0 || (block_bytes <= limit_bytes_ && held_bytes_ <= limit_bytes_ - block_bytes);
  };
  if (!fits()) FreeUnused();
  if (!fits()) {
    return refuse("does not fit the " + std::to_string(limit_bytes_) + " bytes that the run has for such tensors");
  }
  if (!MakeRoom(of.unused, of.blocks + 1)) return refuse("finds no memory");
  void* const memory = std::aligned_alloc(kTensorAlignment, sizeof(Header) + block_bytes);
  if (memory == nullptr) return refuse("finds no memory");
  held_bytes_ += block_bytes;
  ++of.blocks;
  auto* const block = new (memory) Header;
  block->size_class = size_class;
  return block->data();
}

void BlockPool::GiveBack(void* data) noexcept {
  if (data == nullptr) return;
  Header* const block = HeaderOf(data);
  const std::lock_guard lock(mutex_);
  std::vector<Header*>& unused = classes_[block->size_class].unused;
  unused.push_back(block);  // within its capacity
  std::push_heap(unused.begin(), unused.end(), std::greater<>());
}

std::shared_ptr<const void> BlockPool::Detach(void* data) {
  if (data == nullptr) return nullptr;
  Header* const block = HeaderOf(data);
  std::shared_ptr<const void> owner(block, [](Header* header) { std::free(header); });
  const std::lock_guard lock(mutex_);
  held_bytes_ -= block->bytes();
  --classes_[block->size_class].blocks;
  return owner;
}

}  // namespace pt
