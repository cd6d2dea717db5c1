#include "lib/exec/tensor_places.h"

#include <map>

#include "partitiontuner/graph/datum.h"
#include "partitiontuner/plan/memory_plan.h"

namespace pt {
namespace {

using Where = TensorPlace::Where;
using From = OutputSource::From;

std::string LabelOf(const Graph& graph, ValueId value) {
  const std::string& name = graph.value(value).name;
  return name.empty() ? "value " + std::to_string(value.value) : "'" + name + "'";
}

Error Unsupported(const Graph& graph, ValueId value, std::string why) {
  return MakeError(ErrorCode::kUnsupported, "session.tensor", LabelOf(graph, value) + " " + std::move(why));
}

class Placer {
 public:
  Placer(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  Result<TensorPlaces> Place() {
    places_.instances.resize(plan_.instances.size());
    for (size_t i = 0; i < plan_.instances.size(); ++i) PT_CHECK_OK(SetLayout(InstanceId(i)));
    PT_CHECK_OK(PlaceInArenas());
    PT_CHECK_OK(PlaceExternal());
    PT_CHECK_OK(FindOutputSources());
    for (const bool elided : ElidedSteps(graph_, plan_)) {
      places_.actions.push_back(elided ? StepAction::kNothing : StepAction::kRun);
    }
    return std::move(places_);
  }

 private:
  TensorPlace& place(InstanceId id) { return places_.instances[id.index()]; }
  const TensorPlace& place(InstanceId id) const { return places_.instances[id.index()]; }

  Status SetLayout(InstanceId id) {
    const Instance& instance = plan_.instances[id.index()];
    if (IsDynamic(graph_, instance)) return SetDynamic(id);
    const std::optional<std::vector<int64_t>> dims = graph_.value(instance.value).type.static_dims();
    if (!dims || BitsOf(instance.form.storage) == 0) {
      return Unsupported(
          graph_, instance.value,
          "is of type " + std::string(DataTypeName(instance.form.storage)) + ", which a run cannot hold");
    }
    TensorPlace& place = this->place(id);
    place.device = instance.device;
    PT_ASSIGN(place.layout, DenseLayout(instance.form.storage, *dims, instance.form.layout));
    PT_ASSIGN(place.bytes, BytesOf(place.layout));
    return {};
  }

  Status SetDynamic(InstanceId id) {
    const Instance& instance = plan_.instances[id.index()];
    const ValueType& type = graph_.value(instance.value).type;
    if (BitsOf(type.type) == 0 && type.is_static() && !IsHeldAsDatum(type)) {
      return Unsupported(graph_, instance.value, "is of no known type");
    }
    if (instance.device.index() != 0 || !instance.form.layout.is_row_major() || instance.form.storage != type.type) {
      return Unsupported(graph_, instance.value,
                         "has a size that is known only at run time: it can only lie on the host, row-major, in its "
                         "own type");
    }
    TensorPlace& place = this->place(id);
    place.device = instance.device;
    place.dynamic = true;
    place.where = TensorPlace::Where::kPool;
    place.layout.type = type.other.empty() ? instance.form.storage : DataType::kUndefined;
    place.layout.layout = instance.form.layout;
    return {};
  }

  Status PlaceInArenas() {
    placed_.resize(plan_.instances.size());
    for (const auto& [device, arena] : plan_.memory) {
      for (const Placement& placement : arena.placements) {
        TensorPlace& place = this->place(placement.instance);
        placed_[placement.instance.index()] = true;
        place.offset = placement.offset;
        if (!placement.strides.empty()) place.layout.strides = placement.strides;
        PT_ASSIGN(place.bytes, BytesOf(place.layout));
        if (place.bytes > arena.bytes || place.offset > arena.bytes - place.bytes) {
          return MakeError(ErrorCode::kInvalidInput, "session.memory",
                           LabelOf(graph_, plan_.instances[placement.instance.index()].value) +
                               " lies outside its arena of " + std::to_string(arena.bytes) + " bytes");
        }
      }
    }
    return {};
  }

  Status PlaceExternal() {
    std::map<ValueId, uint32_t> inputs, outputs;
    for (ValueId input : graph_.inputs()) inputs.emplace(input, inputs.size());
    for (uint32_t i = 0; i < graph_.outputs().size(); ++i) outputs.emplace(graph_.outputs()[i], i);
    for (size_t i = 0; i < plan_.instances.size(); ++i) {
      const Instance& instance = plan_.instances[i];
      if (placed_[i]) continue;
      TensorPlace& place = places_.instances[i];
      const bool lent = IsExternal(graph_, plan_.lent_on, instance);
      if (const auto input = inputs.find(instance.value); lent && input != inputs.end()) {
        place.where = Where::kInput;
        place.index = input->second;
      } else if (const auto output = outputs.find(instance.value); lent && output != outputs.end()) {
        place.where = place.dynamic ? Where::kPool : Where::kOutput;
        place.index = output->second;
        lent_.emplace(instance.value, i);
      } else if (place.bytes > 0) {
        return MakeError(ErrorCode::kInvalidInput, "session.memory",
                         LabelOf(graph_, instance.value) + " has no place in the plan's memory");
      }
    }
    return {};
  }

  Status FindOutputSources() {
    std::map<ValueId, uint32_t> inputs, seen;
    for (ValueId input : graph_.inputs()) inputs.emplace(input, inputs.size());
    for (uint32_t i = 0; i < graph_.outputs().size(); ++i) {
      const ValueId value = graph_.outputs()[i];
      const auto [first, is_new] = seen.emplace(value, i);
      OutputSource source;
      if (!is_new) {
        source = {From::kOutput, first->second};
      } else if (graph_.value(value).is_constant()) {
        const Value& constant = graph_.value(value);
        if (BitsOf(constant.constant->type()) == 0 && !IsHeldAsDatum(constant.type)) {
          return Unsupported(graph_, value, "is a constant output of a type that a run cannot hold");
        }
        source = {From::kConstant, 0};
      } else if (const auto input = inputs.find(value); input != inputs.end()) {
        source = {From::kInput, input->second};
      } else if (const auto instance = lent_.find(value); instance != lent_.end()) {
        const bool dynamic = places_.instances[instance->second].dynamic;
        source = {dynamic ? From::kPool : From::kDirect, instance->second};
      } else {
        return MakeError(ErrorCode::kInvalidInput, "session.output",
                         "the plan leaves output " + LabelOf(graph_, value) + " where the caller does not lend it");
      }
      places_.outputs.push_back(source);
    }
    return {};
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<bool> placed_;
  std::map<ValueId, uint32_t> lent_;  // graph outputs that steps make: their instances
  TensorPlaces places_;
};

}  // namespace

bool IsContiguous(const TensorLayout& layout) {
  Result<TensorLayout> dense = DenseLayout(layout.type, layout.dims, layout.layout);
  if (!dense.ok()) return false;
  const Result<uint64_t> bytes = BytesOf(layout);
  const Result<uint64_t> dense_bytes = BytesOf(*dense);
  return bytes.ok() && dense_bytes.ok() && *bytes == *dense_bytes;
}

Result<TensorPlaces> PlaceTensors(const Graph& graph, const Plan& plan) { return Placer(graph, plan).Place(); }

}  // namespace pt
