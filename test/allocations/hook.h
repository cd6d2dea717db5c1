// The allocations of a process by operator new: counted, and refused at a chosen one. For test programs that compile
// hook.cc as a source of their own; in a library it would take over every test.
#pragma once

#include <cstdint>

namespace pt::testing {

// Those of all threads since the process began, and those that have not been given back.
int64_t AllocationsMade();
int64_t AllocationsAlive();

// What all threads allocate from when this is made, in bytes as the allocator rounds them. One at a time.
class AllocatedBytes {
 public:
  AllocatedBytes();
  int64_t all() const;           // given back or not
  int64_t most_at_once() const;  // beside what there was

 private:
  const int64_t made_, alive_;
};

// While this lives, the n-th allocation of the process from now on throws std::bad_alloc (n = 1: the next one), once.
// One at a time.
class RefusedAllocation {
 public:
  explicit RefusedAllocation(int64_t n);
  ~RefusedAllocation();
  RefusedAllocation(const RefusedAllocation&) = delete;
  RefusedAllocation& operator=(const RefusedAllocation&) = delete;
  bool happened() const;
};

}  // namespace pt::testing
