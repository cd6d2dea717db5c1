#include "lib/exec/compiled_plan.h"

#include <algorithm>
#include <map>

#include "lib/exec/nested_graph.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/exec/judge_plan.h"

namespace pt {
namespace {

Status CheckMemory(const Plan& plan, uint64_t limit) {
  uint64_t bytes = 0;
  for (const auto& [device, arena] : plan.memory) {
    if (__builtin_add_overflow(bytes, arena.bytes, &bytes)) bytes = UINT64_MAX;
  }
  if (limit == 0 || bytes <= limit) return {};
  return MakeError(
      ErrorCode::kOutOfMemory, "session.memory_limit",
      "a run of this plan needs " + std::to_string(bytes) + " bytes, the limit is " + std::to_string(limit));
}

class PlanCompiler {
 public:
  explicit PlanCompiler(CompiledPlan& compiled) : compiled_(compiled), plan_(compiled.plan) {}

  Status Compile() {
    PT_CHECK_OK(CompileSteps());
    SetRunTimeLimit();
    compiled_.program = CompileProgram(platform(), plan_, compiled_.places.actions, compiled_.options.sequential);
    compiled_.simulated = std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const Step& step) {
      return platform().device(platform().device_of(step.unit)).simulated;
    });
    return {};
  }

  Status CompileSteps() {
    PT_ASSIGN(compiled_.places, PlaceTensors(*compiled_.graph, plan_));
    compiled_.steps.resize(plan_.steps.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) PT_CHECK_OK(CompileStep(StepId(i)));
    PlaceScratch();
    FindBoundarySteps();
    compiled_.node_ranges = NodeRanges(platform(), plan_, compiled_.places);
    return {};
  }

 private:
  const Platform& platform() const { return compiled_.machine.platform(); }

  Status CompileStep(StepId id) {
    const Step& step = plan_.steps[id.index()];
    CompiledStep& compiled = compiled_.steps[id.index()];
    compiled.unit = step.unit;
    Status status;
    if (const auto* group = std::get_if<RunGroup>(&step.work)) {
      compiled.in = group->in;
      compiled.out = group->out;
      const bool runs = compiled_.places.actions[id.index()] == StepAction::kRun;
      if (runs) status = CompileGroup(*group, compiled);
    } else if (const auto* reorder = std::get_if<Reorder>(&step.work)) {
      compiled.in = {reorder->from};
      compiled.out = {reorder->to};
      status = CompileReorder(*reorder, compiled);
    } else {
      const auto& copy = std::get<Copy>(step.work);
      compiled.in = {copy.from};
      compiled.out = {copy.to};
      status = PrepareCopy(copy, compiled);
    }
    if (status.ok()) return {};
    Error error = std::move(status).error();
    error.message = StepLabel(compiled_, id) + ": " + error.message;
    return error;
  }

  Result<const Library*> LibraryNamed(const std::string& name) const {
    const Library* library = compiled_.machine.library(name);
    if (library != nullptr) return library;
    return MakeError(ErrorCode::kStale, "plan.library",
                     "the plan uses the library '" + name + "', which is not loaded");
  }

  CompileContext ContextFor(UnitId unit) {
    const UnitClassId kind = platform().unit(unit).kind;
    std::unique_ptr<Team>& team = teams_[kind];
    if (!team) team = MakeSerialTeam(std::max<uint32_t>(platform().unit_class(kind).cores, 1));
    const auto nested = nested_.try_emplace(unit, compiled_.machine, unit).first;
    return {platform(), compiled_.machine.driver(platform().device_of(unit)), team.get(), WeightsFor(unit),
            platform().unit_class(kind).on_host() ? &nested->second : nullptr};
  }

  WeightStore& WeightsFor(UnitId unit) {
    const std::optional<uint32_t> node = HomeNode(platform(), unit);
    if (!node) return compiled_.machine.weights();
    std::unique_ptr<WeightsNear>& weights = weights_near_[*node];
    if (!weights) weights = std::make_unique<WeightsNear>(compiled_.machine.weights(), *node);
    return *weights;
  }

  std::vector<TensorLayout> LayoutsOf(const std::vector<InstanceId>& ids) const {
    std::vector<TensorLayout> layouts;
    layouts.reserve(ids.size());
    for (InstanceId id : ids) layouts.push_back(compiled_.places.instances[id.index()].layout);
    return layouts;
  }

  Status CompileGroup(const RunGroup& group, CompiledStep& compiled) {
    const Candidate& candidate = plan_.candidates[group.candidate.index()];
    PT_ASSIGN(const Library* library, LibraryNamed(candidate.library));
    CompileContext context = ContextFor(compiled.unit);
    PT_ASSIGN(compiled.kernel,
              library->Compile(*compiled_.graph, candidate, LayoutsOf(group.in), LayoutsOf(group.out), context));
    return {};
  }

  // Reorders depend on nothing but the layouts and the class, so equal ones share a kernel.
  Status CompileReorder(const Reorder& reorder, CompiledStep& compiled) {
    PT_ASSIGN(const Library* library, LibraryNamed(reorder.library));
    const TensorLayout& from = compiled_.places.instances[reorder.from.index()].layout;
    const TensorLayout& to = compiled_.places.instances[reorder.to.index()].layout;
    PT_CHECK_OK(RefuseDynamic(reorder.from));
    const UnitClassId kind = platform().unit(compiled.unit).kind;
    for (const KnownReorder& known : reorders_) {
      if (known.library == library && known.kind == kind && known.from == from && known.to == to) {
        compiled.kernel = known.kernel;
        return {};
      }
    }
    CompileContext context = ContextFor(compiled.unit);
    PT_ASSIGN(compiled.kernel, library->CompileReorder(from, to, context));
    reorders_.push_back({library, kind, from, to, compiled.kernel});
    return {};
  }

  Status RefuseDynamic(InstanceId id) const {
    if (!compiled_.places.instances[id.index()].dynamic) return {};
    return MakeError(ErrorCode::kUnsupported, "session.dynamic",
                     "a value whose size is known only at run time can be neither copied nor reordered");
  }

  Status PrepareCopy(const Copy& copy, CompiledStep& compiled) {
    const TensorPlace& from = compiled_.places.instances[copy.from.index()];
    const TensorPlace& to = compiled_.places.instances[copy.to.index()];
    PT_CHECK_OK(RefuseDynamic(copy.from));
    if (!IsContiguous(from.layout) || !IsContiguous(to.layout)) {
      return MakeError(ErrorCode::kUnsupported, "session.copy",
                       "a copy between devices needs contiguous tensors on both sides");
    }
    // The device that is not the host knows how to reach its own memory.
    const bool to_device = !IsHost(to.device);
    compiled.copier = &compiled_.machine.driver(to_device ? to.device : from.device);
    compiled.direction = to_device ? CopyDirection::kToDevice : CopyDirection::kFromDevice;
    return {};
  }

  void PlaceScratch() {
    for (const auto& [device, arena] : plan_.memory) {
      for (const ScratchPlacement& scratch : arena.scratch) {
        compiled_.steps[scratch.step.index()].scratch_offset = scratch.offset;
        compiled_.steps[scratch.step.index()].scratch_bytes = scratch.bytes;
      }
    }
  }

  void SetRunTimeLimit() {
    const Graph& graph = *compiled_.graph;
    const auto unsized = [&](ValueId id) { return !graph.value(id).type.is_static(); };
    compiled_.dynamic_boundary = std::any_of(graph.inputs().begin(), graph.inputs().end(), unsized) ||
                                 std::any_of(graph.outputs().begin(), graph.outputs().end(), unsized);
    const uint64_t limit = compiled_.options.run_bytes;
    if (limit == 0) return;
    uint64_t planned = 0;
    for (const auto& [device, arena] : plan_.memory) planned += arena.bytes;  // below the limit: see CheckMemory
    compiled_.run_time_bytes = std::max<uint64_t>(limit - planned, 1);
  }

  void FindBoundarySteps() {
    compiled_.input_steps.resize(compiled_.graph->inputs().size() + compiled_.graph->captured().size());
    compiled_.output_steps.resize(compiled_.graph->outputs().size());
    for (size_t i = 0; i < compiled_.steps.size(); ++i) {
      const auto add = [&](const std::vector<InstanceId>& ids) {
        for (InstanceId id : ids) {
          const TensorPlace& place = compiled_.places.instances[id.index()];
          if (place.where == TensorPlace::Where::kInput) {
            compiled_.input_steps[place.index].push_back(StepId(i));
          } else if (place.where == TensorPlace::Where::kOutput) {
            compiled_.output_steps[place.index].push_back(StepId(i));
          }
        }
      };
      add(compiled_.steps[i].in);
      add(compiled_.steps[i].out);
    }
  }

  struct KnownReorder {
    const Library* library;
    UnitClassId kind;
    TensorLayout from, to;
    std::shared_ptr<const Kernel> kernel;
  };

  CompiledPlan& compiled_;
  const Plan& plan_;
  std::map<UnitClassId, std::unique_ptr<Team>> teams_;
  std::map<uint32_t, std::unique_ptr<WeightsNear>> weights_near_;  // by memory node
  std::map<UnitId, NestedCompiler> nested_;
  std::vector<KnownReorder> reorders_;
};

}  // namespace

std::string StepLabel(const CompiledPlan& plan, StepId step) {
  std::string what = "copy";
  const Work& work = plan.plan.steps[step.index()].work;
  if (const auto* group = std::get_if<RunGroup>(&work)) {
    const Candidate& candidate = plan.plan.candidates[group->candidate.index()];
    what = candidate.library;
    for (NodeId node : candidate.nodes) what += " " + NodeLabel(*plan.graph, node);
  } else if (std::holds_alternative<Reorder>(work)) {
    what = "reorder";
  }
  return "step " + std::to_string(step.value) + " (" + what + ") on " +
         plan.machine.platform().unit(plan.plan.steps[step.index()].unit).name;
}

Result<std::unique_ptr<CompiledPlan>> CompileSteps(std::shared_ptr<const Graph> graph, const Plan& plan,
                                                   Machine& machine) {
  std::unique_ptr<CompiledPlan> compiled(new CompiledPlan{std::move(graph), plan, machine, {}, {}, {}, {}, {}, {}, {}});
  PT_CHECK_OK(PlanCompiler(*compiled).CompileSteps());
  return compiled;
}

Result<std::unique_ptr<CompiledPlan>> CompilePlan(std::shared_ptr<const Graph> graph, const Plan& plan,
                                                  Machine& machine, const SessionOptions& options) {
  PT_CHECK_OK(machine.CheckRunsHere());
  PT_CHECK_OK(StatusOf(JudgePlan(*graph, machine.platform(), machine.libraries(), plan)));
  PT_CHECK_OK(CheckMemory(plan, options.run_bytes));
  std::unique_ptr<CompiledPlan> compiled(
      new CompiledPlan{std::move(graph), plan, machine, options, {}, {}, {}, {}, {}, {}});
  PT_CHECK_OK(PlanCompiler(*compiled).Compile());
  return compiled;
}

}  // namespace pt
