// Program: a plan as one list of instructions a core, with only the waits that nothing else implies.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "partitiontuner/plan/launch_segments.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct Instruction {
  enum class Kind : uint8_t {
    kRunTeam,     // lead this host step on its unit's team
    kHelp,        // be helper `index` of the team that runs this step
    kEnqueue,     // launch this step on its asynchronous unit
    kRecord,      // record the step's event on its unit
    kStreamWait,  // let the step's unit wait, on the device, for the event of step `index`
    kLaunch,      // launch segment `index`
    kPass,        // this step has nothing to do: its time is noted, no more
    kSignal,      // set flag `index`: the step is done, or launched if its unit is asynchronous
    kWaitFlag,    // until flag `index` of that step is set
    kPollEvent,   // until the event of that step is ready
    kDrain,       // until everything launched on the step's unit is over
  };
  Kind kind;
  StepId step;
  uint32_t index = 0;
};

// What the executor must know about a step beyond the plan.
enum class StepAction : uint8_t {
  kRun,
  kNothing,  // its result lies where it belongs already: order only, no work
};

// Steps of one device that are launched as one: by a single core, on several of its units. All of it comes after what
// its first step waits for, and after nothing else, so that nothing starts later than it would alone.
struct Segment {
  std::vector<StepId> steps;  // ascending
  UnitId origin;              // the unit of the first step: the segment is launched on its stream
  std::vector<UnitId> others;
  // kEnqueue, kRecord and kStreamWait, between the start of `others` after `origin` and their return to it.
  std::vector<Instruction> script;
  std::vector<StepId> last;  // of each of `others`: its last step here
};

struct Program {
  std::vector<ResourceId> cores;                // those that take part, ascending
  std::vector<std::vector<Instruction>> lists;  // one a core
  uint32_t flag_count = 0;
  // The steps that directly precede each one in happens-before: `after` and the exclusive resources' lists.
  std::vector<std::vector<StepId>> predecessors;
  std::vector<Segment> segments;
  std::vector<uint32_t> segment_of;  // by step; kNoSegment where it is launched alone
  static constexpr uint32_t kNoSegment = LaunchSegments::kNone;
};

struct ProgramOptions {
  bool sequential = false;  // every step also waits for the one before it in the plan
  // Units of the device can be captured: their steps form segments where that makes nothing wait for longer.
  std::function<bool(DeviceId)> captures = [](DeviceId) { return false; };
  // Streams of the first device can wait for events of the second.
  std::function<bool(DeviceId, DeviceId)> can_wait = [](DeviceId waiting, DeviceId on) { return waiting == on; };
};

// The plan must be legal (CheckPlan).
Program CompileProgram(const Platform& platform, const Plan& plan, const std::vector<StepAction>& actions,
                       const ProgramOptions& options = {});

}  // namespace pt
