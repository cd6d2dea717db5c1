// Writing plans as JSON.
#include "lib/plan/plan_json_words.h"
#include "partitiontuner/plan/plan_json.h"

namespace pt {
namespace {

template <typename Id>
Json IdsToJson(const std::vector<Id>& ids) {
  Json::Array array;
  array.reserve(ids.size());
  for (Id id : ids) array.emplace_back(id.value);
  return array;
}

Json FormToJson(const Form& form) {
  Json json = Json::MakeObject();
  json.Set("layout", ToString(form.layout));
  json.Set("storage", DataTypeName(form.storage));
  if (form.quantisation.valid()) json.Set("quantisation", ToString(form.quantisation));
  return json;
}

Json FormsToJson(const std::vector<Form>& forms) {
  Json::Array array;
  for (const Form& form : forms) array.push_back(FormToJson(form));
  return array;
}

template <typename Items, typename Id>
void SetName(Json& json, const char* key, const Items& items, Id id) {
  if (id.index() < items.size()) json.Set(key, items[id.index()].name);
}

Json CandidateToJson(const Candidate& candidate, const Platform& platform) {
  Json json = Json::MakeObject();
  json.Set("nodes", IdsToJson(candidate.nodes));
  json.Set("unit_class", candidate.unit_class.value);
  SetName(json, "unit_class_name", platform.unit_classes, candidate.unit_class);
  json.Set("library", candidate.library);
  json.Set("variant", candidate.variant);
  json.Set("math", MathModeName(candidate.math));
  json.Set("in", FormsToJson(candidate.in));
  json.Set("out", FormsToJson(candidate.out));
  Json::Array aliases;
  for (const Alias& alias : candidate.aliases) {
    Json one = Json::MakeObject();
    one.Set("out", alias.out);
    one.Set("in", alias.in);
    one.Set("kind", alias.kind == Alias::Kind::kRequired ? "required" : "allowed");
    aliases.push_back(std::move(one));
  }
  json.Set("aliases", std::move(aliases));
  json.Set("elision", ElisionName(candidate.elision));
  json.Set("scratch_bytes", candidate.scratch_bytes);
  json.Set("constant_bytes", candidate.constant_bytes);
  return json;
}

Json QuantisationToJson(QuantisationId id, const Quantisation& quantisation) {
  Json json = Json::MakeObject();
  json.Set("id", ToString(id));
  json.Set("axis", quantisation.axis);
  Json::Array scales, zero_points;
  for (float scale : quantisation.scales) scales.emplace_back(static_cast<double>(scale));
  for (int64_t zero : quantisation.zero_points) zero_points.emplace_back(zero);
  json.Set("scales", std::move(scales));
  json.Set("zero_points", std::move(zero_points));
  return json;
}

Json NodeToJson(const Graph& graph, NodeId id) {
  Json json = Json::MakeObject();
  json.Set("index", id.value);
  if (id.index() >= graph.nodes().size()) return json;
  const Node& node = graph.node(id);
  json.Set("operator", node.domain.empty() ? node.op : node.domain + "." + node.op);
  Json::Array sources;
  for (const Source& source : node.source) {
    Json one = Json::MakeObject();
    if (!source.subgraph.empty()) one.Set("subgraph", source.subgraph);
    one.Set("index", source.index);
    one.Set("output", source.first_output);
    sources.push_back(std::move(one));
  }
  json.Set("source", std::move(sources));
  return json;
}

Json StepToJson(const Plan& plan, const Graph& graph, size_t index) {
  const Step& step = plan.steps[index];
  Json json = Json::MakeObject();
  json.Set("id", static_cast<uint64_t>(index));
  json.Set("unit", step.unit.value);
  SetName(json, "unit_name", plan.made_for.platform.units, step.unit);
  if (const auto* group = std::get_if<RunGroup>(&step.work)) {
    json.Set("work", "run");
    json.Set("candidate", group->candidate.value);
    Json::Array nodes;
    if (group->candidate.index() < plan.candidates.size()) {
      for (NodeId node : plan.candidates[group->candidate.index()].nodes) nodes.push_back(NodeToJson(graph, node));
    }
    json.Set("nodes", std::move(nodes));
    json.Set("in", IdsToJson(group->in));
    json.Set("out", IdsToJson(group->out));
  } else if (const auto* copy = std::get_if<Copy>(&step.work)) {
    json.Set("work", "copy");
    json.Set("from", copy->from.value);
    json.Set("to", copy->to.value);
    json.Set("link", copy->link.value);
  } else {
    const auto& reorder = std::get<Reorder>(step.work);
    json.Set("work", "reorder");
    json.Set("from", reorder.from.value);
    json.Set("to", reorder.to.value);
    json.Set("library", reorder.library);
  }
  json.Set("after", IdsToJson(step.after));
  json.Set("expected_start_ns", step.expected_start_ns);
  json.Set("expected_ns", step.expected_ns);
  return json;
}

Json InstanceToJson(const Plan& plan, const Graph& graph, const Instance& instance) {
  Json json = Json::MakeObject();
  json.Set("value", instance.value.value);
  SetName(json, "value_name", graph.values(), instance.value);
  json.Set("device", instance.device.value);
  SetName(json, "device_name", plan.made_for.platform.devices, instance.device);
  json.Set("form", FormToJson(instance.form));
  return json;
}

Json LendingToJson(const Plan& plan, const Graph& graph, ValueId value, DeviceId device) {
  Json json = Json::MakeObject();
  json.Set("value", value.value);
  SetName(json, "value_name", graph.values(), value);
  json.Set("device", device.value);
  SetName(json, "device_name", plan.made_for.platform.devices, device);
  return json;
}

Json ArenaToJson(DeviceId device, const Arena& arena) {
  Json json = Json::MakeObject();
  json.Set("device", device.value);
  json.Set("bytes", arena.bytes);
  Json::Array placements;
  for (const Placement& placement : arena.placements) {
    Json one = Json::MakeObject();
    one.Set("instance", placement.instance.value);
    one.Set("offset", placement.offset);
    one.Set("bytes", placement.bytes);
    if (!placement.strides.empty()) {
      Json::Array strides;
      for (int64_t stride : placement.strides) strides.emplace_back(stride);
      one.Set("strides", std::move(strides));
    }
    placements.push_back(std::move(one));
  }
  json.Set("placements", std::move(placements));
  Json::Array scratch;
  for (const ScratchPlacement& placement : arena.scratch) {
    Json one = Json::MakeObject();
    one.Set("step", placement.step.value);
    one.Set("offset", placement.offset);
    one.Set("bytes", placement.bytes);
    scratch.push_back(std::move(one));
  }
  json.Set("scratch", std::move(scratch));
  return json;
}

template <typename Map>
Json MapToJson(const Map& map) {
  Json json = Json::MakeObject();
  for (const auto& [key, value] : map) json.Set(key, value);
  return json;
}

Json MadeForToJson(const MadeFor& made_for) {
  Json json = Json::MakeObject();
  Json tool = Json::MakeObject();
  tool.Set("name", "partitiontuner");
  tool.Set("version", made_for.tool_version);
  tool.Set("libraries", MapToJson(made_for.libraries));
  json.Set("tool", std::move(tool));
  Json model = Json::MakeObject();
  model.Set("hash", made_for.model_hash);
  model.Set("graph_hash", made_for.graph_hash);
  model.Set("opset", made_for.opset);
  Json input_dims = Json::MakeObject();
  for (const auto& [name, dims] : made_for.input_dims) {
    Json::Array array;
    for (int64_t dim : dims) array.emplace_back(dim);
    input_dims.Set(name, std::move(array));
  }
  model.Set("input_dims", std::move(input_dims));
  json.Set("model", std::move(model));
  if (!made_for.platform.devices.empty()) json.Set("platform", ToJson(made_for.platform));
  Json profile = Json::MakeObject();
  profile.Set("hash", made_for.profile_hash);
  profile.Set("samples", made_for.profile_samples);
  json.Set("profile", std::move(profile));
  json.Set("settings", MapToJson(made_for.settings));
  return json;
}

Json EstimateToJson(const Estimate& estimate) {
  Json json = Json::MakeObject();
  json.Set("ns", estimate.ns);
  json.Set("spread_ns", estimate.spread_ns);
  json.Set("provenance", ProvenanceName(estimate.provenance));
  json.Set("relative_error", estimate.relative_error);
  return json;
}

Json ReportToJson(const PlanReport& report) {
  Json json = Json::MakeObject();
  json.Set("critical_path", IdsToJson(report.critical_path));
  json.Set("busy", MapToJson(report.busy));
  json.Set("baselines_ns", MapToJson(report.baselines_ns));
  json.Set("gap", report.gap);
  json.Set("stopped_by", report.stopped_by);
  if (!report.tight_bound.empty()) json.Set("tight_bound", report.tight_bound);
  if (report.reference_ns > 0) json.Set("reference_ns", report.reference_ns);
  if (report.hand_over_ns > 0) json.Set("hand_over_ns", report.hand_over_ns);
  if (report.segments != SegmentReport()) json.Set("segments", ToJson(report.segments));
  if (report.budget) json.Set("error_budget", ToJson(*report.budget));
  return json;
}

}  // namespace

Json ToJson(const SegmentReport& segments) {
  Json json = Json::MakeObject();
  json.Set("count", segments.segments).Set("steps", segments.steps).Set("launch_ns", segments.launch_ns);
  Json unknown = Json::MakeArray();
  for (const std::string& device : segments.unknown) unknown.Push(device);
  json.Set("unknown", std::move(unknown));
  return json;
}

Json ToJson(const BudgetReport& budget) {
  Json json = Json::MakeObject();
  json.Set("max_error", budget.max_error);
  json.Set("calibration_error", budget.calibration_error);
  json.Set("confirmation_error", budget.confirmation_error);
  json.Set("calibration_sets", budget.calibration_sets);
  json.Set("confirmation_sets", budget.confirmation_sets);
  json.Set("groups", budget.groups);
  json.Set("lowered_groups", budget.lowered_groups);
  json.Set("fp32_ns", budget.fp32_ns);
  json.Set("plans", budget.plans);
  return json;
}

Json ToJson(const Plan& plan, const Graph& graph) {
  Json json = Json::MakeObject();
  json.Set("format", kPlanFormat);
  Json version = Json::MakeObject();
  version.Set("major", kPlanMajor);
  version.Set("minor", kPlanMinor);
  json.Set("version", std::move(version));
  json.Set("planner", plan.planner);
  json.Set("makespan", EstimateToJson(plan.makespan));
  json.Set("lower_bound_ns", plan.lower_bound_ns);
  json.Set("complete", plan.complete);
  json.Set("report", ReportToJson(plan.report));
  json.Set("made_for", MadeForToJson(plan.made_for));
  Json::Array candidates, instances, steps, memory;
  for (const Candidate& candidate : plan.candidates) {
    candidates.push_back(CandidateToJson(candidate, plan.made_for.platform));
  }
  for (const Instance& instance : plan.instances) instances.push_back(InstanceToJson(plan, graph, instance));
  for (size_t s = 0; s < plan.steps.size(); ++s) steps.push_back(StepToJson(plan, graph, s));
  for (const auto& [device, arena] : plan.memory) memory.push_back(ArenaToJson(device, arena));
  json.Set("candidates", std::move(candidates));
  if (!plan.quantisations.empty()) {
    Json::Array quantisations;
    for (const auto& [id, quantisation] : plan.quantisations) {
      quantisations.push_back(QuantisationToJson(id, quantisation));
    }
    json.Set("quantisations", std::move(quantisations));
  }
  if (!plan.lent_on.empty()) {
    Json::Array lent_on;
    for (const auto& [value, device] : plan.lent_on) lent_on.push_back(LendingToJson(plan, graph, value, device));
    json.Set("lent_on", std::move(lent_on));
  }
  json.Set("instances", std::move(instances));
  json.Set("steps", std::move(steps));
  json.Set("memory", std::move(memory));
  return json;
}

}  // namespace pt
