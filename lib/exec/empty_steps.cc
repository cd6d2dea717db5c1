#include "lib/exec/empty_steps.h"

#include <memory>
#include <utility>
#include <vector>

#include "lib/exec/run_state.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt {
namespace {

class EmptyBoundKernel final : public BoundKernel {
 public:
  Status Enqueue(const RunContext&) noexcept override { return {}; }
};

class EmptyKernel final : public Kernel {
 public:
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots, TensorSlots, std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(std::make_unique<EmptyBoundKernel>());
  }
};

Plan PlanOfSteps(UnitId unit, uint32_t count) {
  Plan plan;
  plan.steps.resize(count);
  for (Step& step : plan.steps) {
    step.unit = unit;
    step.work = RunGroup();
  }
  return plan;
}

}  // namespace

Result<int64_t> RunEmptySteps(Machine& machine, UnitId unit, uint32_t count) {
  PT_ASSIGN(Graph graph, GraphBuilder().Build());
  CompiledPlan plan(std::make_shared<const Graph>(std::move(graph)), PlanOfSteps(unit, count), machine, {});
  const auto kernel = std::make_shared<const EmptyKernel>();
  for (uint32_t i = 0; i < count; ++i) {
    CompiledStep& step = plan.steps.emplace_back();
    step.unit = unit;
    step.kernel = kernel;
  }
  plan.program = CompileProgram(machine.platform(), plan.plan, std::vector<StepAction>(count, StepAction::kRun));
  PT_ASSIGN(const std::unique_ptr<RunState> state, RunState::Make(plan));
  // As a session's second run finds its memory.
  PT_CHECK_OK(state->Run({}, {}, nullptr, RunLimits(), NowNs(), std::nullopt));
  PT_ASSIGN(const RunReport report, state->Run({}, {}, nullptr, RunLimits(), NowNs(), std::nullopt));
  return report.wall_ns;
}

}  // namespace pt
