// ScopedSignalBlock: threads that are started while it lives leave the application's signals to the application.
#pragma once

namespace pt {

// Blocks signals on this thread, which threads that it starts inherit, but for those that say that an instruction of
// the very thread went wrong: a kernel that faults while they are blocked ends the process without the application's
// handler, crash reporters and sanitizers among them.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock();
  ~ScopedSignalBlock();
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;

 private:
  alignas(8) unsigned char before_[128];  // the system's set of signals
};

}  // namespace pt
