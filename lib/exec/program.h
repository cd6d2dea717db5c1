// Program: a plan as one list of instructions a core, with only the waits that nothing else implies.
#pragma once

#include <cstdint>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

struct Instruction {
  enum class Kind : uint8_t {
    kRunTeam,    // lead this host step on its unit's team
    kHelp,       // be helper `index` of the team that runs this step
    kEnqueue,    // launch this step on its asynchronous unit and record its event
    kPass,       // this step has nothing to do: its time is noted, no more
    kSignal,     // set flag `index`: the step is done, or launched if its unit is asynchronous
    kWaitFlag,   // until flag `index` of that step is set
    kPollEvent,  // until the event of that step is ready
    kDrain,      // until everything launched on the step's unit is over
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

struct Program {
  std::vector<ResourceId> cores;                // those that take part, ascending
  std::vector<std::vector<Instruction>> lists;  // one a core
  uint32_t flag_count = 0;
  // The steps that directly precede each one in happens-before: `after` and the exclusive resources' lists.
  std::vector<std::vector<StepId>> before;
};

// The plan must be legal (CheckPlan). `sequential`: every step also waits for the one before it in the plan.
Program CompileProgram(const Platform& platform, const Plan& plan, const std::vector<StepAction>& actions,
                       bool sequential);

}  // namespace pt
