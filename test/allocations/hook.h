// The allocations of a process by operator new: counted, and refused at a chosen one. For test programs that compile
// hook.cc as a source of their own; in a library it would take over every test.
#pragma once

#include <cstdint>

namespace pt::testing {

// Those of all threads since the process began, and those that have not been given back.
int64_t AllocationsMade();
int64_t AllocationsAlive();

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
