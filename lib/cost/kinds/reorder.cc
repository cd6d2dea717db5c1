#include "lib/cost/kinds/reorder.h"

#include <algorithm>
#include <set>

#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

// The forms in which a value may exist in a plan: as its producers make it, as its readers take it, row-major at the
// graph's ends. All together: a plan may also pass through another form on the way (row-major for a copy).
std::vector<std::set<Form>> FormsOfValues(const CostScope& scope) {
  const Graph& graph = scope.graph;
  std::vector<std::set<Form>> forms(graph.values().size());
  for (const Candidate& candidate : scope.candidates) {
    const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
    for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
      forms[inputs[i].index()].insert(candidate.in[i]);
    }
    const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
    for (size_t i = 0; i < outputs.size() && i < candidate.out.size(); ++i) {
      forms[outputs[i].index()].insert(candidate.out[i]);
    }
  }
  for (const std::span<const ValueId> ends : {graph.inputs(), graph.outputs()}) {
    for (const ValueId id : ends) forms[id.index()].insert(RowMajorForm(graph.value(id).type));
  }
  return forms;
}

// A simulated device's file says nothing of reorders, and copy engines make none.
bool IsMeasured(const Platform& platform, UnitClassId unit_class) {
  if (IsSimulatedClass(platform, unit_class)) return false;
  const std::vector<UnitId> units = UnitsOf(platform, unit_class);
  return std::ranges::any_of(units, [&](UnitId unit) { return !platform.unit(unit).link.has_value(); });
}

// Read and written.
double ReorderBytes(std::span<const int64_t> dims, const Form& from, const Form& to) {
  return static_cast<double>(FormBytes(dims, from)) + static_cast<double>(FormBytes(dims, to));
}

// "onednn 3.7.2, reference 1".
std::string Versions(const CostScope& scope) {
  std::string text;
  for (const auto& [name, version] : scope.library_versions) {
    if (!text.empty()) text += ", ";
    text += name + " " + version;
  }
  return text;
}

void ListValue(const CostScope& scope, const std::vector<int64_t>& dims, const std::set<Form>& forms,
               const std::string& versions, KeyList& keys) {
  for (const Form& from : forms) {
    for (const Form& to : forms) {
      if (from == to) continue;
      for (size_t k = 0; k < scope.platform.unit_classes.size(); ++k) {
        const UnitClassId unit_class(k);
        if (!IsMeasured(scope.platform, unit_class)) continue;
        MeasurementKey key =
            AfterReuse(ReorderKey(scope.platform, unit_class, dims, from, to, versions), scope.reuse_distance);
        keys.Add(
            {std::move(key), &kReorderKind, ReorderWork{dims, from, to, unit_class}, 0, ReorderBytes(dims, from, to)});
      }
    }
  }
}

void List(const CostScope& scope, KeyList& keys) {
  const std::vector<std::set<Form>> forms = FormsOfValues(scope);
  const std::string versions = Versions(scope);
  for (size_t v = 0; v < forms.size(); ++v) {
    const Value& value = scope.graph.values()[v];
    const std::optional<std::vector<int64_t>> dims = value.type.static_dims();
    if (value.is_constant() || !dims || value.type.dims.empty() || forms[v].size() < 2) continue;
    ListValue(scope, *dims, forms[v], versions, keys);
  }
}

std::string Label(const CostScope&, const NeededKey& needed) {
  const ReorderWork& work = needed.reorder();
  return "reorder " + ToString(work.from.layout) + " to " + ToString(work.to.layout) + " of " +
         std::to_string(static_cast<int64_t>(needed.expected_bytes / 2)) + " bytes";
}

}  // namespace

const CostKind kReorderKind = {"reorder", CostKind::Turn::kByWeight, true, List, Label, nullptr};

uint64_t FormBytes(std::span<const int64_t> dims, const Form& form) {
  const Result<TensorLayout> tensor =
      DenseLayout(form.storage, std::vector<int64_t>(dims.begin(), dims.end()), form.layout);
  const Result<uint64_t> bytes = tensor.ok() ? BytesOf(*tensor) : Result<uint64_t>(uint64_t{0});
  return bytes.ok() ? *bytes : 0;
}

ReorderTimes::ReorderTimes(const CostReading& reading) : reading_(reading), versions_(Versions(reading.scope())) {}

std::optional<Estimate> ReorderTimes::TimeOf(std::span<const int64_t> dims, const Form& from, const Form& to,
                                             UnitClassId id) const {
  const Platform& platform = reading_.platform();
  if (!IsMeasured(platform, id)) return std::nullopt;
  const MeasurementKey key =
      AfterReuse(ReorderKey(platform, id, dims, from, to, versions_), reading_.scope().reuse_distance);
  return reading_.TimeOrPrediction(key, [&]() -> WorkToPredict {
    const UnitClass& unit_class = platform.unit_class(id);
    return {"reorder", platform.device(unit_class.device).fingerprint,       unit_class.name, "",
            "",        FeaturesOf(key.text, 0, ReorderBytes(dims, from, to))};
  });
}

}  // namespace pt
