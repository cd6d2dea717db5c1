#include "lib/exec/compiled_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lib/exec/in_parallel.h"
#include "lib/exec/nested_graph.h"
#include "lib/exec/workers.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/plan/plan_precision.h"

namespace pt {
namespace {

Status CheckMemory(const Plan& plan, uint64_t beside_arenas, uint64_t limit) {
  uint64_t bytes = beside_arenas;
  for (const auto& [device, arena] : plan.memory) bytes = SaturatedSum(bytes, arena.bytes);
  if (limit == 0 || bytes <= limit) return {};
  return MakeError(
      ErrorCode::kOutOfMemory, "session.memory_limit",
      "a run of this plan needs " + std::to_string(bytes) + " bytes, the limit is " + std::to_string(limit));
}

// Every placement is part of some plan that may be judged: task i by its placement (i + k) mod their number, for all k.
Status JudgeDispatch(const Graph& graph, const Machine& machine, const DispatchPlan& dispatch) {
  const Platform& platform = machine.platform();
  PT_CHECK_OK(CheckDispatchPlan(platform, dispatch));
  size_t most = 1;
  for (const DispatchTask& task : dispatch.table.tasks) most = std::max(most, task.placements.size());
  std::vector<uint32_t> choices(dispatch.table.tasks.size());
  for (size_t k = 0; k < most; ++k) {
    for (size_t t = 0; t < choices.size(); ++t) {
      choices[t] = static_cast<uint32_t>((t + k) % dispatch.table.tasks[t].placements.size());
    }
    PT_ASSIGN(const Plan plan, StaticPlanOf(graph, platform, dispatch, choices));
    PT_CHECK_OK(StatusOf(JudgePlan(graph, platform, machine.libraries(), plan)));
  }
  return {};
}

class PlanCompiler {
 public:
  explicit PlanCompiler(CompiledPlan& compiled) : compiled_(compiled), plan_(compiled.plan) {
    const Result<bool> keep_nan = MustKeepNan(plan_);  // no error: the checker has seen the plan
    keep_nan_ = keep_nan.ok() && *keep_nan;
  }

  Status Compile() {
    PT_CHECK_OK(CompileSteps());
    SetRunTimeLimit();
    FindDevices();
    compiled_.program = CompileProgram(platform(), plan_, compiled_.places.actions, ProgramOptionsOf());
    if (compiled_.virtual_clock) PT_CHECK_OK(FindKnownTimes());
    return CheckMemory(plan_, BytesBesideArenas(), compiled_.options.run_bytes);
  }

  // Without instructions: the cores that take part, and who works off what is each run's affair.
  Status CompileForDispatch() {
    PT_CHECK_OK(CompileSteps());
    SetRunTimeLimit();
    FindDevices();
    if (compiled_.virtual_clock) {
      return MakeError(ErrorCode::kUnsupported, "session.dispatch_clock",
                       "a device with a virtual clock takes no time while the run decides who is free",
                       "--sim-clock real");
    }
    if (std::ranges::any_of(compiled_.places.instances, &TensorPlace::dynamic)) {
      return MakeError(ErrorCode::kUnsupported, "session.dispatch_dynamic",
                       "a run that decides where steps go needs all sizes beforehand", "run a plan instead");
    }
    Program& program = compiled_.program;
    program.cores = CoresInUse();
    program.lists.resize(program.cores.size());
    program.segment_of.assign(plan_.steps.size(), Program::kNoSegment);
    return CheckMemory(plan_, BytesBesideArenas(), compiled_.options.run_bytes);
  }

  Status CompileSteps() {
    PT_ASSIGN(compiled_.places, PlaceTensors(*compiled_.graph, plan_));
    compiled_.steps.resize(plan_.steps.size());
    PT_CHECK_OK(CompileHostGroups());
    for (size_t i = 0; i < plan_.steps.size(); ++i) PT_CHECK_OK(CompileStep(StepId(i)));
    PlaceScratch();
    FindBoundarySteps();
    compiled_.node_ranges = NodeRanges(platform(), plan_, compiled_.places);
    for (const auto& [unit, nested] : nested_) {
      compiled_.nested_bytes = SaturatedSum(compiled_.nested_bytes, nested.bytes());
    }
    return {};
  }

 private:
  const Platform& platform() const { return compiled_.machine.platform(); }

  uint64_t BytesBesideArenas() const { return SaturatedSum(compiled_.staging_bytes, compiled_.nested_bytes); }

  void FindDevices() {
    std::set<DeviceId> devices;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!compiled_.asynchronous(StepId(i))) continue;
      const DeviceDriver& driver = compiled_.driver(StepId(i));
      devices.insert(driver.id());
      compiled_.simulated |= platform().device(driver.id()).simulated;
      compiled_.virtual_clock |= driver.HasVirtualClock();
    }
    compiled_.devices.assign(devices.begin(), devices.end());
  }

  // Those of host units; of drivers where there is no such unit.
  std::vector<ResourceId> CoresInUse() const {
    std::set<ResourceId> cores, drivers;
    for (const Step& step : plan_.steps) {
      const Unit& unit = platform().unit(step.unit);
      if (unit.driver) drivers.insert(*unit.driver);
      for (const auto& [resource, amount] : unit.uses) {
        if (platform().resources[resource.index()].core) cores.insert(resource);
      }
    }
    if (cores.empty()) cores = drivers;
    return {cores.begin(), cores.end()};
  }

  ProgramOptions ProgramOptionsOf() const {
    const Machine& machine = compiled_.machine;
    ProgramOptions options;
    options.sequential = compiled_.options.sequential;
    options.captures = [this](DeviceId device) { return compiled_.captures(device); };
    options.can_wait = [&machine](DeviceId waiting, DeviceId on) {
      return machine.driver(waiting).CanWaitFor(machine.driver(on));
    };
    return options;
  }

  // With what the device takes longer than its file says.
  int64_t Late(StepId step, int64_t ns) const {
    const auto rates = platform().simulated.find(platform().device_of(plan_.steps[step.index()].unit));
    if (rates == platform().simulated.end()) return ns;
    return std::llround(std::min(static_cast<double>(ns) * rates->second.faults.slow_down, 9e18));
  }

  Status FindKnownTimes() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      CompiledStep& compiled = compiled_.steps[i];
      if (!compiled_.driver(StepId(i)).HasVirtualClock()) continue;
      if (compiled_.places.actions[i] == StepAction::kRun) {
        compiled.known_launch_ns = SimulatedLaunchNs(platform(), platform().device_of(plan_.steps[i].unit));
      }
      if (const auto* copy = std::get_if<Copy>(&plan_.steps[i].work)) {
        const uint64_t bytes = compiled_.places.instances[copy->to.index()].bytes;
        compiled.known_ns = Late(StepId(i), CopyNs(platform().link(copy->link), bytes));
      } else if (const auto* group = std::get_if<RunGroup>(&plan_.steps[i].work)) {
        const Candidate& candidate = plan_.candidates[group->candidate.index()];
        PT_ASSIGN(const Library* library, LibraryNamed(candidate.library));
        const std::optional<int64_t> known = library->KnownCost(*compiled_.graph, platform(), candidate);
        if (!known) {
          return MakeError(ErrorCode::kUnsupported, "session.no_time",
                           StepLabel(compiled_, StepId(i)) +
                               ": the device has a virtual clock, and its library knows no "
                               "time for this");
        }
        compiled.known_ns = Late(StepId(i), *known);
        compiled.demand = SimulatedDemand(*compiled_.graph, platform(), candidate);
      }
    }
    return {};
  }

  // Kernels of the host, which pack nearly all weights there are, on as many threads as the machine has cores. Nested
  // graphs are left to CompileStep: their compilers serve one step at a time.
  Status CompileHostGroups() {
    std::vector<GroupToCompile> groups;
    std::map<std::pair<PlanCandidateId, std::optional<uint32_t>>, StepId> first_of;  // by candidate and memory node
    std::vector<std::pair<StepId, StepId>> equal;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto* group = std::get_if<RunGroup>(&plan_.steps[i].work);
      if (group == nullptr || compiled_.places.actions[i] != StepAction::kRun || HasNestedGraphs(*group)) continue;
      const UnitId unit = plan_.steps[i].unit;
      if (!platform().unit_class(platform().unit(unit).unit_class).on_host()) continue;
      const std::pair key(group->candidate, HomeNode(platform(), unit));
      const auto [first, is_new] = first_of.try_emplace(key, StepId(i));
      if (is_new) {
        groups.push_back({StepId(i), group, ContextFor(unit)});
      } else {
        equal.emplace_back(StepId(i), first->second);
      }
    }
    PT_CHECK_OK(InParallel(groups.size(), compiled_.machine.workers().size(), [&](size_t i) -> Status {
      GroupToCompile& group = groups[i];
      return Labelled(group.step, CompileGroup(*group.group, compiled_.steps[group.step.index()], group.context));
    }));
    for (const auto& [step, first] : equal) {
      compiled_.steps[step.index()].kernel = compiled_.steps[first.index()].kernel;
    }
    return {};
  }

  bool HasNestedGraphs(const RunGroup& group) const {
    const std::vector<NodeId>& nodes = plan_.candidates[group.candidate.index()].nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return !compiled_.graph->node(node).subgraphs.empty(); });
  }

  Status Labelled(StepId id, Status status) const {
    if (status.ok()) return {};
    Error error = std::move(status).error();
    error.message = StepLabel(compiled_, id) + ": " + error.message;
    return error;
  }

  Status CompileStep(StepId id) {
    const Step& step = plan_.steps[id.index()];
    CompiledStep& compiled = compiled_.steps[id.index()];
    compiled.unit = step.unit;
    Status status;
    if (const auto* group = std::get_if<RunGroup>(&step.work)) {
      compiled.in = group->in;
      compiled.out = group->out;
      const bool runs = compiled_.places.actions[id.index()] == StepAction::kRun;
      if (runs && compiled.kernel == nullptr) {
        CompileContext context = ContextFor(step.unit);
        status = CompileGroup(*group, compiled, context);
      }
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
    return Labelled(id, std::move(status));
  }

  Result<const Library*> LibraryNamed(const std::string& name) const {
    const Library* library = compiled_.machine.library(name);
    if (library != nullptr) return library;
    return MakeError(ErrorCode::kStale, "plan.library",
                     "the plan uses the library '" + name + "', which is not loaded");
  }

  CompileContext ContextFor(UnitId unit) {
    const UnitClassId unit_class = platform().unit(unit).unit_class;
    std::unique_ptr<Team>& team = teams_[unit_class];
    if (!team) team = MakeSerialTeam(std::max<uint32_t>(platform().unit_class(unit_class).cores, 1));
    const auto nested = nested_.try_emplace(unit, compiled_.machine, unit, compiled_.options, keep_nan_).first;
    return {platform(), compiled_.machine.driver(platform().device_of(unit)), team.get(), WeightsFor(unit),
            platform().unit_class(unit_class).on_host() ? &nested->second : nullptr};
  }

  WeightStore& WeightsFor(UnitId unit) {
    const std::optional<uint32_t> node = HomeNode(platform(), unit);
    if (!node) return compiled_.machine.weights();
    std::unique_ptr<WeightsNear>& weights = compiled_.weights_near[*node];
    if (!weights) weights = std::make_unique<WeightsNear>(compiled_.machine.weights(), *node);
    return *weights;
  }

  std::vector<TensorLayout> LayoutsOf(const std::vector<InstanceId>& ids) const {
    std::vector<TensorLayout> layouts;
    layouts.reserve(ids.size());
    for (InstanceId id : ids) layouts.push_back(compiled_.places.instances[id.index()].layout);
    return layouts;
  }

  struct GroupToCompile {
    StepId step;
    const RunGroup* group;
    CompileContext context;
  };

  Status CompileGroup(const RunGroup& group, CompiledStep& compiled, CompileContext& context) const {
    const Candidate& candidate = plan_.candidates[group.candidate.index()];
    PT_ASSIGN(const Library* library, LibraryNamed(candidate.library));
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
    const UnitClassId unit_class = platform().unit(compiled.unit).unit_class;
    for (const KnownReorder& known : reorders_) {
      if (known.library == library && known.unit_class == unit_class && known.from == from && known.to == to) {
        compiled.kernel = known.kernel;
        return {};
      }
    }
    CompileContext context = ContextFor(compiled.unit);
    PT_ASSIGN(compiled.kernel, library->CompileReorder(from, to, context));
    reorders_.push_back({library, unit_class, from, to, compiled.kernel});
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
    // The copy engine's device does it: it reaches its own memory, the host's, and perhaps that of others.
    compiled.copier = &compiled_.machine.driver(platform().device_of(compiled.unit));
    const bool to_device = to.device == compiled.copier->id();
    compiled.direction = to_device ? CopyDirection::kToDevice : CopyDirection::kFromDevice;
    compiled.peer = to_device ? from.device : to.device;
    if (!IsHost(compiled.peer) && !compiled.copier->CanReach(compiled_.machine.driver(compiled.peer))) {
      return MakeError(ErrorCode::kUnsupported, "session.copy",
                       platform().device(compiled.copier->id()).name + " cannot copy to or from " +
                           platform().device(compiled.peer).name,
                       "plan without that link: by way of the host");
    }
    const bool is_callers = from.where == TensorPlace::Where::kInput || from.where == TensorPlace::Where::kOutput;
    compiled.staged = is_callers && IsHost(from.device);
    if (compiled.staged) AddStaging(from.bytes);
    TensorPlace& target = compiled_.places.instances[copy.to.index()];
    if (target.where == TensorPlace::Where::kOutput && IsHost(target.device)) {
      target.where = TensorPlace::Where::kStaged;
      compiled_.places.outputs[target.index].from = OutputSource::From::kStaged;
      AddStaging(target.bytes);
    }
    return {};
  }

  void AddStaging(uint64_t bytes) { compiled_.staging_bytes = SaturatedSum(compiled_.staging_bytes, bytes); }

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
    const auto unsized = [&](ValueId id) {
      const ValueType& type = graph.value(id).type;
      return !type.is_static() || IsHeldAsDatum(type);
    };
    compiled_.dynamic_boundary = std::any_of(graph.inputs().begin(), graph.inputs().end(), unsized) ||
                                 std::any_of(graph.outputs().begin(), graph.outputs().end(), unsized);
    const uint64_t limit = compiled_.options.run_bytes;
    if (limit == 0) return;
    uint64_t planned = BytesBesideArenas();
    for (const auto& [device, arena] : plan_.memory) planned = SaturatedSum(planned, arena.bytes);
    compiled_.run_time_bytes = limit > planned ? limit - planned : 1;
  }

  void FindBoundarySteps() {
    compiled_.input_steps.resize(compiled_.graph->inputs().size());
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
    UnitClassId unit_class;
    TensorLayout from, to;
    std::shared_ptr<const Kernel> kernel;
  };

  CompiledPlan& compiled_;
  const Plan& plan_;
  bool keep_nan_ = false;
  std::map<UnitClassId, std::unique_ptr<Team>> teams_;
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
                                                   Machine& machine, const SessionOptions& options) {
  auto compiled = std::make_unique<CompiledPlan>(std::move(graph), plan, machine, options);
  PT_CHECK_OK(PlanCompiler(*compiled).CompileSteps());
  return compiled;
}

Result<std::unique_ptr<CompiledPlan>> CompileDispatch(std::shared_ptr<const Graph> graph, const DispatchPlan& dispatch,
                                                      Machine& machine, const SessionOptions& options) {
  PT_CHECK_OK(machine.CheckRunsHere());
  if (options.sequential) {
    return MakeError(ErrorCode::kUsage, "session.dispatch_twin",
                     "runs that decide where steps go have no sequential twin", "run the twin of a plan instead");
  }
  PT_CHECK_OK(JudgeDispatch(*graph, machine, dispatch));
  PT_CHECK_OK(CheckMemory(dispatch.plan, 0, options.run_bytes));  // before anything is compiled
  auto compiled = std::make_unique<CompiledPlan>(std::move(graph), dispatch.plan, machine, options);
  compiled->dispatch = dispatch.table;
  PT_CHECK_OK(PlanCompiler(*compiled).CompileForDispatch());
  return compiled;
}

Result<std::unique_ptr<CompiledPlan>> CompilePlan(std::shared_ptr<const Graph> graph, const Plan& plan,
                                                  Machine& machine, const SessionOptions& options) {
  PT_CHECK_OK(machine.CheckRunsHere());
  PT_CHECK_OK(StatusOf(JudgePlan(*graph, machine.platform(), machine.libraries(), plan)));
  PT_CHECK_OK(CheckMemory(plan, 0, options.run_bytes));  // before anything is compiled
  auto compiled = std::make_unique<CompiledPlan>(std::move(graph), plan, machine, options);
  PT_CHECK_OK(PlanCompiler(*compiled).Compile());
  return compiled;
}

}  // namespace pt
