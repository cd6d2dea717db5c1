// pt-run --residuals: a plan's prediction beside traced runs of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "partitiontuner/exec/trace.h"
#include "partitiontuner/plan/residuals.h"
#include "tools/pt-run/runner.h"

namespace pt::tools {

struct ResidualReport {
  Residuals terms;
  std::vector<int64_t> step_ns;  // by step: the median of the traces
};

// By step: what it takes in the middle of the traces, of which there is at least one.
std::vector<int64_t> StepMediansOf(std::span<const Trace> traces);

// At least one trace; pace: see ResidualsOf.
ResidualReport ResidualsOfTraces(const MeasuredPlan& runner, std::span<const Trace> traces, const Pace& pace);

// The terms, and the steps that differ most, with where each reads from.
std::string ResidualText(const MeasuredPlan& runner, const ResidualReport& report);
Json ResidualJson(const MeasuredPlan& runner, const ResidualReport& report);

}  // namespace pt::tools
