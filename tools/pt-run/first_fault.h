// The first value of a run, in the order of its plan, that lies beyond its tolerance from what the reference library
// makes of the same inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/pt-run/value_probes.h"
#include "tools/pt-run/verdict.h"

namespace pt::tools {

// A value where it was looked at.
struct JudgedValue {
  ValueId value;
  StepId step;             // that made it there: a group, a copy or a reorder
  StepId reader;           // whose kernel it was looked at in; invalid: in the one that made it
  bool changed = false;    // it was right when it was made, and is not when it is read
  bool is_output = false;  // as the caller gets it
  OutputVerdict verdict;
};

struct FaultReport {
  std::optional<JudgedValue> first;
  std::vector<JudgedValue> inputs;   // what its step reads, as far as that was looked at
  std::optional<JudgedValue> worst;  // of all that are within, the nearest to its tolerance; none where one is beyond
  size_t values = 0;                 // that the plan makes
  size_t compared = 0;               // of these, up to the first fault
};

// Runs the plan and the reference library on the inputs, once each where there is memory for all values: half of what
// one run may take (flags.run_bytes); else again for each part of the plan. probes: of the machine of `ready`. Errors:
// those of runs; kOutOfMemory.
Result<FaultReport> FindFirstFault(const std::shared_ptr<const ReadyModel>& ready, const std::vector<Datum>& inputs,
                                   ValueProbes& probes, const RunFlags& flags, const CancelToken& cancel);

}  // namespace pt::tools
