#include "lib/exec/nested_graph.h"

#include <algorithm>
#include <optional>

#include "lib/exec/compiled_plan.h"
#include "lib/exec/nested_plan.h"
#include "lib/exec/run_time_tensors.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/plan/plan_precision.h"

namespace pt {
namespace {

using Where = TensorPlace::Where;
using From = OutputSource::From;

class BoundNested : public BoundSubgraph {
 public:
  explicit BoundNested(std::shared_ptr<const CompiledPlan> plan) : plan_(std::move(plan)) {}

  Status Allocate() {
    DeviceDriver& driver = plan_->machine.driver(DeviceId(0U));
    if (const auto arena = plan_->plan.memory.find(DeviceId(0U)); arena != plan_->plan.memory.end()) {
      PT_ASSIGN(arena_, driver.Allocate(arena->second.bytes));
    }
    for (const TensorPlace& place : plan_->places.instances) {
      slots_.push_back({nullptr, place.layout});
      if (place.dynamic) continue;
      if (place.where == Where::kArena && arena_ != nullptr && place.bytes > 0) {
        slots_.back().data = static_cast<std::byte*>(arena_->data()) + place.offset;
      }
    }
    tensors_.emplace(*plan_, slots_);
    kernels_.resize(plan_->steps.size());
    scratch_.resize(plan_->steps.size());
    outputs_.resize(plan_->places.outputs.size());
    own_.resize(outputs_.size());
    constants_.resize(outputs_.size());
    return {};
  }

  Status Run(const RunContext& run, std::span<const TensorView> inputs) noexcept override try {
    PT_CHECK_OK(TakeInputs(inputs));
    PT_CHECK_OK(TakePlaces(run.outputs));
    PT_CHECK_OK(tensors_->Begin(inputs, run.memory));
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      if (plan_->steps[i].kernel == nullptr) continue;
      if (run.stop.ShouldStop()) return MakeError(ErrorCode::kRunFailed, "run.stopped", "the run was stopped");
      if (kernels_[i] == nullptr) PT_CHECK_OK(Bind(StepId(i)));
      StepOutputs outputs(*tensors_, StepId(i));
      Status status = kernels_[i]->Enqueue({run.stream, outputs, run.memory, run.stop});
      if (status.ok()) status = tensors_->FinishStep(StepId(i));
      if (!status.ok()) return Labelled(std::move(status).error(), StepId(i));
    }
    SetOutputs(inputs);
    return {};
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "run.memory", "no memory to run a nested graph");
  }

  std::span<const TensorView> outputs() const override { return outputs_; }
  void Release(const RunContext&) noexcept override { tensors_->End(); }

 private:
  Error Labelled(Error error, StepId step) const {
    error.message = StepLabel(*plan_, step) + ": " + error.message;
    return error;
  }

  // What reads an input that lies elsewhere than last time is bound again before it runs.
  Status TakeInputs(std::span<const TensorView> inputs) {
    if (inputs.size() != plan_->graph->inputs().size()) {
      return MakeError(ErrorCode::kInternal, "run.nested", "a nested graph is run with the wrong number of inputs");
    }
    for (size_t i = 0; i < slots_.size(); ++i) {
      const TensorPlace& place = plan_->places.instances[i];
      if (place.where != Where::kInput || place.dynamic) continue;
      const TensorView& given = inputs[place.index];
      if (given.layout != place.layout) {
        const Value& value = plan_->graph->value(plan_->plan.instances[i].value);
        return MakeError(ErrorCode::kInvalidInput, "run.nested",
                         "'" + value.name + "' of a nested graph is " + ToString(value.type) + ", not " +
                             ToString(StaticType(given.layout.type, given.layout.dims)));
      }
      if (slots_[i].data == given.data) continue;
      slots_[i].data = given.data;
      for (StepId step : plan_->input_steps[place.index]) kernels_[step.index()].reset();
    }
    return {};
  }

  // Where outputs go that steps make in a size known before: where the caller wants them, else to memory of their own.
  Status TakePlaces(OutputAllocator& outputs) {
    for (uint32_t i = 0; i < outputs_.size(); ++i) {
      const OutputSource& source = plan_->places.outputs[i];
      if (source.from != From::kDirect) continue;
      TensorView& slot = slots_[source.index];
      PT_ASSIGN(const TensorView wanted, outputs.Allocate(i, slot.layout.type, slot.layout.dims));
      void* place = wanted.data;
      if (place == nullptr) {
        if (own_[i] == nullptr) {
          PT_ASSIGN(own_[i], plan_->machine.driver(DeviceId(0U)).Allocate(plan_->places.instances[source.index].bytes));
        }
        place = own_[i]->data();
      }
      if (slot.data == place) continue;
      slot.data = place;
      for (StepId step : plan_->output_steps[i]) kernels_[step.index()].reset();
    }
    return {};
  }

  Status Bind(StepId id) {
    const CompiledStep& step = plan_->steps[id.index()];
    const auto slots_of = [&](const std::vector<InstanceId>& instances) {
      std::vector<const TensorView*> slots;
      for (InstanceId instance : instances) slots.push_back(&slots_[instance.index()]);
      return slots;
    };
    const uint64_t wanted = step.kernel->scratch_bytes();
    std::span<std::byte> scratch;
    if (wanted > step.scratch_bytes) {
      if (!scratch_[id.index()]) {
        PT_ASSIGN(scratch_[id.index()], plan_->machine.driver(DeviceId(0U)).Allocate(wanted));
      }
      scratch = {static_cast<std::byte*>(scratch_[id.index()]->data()), static_cast<size_t>(wanted)};
    } else if (step.scratch_bytes > 0) {
      scratch = {static_cast<std::byte*>(arena_->data()) + step.scratch_offset, step.scratch_bytes};
    }
    PT_ASSIGN(kernels_[id.index()], step.kernel->Bind(slots_of(step.in), slots_of(step.out), scratch));
    return {};
  }

  void SetOutputs(std::span<const TensorView> inputs) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const OutputSource& source = plan_->places.outputs[i];
      const Value& value = plan_->graph->value(plan_->graph->outputs()[i]);
      if (source.from == From::kInput) {
        outputs_[i] = inputs[source.index];
      } else if (source.from == From::kOutput) {
        outputs_[i] = outputs_[source.index];
      } else if (source.from == From::kConstant) {
        const Tensor& tensor = *value.constant;
        if (IsHeldAsDatum(value.type)) {
          constants_[i] = Datum(tensor);
          outputs_[i] = ViewOf(constants_[i]);
          continue;
        }
        // Views are of memory that something writes; nothing writes an output of a nested graph.
        outputs_[i].data = const_cast<std::byte*>(tensor.bytes().data());  // NOLINT
        outputs_[i].layout = DenseLayout(tensor.type(), tensor.dims(), RowMajor(tensor.dims().size())).value();
      } else {
        outputs_[i] = slots_[source.index];
      }
    }
  }

  std::shared_ptr<const CompiledPlan> plan_;
  std::unique_ptr<DeviceBuffer> arena_;
  std::vector<std::unique_ptr<DeviceBuffer>> own_;      // by output: where it lies unless the caller wants it elsewhere
  std::vector<std::unique_ptr<DeviceBuffer>> scratch_;  // by step: what a kernel wants beyond the plan
  std::vector<TensorView> slots_;                       // by instance
  std::optional<RunTimeTensors> tensors_;
  std::vector<std::unique_ptr<BoundKernel>> kernels_;  // by step
  std::vector<TensorView> outputs_;
  std::vector<Datum> constants_;  // by output: those that are constant and held as a Datum
};

uint64_t BytesOf(const CompiledPlan& plan) {
  uint64_t bytes = plan.nested_bytes;
  for (const auto& [device, arena] : plan.plan.memory) bytes = SaturatedSum(bytes, arena.bytes);
  for (const TensorPlace& place : plan.places.instances) {
    if (place.where == Where::kOutput) bytes = SaturatedSum(bytes, place.bytes);
  }
  return bytes;
}

class CompiledNested : public CompiledSubgraph {
 public:
  explicit CompiledNested(std::unique_ptr<const CompiledPlan> plan) : plan_(std::move(plan)) {}
  Result<std::unique_ptr<BoundSubgraph>> Bind() const override {
    auto bound = std::make_unique<BoundNested>(plan_);
    PT_CHECK_OK(bound->Allocate());
    return std::unique_ptr<BoundSubgraph>(std::move(bound));
  }

 private:
  std::shared_ptr<const CompiledPlan> plan_;
};

}  // namespace

Result<Plan> NestedCompiler::PlanOf(const Graph& graph) const {
  if (options_.nested_planner) {
    Result<Plan> plan = options_.nested_planner(graph, unit_, keep_nan_);
    if (plan.ok()) {
      if (keep_nan_) plan->made_for.settings[std::string(kNanSetting)] = kKeepNan;  // which it is held to
      PT_CHECK_OK(StatusOf(JudgePlan(graph, machine_.platform(), machine_.libraries(), *plan)));
      return plan;
    }
    const ErrorCode code = plan.error().code;
    if (code != ErrorCode::kUnsupported && code != ErrorCode::kInfeasible) return plan;
  }
  return PlanNestedGraph(graph, machine_, unit_, keep_nan_);
}

Result<std::shared_ptr<const CompiledSubgraph>> NestedCompiler::Compile(std::shared_ptr<const Graph> graph) {
  GraphBuilder builder(*graph);
  builder.TakeCapturedAsInputs();
  PT_ASSIGN(Graph alone, builder.Build());
  PT_ASSIGN(const Plan plan, PlanOf(alone));
  PT_ASSIGN(std::unique_ptr<CompiledPlan> compiled,
            CompileSteps(std::make_shared<const Graph>(std::move(alone)), plan, machine_, options_));
  bytes_ = SaturatedSum(bytes_, BytesOf(*compiled));
  return std::shared_ptr<const CompiledSubgraph>(std::make_shared<CompiledNested>(std::move(compiled)));
}

}  // namespace pt
