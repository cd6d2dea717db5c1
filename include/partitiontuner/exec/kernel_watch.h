// KernelWatch: learns which kernels a machine's libraries are calling for the first time, so that whoever meets the
// process's crash can say which one it was, and keep the next process from it. It may also look at what kernels read
// and make.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "partitiontuner/backend/backend.h"

namespace pt {

// Looks at what one kernel of the host reads and makes, in every run, on the thread that leads it. The run waits
// meanwhile. Called by several threads at once where the kernel is in several runs.
class KernelProbe {
 public:
  virtual ~KernelProbe() = default;
  virtual void Before(TensorSlots in) noexcept = 0;
  virtual void After(TensorSlots out) noexcept = 0;  // unless it failed
};

// What a watch knows a kernel by.
struct WatchedKernelName {
  std::string library;  // its name
  std::string work;     // 32 hexadecimal digits: the same operators on the same dims by the same variant in the same
                        // forms, whatever the model and the unit
  std::string label;    // for people: "oneDNN's kernel of conv1, relu1 (acdb)"
};

// Implemented by whoever watches; outlives the machine. Called from several threads at once.
class KernelWatch {
 public:
  virtual ~KernelWatch() = default;
  // A kernel that is not to be used: it is neither offered nor described any more, and plans that name it are refused.
  virtual bool IsExcluded(const WatchedKernelName& kernel) const = 0;
  // Whether any kernel of the library is: of others IsExcluded is not asked, which needs the name's text.
  virtual bool ExcludesAnyOf(std::string_view library) const = 0;
  // The calling thread begins to compile the kernel, to bind it, or to run it for the first time since it was bound;
  // helpers of its team may take part. `kernel` stays where it is until End. Calls nest on a thread (a step that holds
  // a graph calls the kernels of that) and end in reverse order. Neither allocates nor waits in a run.
  virtual void Begin(const WatchedKernelName& kernel) noexcept = 0;
  virtual void End() noexcept = 0;
  // The probe of the kernel that is compiled of this candidate for a unit of the host, for as long as the kernel lives;
  // null where none is wanted.
  virtual std::shared_ptr<KernelProbe> ProbeOf(const Graph& /*graph*/, const Candidate& /*candidate*/) {
    return nullptr;
  }
};

}  // namespace pt
