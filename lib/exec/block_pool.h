// BlockPool: host memory of sizes known only at run time. What is given back serves later requests, of this run and of
// the next ones, so that runs of like sizes stop asking the system.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt {

class BlockPool : public RunMemory {
 public:
  // limit_bytes: of all blocks together, those that wait for use included; 0 = none.
  explicit BlockPool(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~BlockPool() override;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // From any thread. kOutOfMemory names the limit when that is what stands in the way.
  Result<void*> Take(uint64_t bytes) override;
  void GiveBack(void* data) noexcept override;

  // The block leaves the pool and its limit; freed with the last copy of the pointer. Null stays null.
  std::shared_ptr<const void> Detach(void* data);

 private:
  struct Header;
  static Header* HeaderOf(void* data);
  void FreeUnused();

  // Blocks of one size.
  struct SizeClass {
    // A heap by address: runs that ask for the same get the same blocks, whatever the order in which they came back,
    // and kernels need not be bound again. Has room for all blocks.
    std::vector<Header*> unused;
    size_t blocks = 0;  // in use and unused
  };

  const uint64_t limit_bytes_;
  std::mutex mutex_;
  uint64_t held_bytes_ = 0;  // in use and unused
  std::array<SizeClass, 64> classes_;
};

}  // namespace pt
