// PlanRunner: a plan that runs on given inputs, for comparing plans by measurement.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/engine/planning_context.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/exec/session.h"

namespace pt {

class PlanRunner {
 public:
  // Errors: those of Session::Create and of the inputs.
  static Result<PlanRunner> Make(const PlanningContext& context, const Plan& plan, std::span<const Tensor> inputs);

  // Nanoseconds of the median run among as many as fit into the turn; at least one. The first run of a turn brings
  // weights into the caches, as they are when a plan runs alone; it does not count.
  Result<int64_t> MedianOfTurn(std::chrono::nanoseconds turn);
  // Of each step in as many runs: the median of its own time, without waiting.
  Result<std::vector<int64_t>> StepMediansOfTurn(std::chrono::nanoseconds turn);

 private:
  Result<int64_t> RunOnce(Trace* trace);
  template <typename F>
  Status TakeTurn(std::chrono::nanoseconds turn, Trace* trace, const F& note);

  RunOptions run_options_;
  std::unique_ptr<Session> session_;
  std::optional<RunBuffers> inputs_, outputs_;
};

}  // namespace pt
