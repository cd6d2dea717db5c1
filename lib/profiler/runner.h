// Runner: times subjects as steps of one unit class, each sample in the state that its key speaks of. One
// implementation a kind of device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lib/profiler/hogs.h"
#include "lib/profiler/host_caches.h"
#include "lib/profiler/subject.h"

namespace pt {

struct Timing {
  int64_t ns = 0;
  bool preempted = false;  // the system took a core away meanwhile: says nothing about the work
  int64_t launch_ns = 0;   // of the host, to enqueue it on a device
};

class Runner {
 public:
  virtual ~Runner() = default;
  // For compiling subjects that this runner times.
  virtual CompileContext compile_context() const = 0;
  // Prepares inputs and caches, then times one execution. Subject::origin tells whose an error is.
  virtual Result<Timing> Time(Subject& subject) = 0;
};

class HostRunner : public Runner {
 public:
  // The same, but other cores have made the inputs, `makers` as HostCores counts them.
  virtual Result<Timing> TimeFetching(std::span<const uint32_t> makers, Subject& subject) = 0;
  // The same as Time while the hogs are at work on the machine's other cores.
  virtual Result<Timing> TimeBeside(Hogs& hogs, Subject& subject) = 0;
};

class DeviceRunner : public Runner {
 public:
  // Nanoseconds of an execution of each of them, at once on streams of their own: from the start of all to the end of
  // the last. The state and the errors are those of Time; the origin is told by the first.
  virtual Result<int64_t> TimeAtOnce(std::span<Subject* const> subjects) = 0;
};

// For units of host cores: on the pinned workers, all cores of the machine held. The caches are shared by all runners.
Result<std::unique_ptr<HostRunner>> MakeHostRunner(Machine& machine, UnitId unit, std::vector<uint32_t> cores,
                                                   HostCaches& caches);

}  // namespace pt
