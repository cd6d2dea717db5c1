#include "lib/exec/run_state.h"

#include <algorithm>
#include <cstring>

#include "lib/exec/clock.h"
#include "lib/exec/thread_state.h"
#include "partitiontuner/backend/devices.h"

namespace pt {
namespace {

constexpr int64_t kBriefNs = 1'000'000;  // a quarter of the scheduler's usual tick

// The numbers of a datum lie in the run's memory, which the run takes back.
TensorPtr WithOwnMemory(const Tensor& tensor) {
  if (tensor.type() == DataType::kString) return std::make_shared<const Tensor>(tensor);
  const std::span<const std::byte> bytes = tensor.bytes();
  return std::make_shared<const Tensor>(
      Tensor::FromBytes(tensor.type(), tensor.dims(),
                        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()))
          .value());
}

Datum WithOwnMemory(const Datum& datum) {
  if (datum.is_tensor()) return Datum(WithOwnMemory(datum.tensor()));
  if (!datum.is_sequence()) return {};
  std::vector<TensorPtr> elements;
  for (const TensorPtr& element : datum.elements()) elements.push_back(WithOwnMemory(*element));
  return Datum::Sequence(datum.element_type(), std::move(elements)).value();
}

}  // namespace

RunState::RunState(const CompiledPlan& plan)
    : plan_(plan), workers_(plan.machine.workers()), pool_(plan.run_time_bytes) {}

Result<std::unique_ptr<RunState>> RunState::Make(const CompiledPlan& plan) {
  std::unique_ptr<RunState> state(new RunState(plan));
  PT_CHECK_OK(state->Prepare());
  return state;
}

bool RunState::CanRunAlone(const CompiledPlan& plan) {
  const size_t least = plan.options.alone == AloneRuns::kAnyCore ? 1 : 2;
  if (!plan.devices.empty() || plan.program.cores.size() < least || plan.options.sequential || plan.dispatch) {
    return false;
  }
  return std::ranges::none_of(
      plan.steps, [](const CompiledStep& step) { return step.kernel != nullptr && step.kernel->brings_threads(); });
}

std::vector<uint32_t> RunState::AloneWorkers(const CompiledPlan& plan) {
  const Workers& workers = plan.machine.workers();
  std::vector<uint32_t> alone;
  if (plan.options.alone == AloneRuns::kAnyCore && CanRunAlone(plan)) {
    for (uint32_t worker = 0; worker < workers.size(); ++worker) alone.push_back(worker);
  } else {
    for (const ResourceId core : plan.program.cores) alone.push_back(workers.worker_of(core));
  }
  return alone;
}

Status RunState::Prepare() {
  PT_CHECK_OK(Allocate());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const auto at_boundary = [&](const std::vector<InstanceId>& ids) {
      return std::any_of(ids.begin(), ids.end(), [&](InstanceId id) {
        const TensorPlace::Where where = plan_.places.instances[id.index()].where;
        return where == TensorPlace::Where::kInput || where == TensorPlace::Where::kOutput;
      });
    };
    if (at_boundary(plan_.steps[i].in) || at_boundary(plan_.steps[i].out)) continue;
    PT_CHECK_OK(Bind(StepId(i)));
  }
  return {};
}

// A device that copies to or from the host's arena, which is then memory that it reaches without a stop in between:
// from other memory it would copy later and slower than was measured, and the launch would wait for it. Null where none
// does. Drivers of other devices take such memory for the host's own.
DeviceDriver* RunState::CopierOfArena(DeviceId arena) const {
  if (!IsHost(arena)) return nullptr;
  const auto in_arena = [&](InstanceId instance) {
    const TensorPlace& place = plan_.places.instances[instance.index()];
    return place.where == TensorPlace::Where::kArena && IsHost(place.device);
  };
  const auto copies = [&](const CompiledStep& step) {
    return step.copier != nullptr && (in_arena(step.in[0]) || in_arena(step.out[0]));
  };
  const auto step = std::ranges::find_if(plan_.steps, copies);
  return step == plan_.steps.end() ? nullptr : step->copier;
}

Status RunState::Allocate() {
  const Platform& platform = plan_.machine.platform();
  arenas_.resize(platform.devices.size());
  for (const auto& [device, arena] : plan_.plan.memory) {
    DeviceDriver* const copier = CopierOfArena(device);
    PT_ASSIGN(arenas_[device.index()], copier != nullptr ? copier->AllocateHost(arena.bytes)
                                                         : plan_.machine.driver(device).Allocate(arena.bytes));
  }
  for (const NodeRange& range : plan_.node_ranges) {
    if (CopierOfArena(range.device) != nullptr) continue;  // pinned pages stay where they are
    DeviceBuffer& arena = *arenas_[range.device.index()];
    plan_.machine.driver(range.device).PlaceNear(arena, range.offset, range.bytes, range.node);
  }
  teams_.resize(platform.units.size());
  streams_.resize(platform.units.size());
  const size_t steps = plan_.steps.size();
  events_.resize(steps);
  for (size_t i = 0; i < steps; ++i) {
    const UnitId unit = plan_.steps[i].unit;
    const UnitClass& unit_class = platform.unit_class(platform.unit(unit).unit_class);
    if (!unit_class.on_host()) {
      PT_ASSIGN(events_[i], plan_.machine.driver(unit_class.device).MakeUntimedEvent());
    }
    if (streams_[unit.index()]) continue;
    if (!unit_class.on_host()) {
      PT_ASSIGN(streams_[unit.index()], plan_.machine.driver(unit_class.device).MakeStream());
    } else {
      teams_[unit.index()] = std::make_unique<WorkerTeam>(unit_class.cores, workers_.crowded());
      streams_[unit.index()] = MakeHostStream(*teams_[unit.index()]);
    }
  }
  slots_.reserve(plan_.places.instances.size());
  for (const TensorPlace& place : plan_.places.instances) slots_.push_back({nullptr, place.layout});
  run_time_tensors_.emplace(plan_, slots_);
  kernels_.resize(steps);
  extra_scratch_.resize(steps);
  recorded_.assign(steps, 0);
  times_.resize(steps);
  staged_inputs_.resize(steps);
  staged_outputs_.resize(plan_.graph->outputs().size());
  for (size_t i = 0; i < steps; ++i) PT_CHECK_OK(AllocateStaging(StepId(i)));
  for (const Segment& segment : plan_.program.segments) {
    PT_ASSIGN(std::unique_ptr<Event> fork, plan_.driver(segment.steps.front()).MakeUntimedEvent());
    forks_.push_back(std::move(fork));
  }
  PredictDeviceEnds();
  executables_.resize(plan_.program.segments.size());
  is_plain_.assign(plan_.program.segments.size(), 0);
  if (plan_.virtual_clock) PrepareTimeline();
  flags_ = std::make_unique<StepFlag[]>(plan_.program.flag_count);
  bound_inputs_.assign(plan_.graph->inputs().size(), nullptr);
  bound_outputs_.assign(plan_.graph->outputs().size(), nullptr);
  boundary_.resize(steps);
  cores_.resize(plan_.program.cores.size());
  core_index_.resize(workers_.size());
  rests_.reserve(cores_.size());
  std::vector<uint32_t> taken;
  for (size_t i = 0; i < plan_.program.cores.size(); ++i) {
    const uint32_t worker = workers_.worker_of(plan_.program.cores[i]);
    core_index_[worker] = i;
    taken.push_back(worker);
  }
  if (!taken.empty()) Workers::Place(*this, taken);
  for (const uint32_t& core : AloneWorkers(plan_))
    Workers::Place(*alone_jobs_.emplace_back(new AloneJob(*this)), {&core, 1});
  PlaceCounters();
  return {};
}

// Events of a segment are ready when all of it is over.
void RunState::PredictDeviceEnds() {
  device_ends_.resize(plan_.steps.size());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.plan.steps[i];
    device_ends_[i].predicted_ns = step.expected_start_ns + step.expected_ns;
  }
  for (const Segment& segment : plan_.program.segments) {
    int64_t end_ns = 0;
    for (StepId step : segment.steps) end_ns = std::max(end_ns, device_ends_[step.index()].predicted_ns);
    for (StepId step : segment.steps) device_ends_[step.index()].predicted_ns = end_ns;
  }
}

void RunState::PlaceCounters() {
  const Platform& platform = plan_.machine.platform();
  std::vector<std::vector<StepId>> led(plan_.program.cores.size());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (plan_.steps[i].kernel == nullptr || plan_.asynchronous(StepId(i))) continue;
    for (const auto& [resource, amount] : plan_.unit(StepId(i)).uses) {
      if (!platform.resources[resource.index()].core) continue;
      led[core_index_[workers_.worker_of(resource)]].push_back(StepId(i));
      break;
    }
  }
  counters_.assign(plan_.steps.size(), nullptr);
  for (const std::vector<StepId>& steps : led) {
    std::vector<CounterLine>& lines = counter_lines_.emplace_back((steps.size() + 1) / 2);
    for (size_t k = 0; k < steps.size(); ++k) counters_[steps[k].index()] = &lines[k / 2].counters[k % 2];
  }
}

void RunState::Counter::Note(int64_t ns) {
  constexpr auto kAlone = std::memory_order_relaxed;  // one core writes at a time
  const uint64_t before = runs.load(kAlone);
  last_ns.store(ns, kAlone);
  if (before == 0 || ns < min_ns.load(kAlone)) min_ns.store(ns, kAlone);
  sum_ns.store(sum_ns.load(kAlone) + ns, kAlone);
  runs.store(before + 1, kAlone);
}

void RunState::AddCounters(std::vector<StepCounter>& sums) const {
  for (size_t i = 0; i < sums.size(); ++i) {
    if (counters_[i] == nullptr) continue;
    const Counter& counter = *counters_[i];
    const uint64_t runs = counter.runs.load(std::memory_order_relaxed);
    if (runs == 0) continue;
    const int64_t least = counter.min_ns.load(std::memory_order_relaxed);
    StepCounter& sum = sums[i];
    sum.min_ns = sum.runs == 0 ? least : std::min(sum.min_ns, least);
    sum.runs += runs;
    sum.last_ns = counter.last_ns.load(std::memory_order_relaxed);
    sum.sum_ns += counter.sum_ns.load(std::memory_order_relaxed);
  }
}

Status RunState::AllocateStaging(StepId id) {
  const CompiledStep& step = plan_.steps[id.index()];
  if (step.copier == nullptr) return {};
  if (step.staged) {
    const TensorPlace& from = plan_.places.instances[step.in[0].index()];
    PT_ASSIGN(staged_inputs_[id.index()], step.copier->AllocateHost(from.bytes));
  }
  const TensorPlace& to = plan_.places.instances[step.out[0].index()];
  if (to.where == TensorPlace::Where::kStaged) {
    PT_ASSIGN(staged_outputs_[to.index], step.copier->AllocateHost(to.bytes));
  }
  return {};
}

void* RunState::AddressOf(const TensorPlace& place) const {
  switch (place.where) {
    case TensorPlace::Where::kStaged:
      return staged_outputs_[place.index]->data();
    case TensorPlace::Where::kInput:
      return bound_inputs_[place.index];
    case TensorPlace::Where::kOutput:
      return bound_outputs_[place.index];
    case TensorPlace::Where::kPool:
      return nullptr;
    case TensorPlace::Where::kArena:
      break;
  }
  DeviceBuffer* arena = arenas_[place.device.index()].get();
  if (arena == nullptr || arena->data() == nullptr) return nullptr;
  return static_cast<std::byte*>(arena->data()) + place.offset;
}

// What has no size before the run is placed by the run.
void RunState::SetAddresses(const std::vector<InstanceId>& instances) {
  for (InstanceId instance : instances) {
    const TensorPlace& place = plan_.places.instances[instance.index()];
    if (!place.dynamic) slots_[instance.index()].data = AddressOf(place);
  }
}

std::vector<const TensorView*> RunState::SlotsOf(const std::vector<InstanceId>& instances) const {
  std::vector<const TensorView*> slots;
  slots.reserve(instances.size());
  for (InstanceId instance : instances) slots.push_back(&slots_[instance.index()]);
  return slots;
}

Status RunState::Bind(StepId id) {
  const CompiledStep& step = plan_.steps[id.index()];
  if (step.kernel == nullptr) return {};
  const DeviceId device = plan_.machine.platform().device_of(step.unit);
  std::span<std::byte> scratch;
  if (const uint64_t wanted = step.kernel->scratch_bytes(); wanted > step.scratch_bytes) {
    std::unique_ptr<DeviceBuffer>& extra = extra_scratch_[id.index()];
    if (!extra) {
      PT_ASSIGN(extra, plan_.machine.driver(device).Allocate(wanted));
    }
    scratch = {static_cast<std::byte*>(extra->data()), wanted};
  } else if (step.scratch_bytes > 0) {
    scratch = {static_cast<std::byte*>(arenas_[device.index()]->data()) + step.scratch_offset, step.scratch_bytes};
  }
  SetAddresses(step.in);
  SetAddresses(step.out);
  Result<std::unique_ptr<BoundKernel>> bound = step.kernel->Bind(SlotsOf(step.in), SlotsOf(step.out), scratch);
  if (!bound.ok()) {
    Error error = std::move(bound).error();
    error.message = StepLabel(plan_, id) + ": " + error.message;
    return error;
  }
  kernels_[id.index()] = std::move(bound).value();
  return {};
}

bool RunState::IsBoundTo(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs) const {
  const auto same = [](const LentTensor& tensor, void* bound) { return tensor.data == bound; };
  return std::equal(inputs.begin(), inputs.end(), bound_inputs_.begin(), same) &&
         std::equal(outputs.begin(), outputs.end(), bound_outputs_.begin(), same);
}

// Of a step whose buffers are others now: its kernel makes way for the one that is bound to these, or to none. What was
// recorded with the old addresses is recorded anew.
void RunState::SetAside(StepId id) {
  const CompiledStep& step = plan_.steps[id.index()];
  const uint32_t segment = plan_.program.segment_of[id.index()];
  if (segment != Program::kNoSegment && !step.staged) executables_[segment].reset();
  buffers_.clear();
  for (const std::vector<InstanceId>* instances : {&step.in, &step.out}) {
    for (InstanceId instance : *instances) {
      const TensorPlace& place = plan_.places.instances[instance.index()];
      const bool callers = place.where == TensorPlace::Where::kInput || place.where == TensorPlace::Where::kOutput;
      if (callers) buffers_.push_back(AddressOf(place));
    }
  }
  BoundaryStep& boundary = boundary_[id.index()];
  std::unique_ptr<BoundKernel>& kernel = kernels_[id.index()];
  if (boundary.other != nullptr && boundary.before == buffers_) {
    std::swap(kernel, boundary.other);
    std::swap(boundary.now, boundary.before);
    SetAddresses(step.in);
    SetAddresses(step.out);
    return;
  }
  if (kernel != nullptr) {
    boundary.other = std::move(kernel);
    std::swap(boundary.now, boundary.before);
  }
  boundary.now = buffers_;
}

Status RunState::BindBoundary(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs) {
  to_bind_.clear();
  const auto collect = [&](std::span<const LentTensor> tensors, const std::vector<void*>& bound,
                           const std::vector<std::vector<StepId>>& steps) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      // Kernels that no bind has succeeded for are bound now, whatever the address.
      const bool unbound = std::any_of(steps[i].begin(), steps[i].end(), [&](StepId step) {
        return plan_.steps[step.index()].kernel != nullptr && kernels_[step.index()] == nullptr;
      });
      if (bound[i] == tensors[i].data && !unbound) continue;
      to_bind_.insert(to_bind_.end(), steps[i].begin(), steps[i].end());
    }
  };
  collect(inputs, bound_inputs_, plan_.input_steps);
  collect(outputs, bound_outputs_, plan_.output_steps);
  std::sort(to_bind_.begin(), to_bind_.end());
  to_bind_.erase(std::unique(to_bind_.begin(), to_bind_.end()), to_bind_.end());
  const auto address = [](const LentTensor& tensor) { return tensor.data; };
  std::transform(inputs.begin(), inputs.end(), bound_inputs_.begin(), address);
  std::transform(outputs.begin(), outputs.end(), bound_outputs_.begin(), address);
  // No kernel runs on other buffers than it was bound to: should one of the binds fail, those after it are bound by the
  // next run, even one with the same buffers.
  for (StepId step : to_bind_) SetAside(step);
  for (StepId step : to_bind_) {
    if (kernels_[step.index()] == nullptr) PT_CHECK_OK(Bind(step));
  }
  return {};
}

Result<RunReport> RunState::Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs, Trace* trace,
                                const RunLimits& limits, int64_t start_ns, std::optional<size_t> alone_on) {
  PT_CHECK_OK(BindBoundary(inputs, outputs));
  PT_CHECK_OK(run_time_tensors_->Begin(InputViews(inputs), pool_));
  ++generation_;
  timed_ = trace != nullptr || plan_.virtual_clock;
  alone_ = alone_on.has_value();
  limits_ = limits;
  stopped_.store(false, std::memory_order_relaxed);
  error_.reset();
  device_failed_ = false;
  for (CoreState& core : cores_) core = CoreState();
  if (Status status = timed_ ? PrepareTrace() : Status(); !status.ok()) {
    run_time_tensors_->End();
    return std::move(status).error();
  }
  if (alone_) {
    workers_.Run(*alone_jobs_[*alone_on], Stay::kFree, limits_);
  } else if (!cores_.empty()) {
    workers_.Run(*this, last_ns_ < kBriefNs ? Stay::kBrief : Stay::kOnCore, limits_);
    last_ns_ = cores_[0].end_ns - cores_[0].begin_ns;
  }
  ShouldStop();  // a run whose last step ended too late has failed as well
  if (error_) {
    SettleDevices();
    run_time_tensors_->End();
    return *std::move(error_);
  }
  DeliverOutputs(inputs, outputs);
  std::vector<Datum> kept = KeepOutputs(inputs);
  run_time_tensors_->End();
  const Timeline timeline = plan_.virtual_clock ? VirtualTimeline() : Timeline();
  RunReport report = ReportOf(start_ns, timeline);
  report.outputs = std::move(kept);
  if (trace != nullptr) FillTrace(*trace, report, timeline);
  return report;
}

void RunState::DeliverOutputs(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSource& source = plan_.places.outputs[i];
    const void* from = nullptr;
    switch (source.from) {
      case OutputSource::From::kDirect:
      case OutputSource::From::kPool:
        continue;
      case OutputSource::From::kStaged:
        from = staged_outputs_[i]->data();
        break;
      case OutputSource::From::kInput:
        from = inputs[source.index].data;
        break;
      case OutputSource::From::kOutput:
        from = outputs[source.index].data;
        break;
      case OutputSource::From::kConstant:
        from = plan_.graph->value(plan_.graph->outputs()[i]).constant->bytes().data();
        break;
    }
    if (outputs[i].bytes > 0) std::memcpy(outputs[i].data, from, outputs[i].bytes);
  }
}

// Of inputs that have no size before the run.
std::vector<TensorView> RunState::InputViews(std::span<const LentTensor> inputs) const {
  std::vector<TensorView> views;
  if (!plan_.dynamic_boundary) return views;
  for (const LentTensor& input : inputs) {
    if (input.datum != nullptr) {
      views.push_back(ViewOf(*input.datum));
      continue;
    }
    const Result<TensorLayout> layout = DenseLayout(input.type, input.dims, RowMajor(input.dims.size()));
    views.push_back({input.data, layout.ok() ? *layout : TensorLayout()});  // checked with the caller's tensors
  }
  return views;
}

// Outputs that lie in no buffer of the caller leave with the report.
std::vector<Datum> RunState::KeepOutputs(std::span<const LentTensor> inputs) {
  std::vector<Datum> kept;
  if (!plan_.dynamic_boundary) return kept;
  const std::span<const ValueId> values = plan_.graph->outputs();
  kept.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = plan_.graph->value(values[i]);
    if (value.type.is_static() && !IsHeldAsDatum(value.type)) continue;
    const OutputSource& source = plan_.places.outputs[i];
    const auto bytes = [](const void* data, uint64_t count) {
      return std::span(static_cast<const std::byte*>(data), static_cast<size_t>(count));
    };
    Result<Tensor> tensor = Tensor();
    if (source.from == OutputSource::From::kPool && IsDatum(slots_[source.index])) {
      kept[i] = WithOwnMemory(DatumIn(slots_[source.index]));
      continue;
    }
    if (source.from == OutputSource::From::kConstant) {
      kept[i] = Datum(*value.constant);
      continue;
    }
    if (source.from == OutputSource::From::kInput && inputs[source.index].datum != nullptr) {
      kept[i] = *inputs[source.index].datum;
      continue;
    }
    if (source.from == OutputSource::From::kOutput) {
      kept[i] = kept[source.index];
      continue;
    }
    if (source.from == OutputSource::From::kPool) {
      const TensorView& slot = slots_[source.index];
      run_time_tensors_->Keep(InstanceId(source.index));
      tensor = Tensor::FromShared(slot.layout.type, slot.layout.dims, pool_.Detach(slot.data),
                                  bytes(slot.data, BytesOf(slot.layout).value()));
    } else {
      const LentTensor& input = inputs[source.index];
      tensor =
          Tensor::FromBytes(input.type, input.dims, std::string(static_cast<const char*>(input.data), input.bytes));
    }
    kept[i] = Datum(std::move(tensor).value());
  }
  return kept;
}

}  // namespace pt
