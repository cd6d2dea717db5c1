// Other code than the kernel's that a core goes through, as it does between two runs of the same step of a network.
#pragma once

#include <cstddef>

namespace pt {

// A long chain of jumps, in memory of its own. After walking it, the core's caches of instructions and of branch
// targets hold nothing else. Thread-safe.
class CodeWalk {
 public:
  CodeWalk();
  ~CodeWalk();
  CodeWalk(const CodeWalk&) = delete;
  CodeWalk& operator=(const CodeWalk&) = delete;

  // Does nothing where the system gives no memory to execute, or the processor's instructions are not known.
  void Walk() const;

 private:
  void* code_ = nullptr;
};

}  // namespace pt
