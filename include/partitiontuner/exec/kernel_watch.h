// KernelWatch: learns which kernels a machine's libraries are calling for the first time, so that whoever meets the
// process's crash can say which one it was, and keep the next process from it.
#pragma once

#include <string>
#include <string_view>

namespace pt {

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
};

}  // namespace pt
