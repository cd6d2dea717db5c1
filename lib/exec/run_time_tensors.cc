#include "lib/exec/run_time_tensors.h"

#include <algorithm>

namespace pt {
namespace {

std::string TypeText(DataType type, std::span<const int64_t> dims) {
  return ToString(StaticType(type, std::vector<int64_t>(dims.begin(), dims.end())));
}

// What the graph says of a value holds, as far as it says anything.
bool Agrees(const ValueType& known, DataType type, std::span<const int64_t> dims) {
  if (IsHeldAsDatum(known)) return false;
  if (known.type != DataType::kUndefined && known.type != type) return false;
  if (!known.ranked) return true;
  return std::equal(known.dims.begin(), known.dims.end(), dims.begin(), dims.end(),
                    [](const Dim& dim, int64_t now) { return !dim.known() || dim.value == now; });
}

}  // namespace

RunTimeTensors::RunTimeTensors(const CompiledPlan& plan, std::span<TensorView> slots) : plan_(plan), slots_(slots) {
  const size_t count = plan.places.instances.size();
  readers_.assign(count, 0);
  taken_.assign(count, false);
  sized_.assign(count, false);
  has_layout_.assign(count, false);
  data_.resize(count);
  readers_left_ = std::make_unique<Atomic<uint32_t>[]>(count);
  for (const CompiledStep& step : plan.steps) {
    for (InstanceId in : step.in) ++readers_[in.index()];
    for (InstanceId out : step.out) {
      if (Contains(out)) made_.push_back(out);
    }
  }
  for (const OutputSource& source : plan.places.outputs) {
    if (source.from == OutputSource::From::kPool) ++readers_[source.index];
  }
}

bool RunTimeTensors::Contains(InstanceId instance) const { return plan_.places.instances[instance.index()].dynamic; }

Status RunTimeTensors::Begin(std::span<const TensorView> inputs, RunMemory& memory) {
  memory_ = &memory;
  for (InstanceId id : made_) {
    readers_left_[id.index()].store(readers_[id.index()], std::memory_order_relaxed);
    taken_[id.index()] = sized_[id.index()] = false;
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    const TensorPlace& place = plan_.places.instances[i];
    if (!place.dynamic || place.where != TensorPlace::Where::kInput) continue;
    const TensorView& given = inputs[place.index];
    const Value& value = plan_.graph->value(plan_.plan.instances[i].value);
    if (IsDatum(given) ? !Agrees(value.type, DatumIn(given))
                       : !Agrees(value.type, given.layout.type, given.layout.dims)) {
      return MakeError(
          ErrorCode::kInvalidInput, "run.tensor",
          "input '" + value.name + "' is " + ToString(value.type) + ", not " +
              (IsDatum(given) ? ToString(DatumIn(given)) : TypeText(given.layout.type, given.layout.dims)));
    }
    slots_[i] = given;
  }
  return {};
}

Result<TensorView> RunTimeTensors::Allocate(StepId step, uint32_t output, DataType type,
                                            std::span<const int64_t> dims) {
  const std::vector<InstanceId>& made = plan_.steps[step.index()].out;
  if (output >= made.size() || !Contains(made[output]) || sized_[made[output].index()]) {
    return MakeError(ErrorCode::kInternal, "run.output",
                     "storage was asked for output " + std::to_string(output) + ", which is static or has some");
  }
  const size_t instance = made[output].index();
  const Value& value = plan_.graph->value(plan_.plan.instances[instance].value);
  const bool is_datum = BitsOf(type) == 0;  // which FinishStep looks at, once it is there
  if (!is_datum && !Agrees(value.type, type, dims)) {
    return MakeError(
        ErrorCode::kInvalidInput, "run.output",
        "'" + value.name + "' is " + ToString(value.type) + " by the model, and came out as " + TypeText(type, dims));
  }
  TensorView& slot = slots_[instance];
  if (!has_layout_[instance] || slot.layout.type != type || !std::ranges::equal(slot.layout.dims, dims)) {
    PT_ASSIGN(slot.layout, DenseLayout(type, std::vector<int64_t>(dims.begin(), dims.end()), RowMajor(dims.size())));
    has_layout_[instance] = true;
  }
  PT_ASSIGN(const uint64_t bytes, BytesOf(slot.layout));
  if (is_datum) {
    slot.data = &data_[instance];
  } else {
    PT_ASSIGN(slot.data, memory_->Take(bytes));
  }
  taken_[instance] = sized_[instance] = true;
  return slot;
}

Status RunTimeTensors::FinishStep(StepId id) {
  const CompiledStep& step = plan_.steps[id.index()];
  for (InstanceId out : step.out) {
    if (!Contains(out)) continue;
    if (!sized_[out.index()]) {
      return MakeError(ErrorCode::kInternal, "run.output", "a kernel asked for no storage of its output");
    }
    const TensorView& slot = slots_[out.index()];
    const Value& value = plan_.graph->value(plan_.plan.instances[out.index()].value);
    if (!IsDatum(slot) || Agrees(value.type, DatumIn(slot))) continue;
    return MakeError(ErrorCode::kInvalidInput, "run.output",
                     "'" + value.name + "' is " + ToString(value.type) + " by the model, and came out as " +
                         ToString(DatumIn(slot)));
  }
  for (InstanceId in : step.in) {
    if (!Contains(in) || plan_.places.instances[in.index()].where != TensorPlace::Where::kPool) continue;
    // The last of the readers has seen the others' end: none of them looks at the bytes any more.
    if (readers_left_[in.index()].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    Release(in);
  }
  return {};
}

void RunTimeTensors::Release(InstanceId instance) {
  const TensorView& slot = slots_[instance.index()];
  if (IsDatum(slot)) {
    data_[instance.index()] = Datum();
  } else {
    memory_->GiveBack(slot.data);
  }
  taken_[instance.index()] = false;
}

void RunTimeTensors::End() {
  for (InstanceId id : made_) {
    if (taken_[id.index()]) Release(id);
    slots_[id.index()].data = nullptr;
  }
}

}  // namespace pt
