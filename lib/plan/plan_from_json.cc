// Reading plans from JSON.
#include <array>
#include <charconv>
#include <cmath>

#include "lib/plan/plan_json_words.h"
#include "partitiontuner/plan/plan_json.h"

namespace pt {
namespace {

constexpr std::array kProvenances = {Provenance::kMeasured, Provenance::kSimulated, Provenance::kEstimated,
                                     Provenance::kTable};

Error Invalid(const std::string& where, const std::string& what) {
  return MakeError(ErrorCode::kInvalidInput, "plan.json", where + ": " + what);
}

// One field of an id type; `count` is how many there are, empty = not known here.
template <typename Id>
Result<Id> IdFromJson(const Json& json, std::string_view key, const std::string& where,
                      std::optional<size_t> count = std::nullopt) {
  PT_ASSIGN(const uint64_t value, JsonUnsigned(json, key, where));
  if (value >= count.value_or(Id::kNone)) {
    return Invalid(where, std::string(key) + " is " + std::to_string(value) +
                              (count ? ", there are " + std::to_string(*count) : ", which is not an index"));
  }
  return Id(static_cast<uint32_t>(value));
}

template <typename Id>
Result<std::vector<Id>> IdsFromJson(const Json& json, std::string_view key, const std::string& where,
                                    std::optional<size_t> count = std::nullopt) {
  PT_ASSIGN(const Json::Array* array, JsonArray(json, key, where));
  std::vector<Id> ids;
  ids.reserve(array->size());
  for (const Json& item : *array) {
    const int64_t* value = item.as_int();
    if (value == nullptr || *value < 0 || static_cast<uint64_t>(*value) >= count.value_or(Id::kNone)) {
      return Invalid(where, std::string(key) + " holds " + WriteJson(item, -1) + ", which is not an index" +
                                (count ? " below " + std::to_string(*count) : ""));
    }
    ids.push_back(Id(static_cast<uint32_t>(*value)));
  }
  return ids;
}

Result<int64_t> TimeFromJson(const Json& json, std::string_view key, const std::string& where) {
  PT_ASSIGN(const int64_t ns, JsonInt(json, key, where));
  if (ns < 0) return Invalid(where, std::string(key) + " is " + std::to_string(ns) + ", which is not a valid time");
  return ns;
}

Result<int64_t> IntFromJson(const Json& json, const std::string& where) {
  const int64_t* value = json.as_int();
  if (value == nullptr) return Invalid(where, WriteJson(json, -1) + " is not an integer");
  return *value;
}

Result<std::vector<int64_t>> IntsFromJson(const Json& json, const std::string& where) {
  const Json::Array* array = json.as_array();
  if (array == nullptr) return Invalid(where, "is not an array");
  std::vector<int64_t> ints;
  for (const Json& item : *array) {
    PT_ASSIGN(const int64_t value, IntFromJson(item, where));
    ints.push_back(value);
  }
  return ints;
}

// A name beside an index tells people what the index means; an edit of one alone would be lost silently.
template <typename Items, typename Id>
Status CheckName(const Json& json, const char* key, const Items& items, Id id, const std::string& where) {
  const Json* name = json.find(key);
  if (name == nullptr || items.empty()) return {};
  const std::string* text = name->as_string();
  if (id.index() >= items.size()) {
    return Invalid(where, std::string(key) + ": there are only " + std::to_string(items.size()));
  }
  if (text == nullptr || *text != items[id.index()].name) {
    return Invalid(where, std::string(key) + " is " + WriteJson(*name, -1) + ", but index " + std::to_string(id.value) +
                              " is '" + items[id.index()].name + "'");
  }
  return {};
}

template <typename Values, typename Name>
auto OneOf(const Values& values, Name name_of, const std::string& text) {
  std::optional<typename Values::value_type> found;
  for (const auto& value : values) {
    if (name_of(value) == text) found = value;
  }
  return found;
}

Result<QuantisationId> QuantisationIdFromJson(const Json& json, std::string_view key, const std::string& where) {
  PT_ASSIGN(const std::string text, JsonString(json, key, where));
  QuantisationId id;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id.value, 16);
  if (problem != std::errc() || end != text.data() + text.size() || ToString(id) != text || !id.valid()) {
    return Invalid(where, std::string(key) + " '" + text + "' is not 16 hex digits");
  }
  return id;
}

Result<Form> FormFromJson(const Json& json, const std::string& where) {
  Form form;
  PT_ASSIGN(const std::string layout, JsonString(json, "layout", where));
  PT_ASSIGN(form.layout, LayoutFromString(layout));
  PT_ASSIGN(const std::string storage, JsonString(json, "storage", where));
  const std::optional<DataType> type = DataTypeFromName(storage);
  if (!type) return Invalid(where, "storage '" + storage + "' is not an element type");
  form.storage = *type;
  if (json.find("quantisation") != nullptr) {
    PT_ASSIGN(form.quantisation, QuantisationIdFromJson(json, "quantisation", where));
  }
  return form;
}

// An id is made from the content, so an edit of either alone is noticed.
Status QuantisationsFromJson(const Json& json, const std::string& where, Plan& plan) {
  if (json.find("quantisations") == nullptr) return {};
  PT_ASSIGN(const Json::Array* array, JsonArray(json, "quantisations", where));
  for (const Json& item : *array) {
    const std::string at = where + ": quantisations";
    Quantisation quantisation;
    PT_ASSIGN(const QuantisationId id, QuantisationIdFromJson(item, "id", at));
    PT_ASSIGN(quantisation.axis, JsonInt(item, "axis", at));
    PT_ASSIGN(const Json::Array* scales, JsonArray(item, "scales", at));
    for (const Json& scale : *scales) {
      if (!scale.as_number()) return Invalid(at, "scales holds " + WriteJson(scale, -1) + "; expected numbers");
      quantisation.scales.push_back(static_cast<float>(*scale.as_number()));
    }
    PT_ASSIGN(const Json::Array* zero_points, JsonArray(item, "zero_points", at));
    for (const Json& zero : *zero_points) {
      PT_ASSIGN(const int64_t value, IntFromJson(zero, at));
      quantisation.zero_points.push_back(value);
    }
    if (IdOf(quantisation) != id) return Invalid(at, "id " + ToString(id) + " is not what its scales make");
    if (!plan.quantisations.emplace(id, std::move(quantisation)).second) return Invalid(at, "repeats an id");
  }
  return {};
}

Result<std::vector<Form>> FormsFromJson(const Json& json, std::string_view key, const std::string& where) {
  PT_ASSIGN(const Json::Array* array, JsonArray(json, key, where));
  std::vector<Form> forms;
  for (const Json& item : *array) {
    PT_ASSIGN(Form form, FormFromJson(item, where + "." + std::string(key)));
    forms.push_back(std::move(form));
  }
  return forms;
}

Result<std::vector<Alias>> AliasesFromJson(const Json& json, const std::string& where) {
  PT_ASSIGN(const Json::Array* array, JsonArray(json, "aliases", where));
  std::vector<Alias> aliases;
  for (const Json& item : *array) {
    Alias alias;
    PT_ASSIGN(const uint64_t out, JsonUnsigned(item, "out", where + ".aliases"));
    PT_ASSIGN(const uint64_t in, JsonUnsigned(item, "in", where + ".aliases"));
    PT_ASSIGN(const std::string kind, JsonString(item, "kind", where + ".aliases"));
    if (out > UINT32_MAX || in > UINT32_MAX || (kind != "allowed" && kind != "required")) {
      return Invalid(where, "aliases holds " + WriteJson(item, -1) +
                                "; each needs \"out\", \"in\" and \"kind\" allowed or required");
    }
    alias.out = static_cast<uint32_t>(out);
    alias.in = static_cast<uint32_t>(in);
    alias.kind = kind == "required" ? Alias::Kind::kRequired : Alias::Kind::kAllowed;
    aliases.push_back(alias);
  }
  return aliases;
}

Result<Candidate> CandidateFromJson(const Json& json, const Platform& platform, const std::string& where) {
  Candidate candidate;
  PT_ASSIGN(candidate.nodes, IdsFromJson<NodeId>(json, "nodes", where));
  if (candidate.nodes.empty()) return Invalid(where, "nodes is empty");
  PT_ASSIGN(candidate.unit_class, IdFromJson<UnitClassId>(json, "unit_class", where));
  PT_CHECK_OK(CheckName(json, "unit_class_name", platform.unit_classes, candidate.unit_class, where));
  PT_ASSIGN(candidate.library, JsonString(json, "library", where));
  PT_ASSIGN(candidate.variant, JsonString(json, "variant", where));
  PT_ASSIGN(const std::string math, JsonString(json, "math", where));
  const auto mode = MathModeFromName(math);
  if (!mode) return Invalid(where, "unknown math mode '" + math + "'");
  candidate.math = *mode;
  PT_ASSIGN(candidate.in, FormsFromJson(json, "in", where));
  PT_ASSIGN(candidate.out, FormsFromJson(json, "out", where));
  PT_ASSIGN(candidate.aliases, AliasesFromJson(json, where));
  PT_ASSIGN(const std::string elision, JsonString(json, "elision", where));
  const auto elided =
      OneOf(std::array{Elision::kNone, Elision::kViewOfInput, Elision::kSlicesOfOutput}, ElisionName, elision);
  if (!elided) return Invalid(where, "elision '" + elision + "' is unknown");
  candidate.elision = *elided;
  PT_ASSIGN(candidate.scratch_bytes, JsonUnsigned(json, "scratch_bytes", where));
  PT_ASSIGN(candidate.constant_bytes, JsonUnsigned(json, "constant_bytes", where));
  return candidate;
}

Result<Instance> InstanceFromJson(const Json& json, const Platform& platform, const std::string& where) {
  Instance instance;
  PT_ASSIGN(instance.value, IdFromJson<ValueId>(json, "value", where));
  PT_ASSIGN(instance.device, IdFromJson<DeviceId>(json, "device", where));
  PT_CHECK_OK(CheckName(json, "device_name", platform.devices, instance.device, where));
  PT_ASSIGN(const Json* form, JsonObject(json, "form", where));
  PT_ASSIGN(instance.form, FormFromJson(*form, where + ".form"));
  return instance;
}

Status LendingFromJson(const Json& json, const std::string& where, Plan& plan) {
  if (json.find("lent_on") == nullptr) return {};
  PT_ASSIGN(const Json::Array* array, JsonArray(json, "lent_on", where));
  for (size_t i = 0; i < array->size(); ++i) {
    const std::string at = where + ": lent_on[" + std::to_string(i) + "]";
    PT_ASSIGN(const ValueId value, IdFromJson<ValueId>((*array)[i], "value", at));
    PT_ASSIGN(const DeviceId device, IdFromJson<DeviceId>((*array)[i], "device", at));
    PT_CHECK_OK(CheckName((*array)[i], "device_name", plan.made_for.platform.devices, device, at));
    if (!plan.lent_on.emplace(value, device).second) return Invalid(at, "repeats a value");
  }
  return {};
}

// The nodes a step shows must be those of its candidate.
Status CheckNodes(const Json& json, const Candidate& candidate, const std::string& where) {
  const Json* nodes = json.find("nodes");
  if (nodes == nullptr) return {};
  const Json::Array* array = nodes->as_array();
  bool same = array != nullptr && array->size() == candidate.nodes.size();
  for (size_t i = 0; same && i < array->size(); ++i) {
    const Json* index = (*array)[i].find("index");
    same = index != nullptr && index->as_int() != nullptr && *index->as_int() == candidate.nodes[i].value;
  }
  return same ? Status() : Invalid(where, "nodes are not those of its candidate");
}

Result<Work> WorkFromJson(const Json& json, const Plan& plan, const std::string& where) {
  const size_t instances = plan.instances.size();
  PT_ASSIGN(const std::string kind, JsonString(json, "work", where));
  if (kind == "run") {
    RunGroup group;
    PT_ASSIGN(group.candidate, IdFromJson<PlanCandidateId>(json, "candidate", where, plan.candidates.size()));
    PT_ASSIGN(group.in, IdsFromJson<InstanceId>(json, "in", where, instances));
    PT_ASSIGN(group.out, IdsFromJson<InstanceId>(json, "out", where, instances));
    const Candidate& candidate = plan.candidates[group.candidate.index()];
    if (group.in.size() != candidate.in.size() || group.out.size() != candidate.out.size()) {
      return Invalid(where, "has other inputs or outputs than its candidate");
    }
    PT_CHECK_OK(CheckNodes(json, candidate, where));
    return Work(std::move(group));
  }
  if (kind != "copy" && kind != "reorder") return Invalid(where, "work '" + kind + "' is unknown");
  PT_ASSIGN(const InstanceId from, IdFromJson<InstanceId>(json, "from", where, instances));
  PT_ASSIGN(const InstanceId to, IdFromJson<InstanceId>(json, "to", where, instances));
  if (kind == "copy") {
    PT_ASSIGN(const LinkId link, IdFromJson<LinkId>(json, "link", where));
    return Work(Copy{from, to, link});
  }
  PT_ASSIGN(std::string library, JsonString(json, "library", where));
  return Work(Reorder{from, to, std::move(library)});
}

Result<Step> StepFromJson(const Json& json, const Plan& plan, size_t index, size_t count, const std::string& where) {
  Step step;
  PT_ASSIGN(const uint64_t id, JsonUnsigned(json, "id", where));
  if (id != index) return Invalid(where, "id is " + std::to_string(id));
  PT_ASSIGN(step.unit, IdFromJson<UnitId>(json, "unit", where));
  PT_CHECK_OK(CheckName(json, "unit_name", plan.made_for.platform.units, step.unit, where));
  PT_ASSIGN(step.work, WorkFromJson(json, plan, where));
  PT_ASSIGN(step.after, IdsFromJson<StepId>(json, "after", where, count));
  PT_ASSIGN(step.expected_start_ns, TimeFromJson(json, "expected_start_ns", where));
  PT_ASSIGN(step.expected_ns, TimeFromJson(json, "expected_ns", where));
  return step;
}

Result<Arena> ArenaFromJson(const Json& json, const Plan& plan, const std::string& where) {
  Arena arena;
  PT_ASSIGN(arena.bytes, JsonUnsigned(json, "bytes", where));
  PT_ASSIGN(const Json::Array* placements, JsonArray(json, "placements", where));
  for (const Json& item : *placements) {
    Placement placement;
    PT_ASSIGN(placement.instance, IdFromJson<InstanceId>(item, "instance", where, plan.instances.size()));
    PT_ASSIGN(placement.offset, JsonUnsigned(item, "offset", where));
    PT_ASSIGN(placement.bytes, JsonUnsigned(item, "bytes", where));
    if (const Json* strides = item.find("strides")) {
      PT_ASSIGN(placement.strides, IntsFromJson(*strides, where + ".strides"));
    }
    arena.placements.push_back(std::move(placement));
  }
  PT_ASSIGN(const Json::Array* scratch, JsonArray(json, "scratch", where));
  for (const Json& item : *scratch) {
    ScratchPlacement placement;
    PT_ASSIGN(placement.step, IdFromJson<StepId>(item, "step", where, plan.steps.size()));
    PT_ASSIGN(placement.offset, JsonUnsigned(item, "offset", where));
    PT_ASSIGN(placement.bytes, JsonUnsigned(item, "bytes", where));
    arena.scratch.push_back(placement);
  }
  return arena;
}

template <typename F>
Status ForEachPair(const Json& json, std::string_view key, const std::string& where, F visit) {
  PT_ASSIGN(const Json* object, JsonObject(json, key, where));
  for (const auto& [name, value] : *object->as_object()) {
    PT_CHECK_OK(visit(name, value, where + "." + std::string(key) + "." + name));
  }
  return {};
}

Result<std::map<std::string, std::string>> TextsFromJson(const Json& json, std::string_view key,
                                                         const std::string& where) {
  std::map<std::string, std::string> texts;
  PT_CHECK_OK(
      ForEachPair(json, key, where, [&](const std::string& name, const Json& value, const std::string& at) -> Status {
        const std::string* text = value.as_string();
        if (text == nullptr) return Invalid(at, "is not a text");
        texts[name] = *text;
        return {};
      }));
  return texts;
}

Result<MadeFor> MadeForFromJson(const Json& json, const std::string& where) {
  MadeFor made_for;
  PT_ASSIGN(const Json* tool, JsonObject(json, "tool", where));
  PT_ASSIGN(made_for.tool_version, JsonString(*tool, "version", where + ".tool"));
  PT_ASSIGN(made_for.libraries, TextsFromJson(*tool, "libraries", where + ".tool"));
  PT_ASSIGN(const Json* model, JsonObject(json, "model", where));
  PT_ASSIGN(made_for.model_hash, JsonString(*model, "hash", where + ".model"));
  PT_ASSIGN(made_for.graph_hash, JsonString(*model, "graph_hash", where + ".model"));
  PT_ASSIGN(made_for.opset, JsonInt(*model, "opset", where + ".model"));
  PT_CHECK_OK(ForEachPair(*model, "input_dims", where + ".model",
                          [&](const std::string& name, const Json& value, const std::string& at) -> Status {
                            PT_ASSIGN(made_for.input_dims[name], IntsFromJson(value, at));
                            return {};
                          }));
  if (const Json* platform = json.find("platform")) {
    PT_ASSIGN(made_for.platform, PlatformFromJson(*platform, where + ".platform"));
  }
  PT_ASSIGN(const Json* profile, JsonObject(json, "profile", where));
  PT_ASSIGN(made_for.profile_hash, JsonString(*profile, "hash", where + ".profile"));
  PT_ASSIGN(made_for.profile_samples, JsonUnsigned(*profile, "samples", where + ".profile"));
  PT_ASSIGN(made_for.settings, TextsFromJson(json, "settings", where));
  return made_for;
}

Result<Estimate> EstimateFromJson(const Json& json, const std::string& where) {
  Estimate estimate;
  PT_ASSIGN(estimate.ns, TimeFromJson(json, "ns", where));
  PT_ASSIGN(estimate.spread_ns, TimeFromJson(json, "spread_ns", where));
  PT_ASSIGN(const std::string provenance, JsonString(json, "provenance", where));
  const auto known = OneOf(kProvenances, ProvenanceName, provenance);
  if (!known) return Invalid(where, "provenance '" + provenance + "' is unknown");
  estimate.provenance = *known;
  PT_ASSIGN(estimate.relative_error, JsonNumber(json, "relative_error", where));
  if (!(estimate.relative_error >= 0)) return Invalid(where, "relative_error is negative");
  return estimate;
}

Result<BudgetReport> BudgetFromJson(const Json& json, const std::string& where) {
  BudgetReport budget;
  PT_ASSIGN(budget.max_error, JsonNumber(json, "max_error", where));
  PT_ASSIGN(budget.calibration_error, JsonNumber(json, "calibration_error", where));
  PT_ASSIGN(budget.confirmation_error, JsonNumber(json, "confirmation_error", where));
  for (const double error : {budget.max_error, budget.calibration_error, budget.confirmation_error}) {
    if (!(error >= 0)) return Invalid(where, "holds an error that is negative or no number");
  }
  PT_ASSIGN(budget.calibration_sets, JsonUnsigned(json, "calibration_sets", where));
  PT_ASSIGN(budget.confirmation_sets, JsonUnsigned(json, "confirmation_sets", where));
  PT_ASSIGN(budget.groups, JsonUnsigned(json, "groups", where));
  PT_ASSIGN(budget.lowered_groups, JsonUnsigned(json, "lowered_groups", where));
  PT_ASSIGN(budget.fp32_ns, TimeFromJson(json, "fp32_ns", where));
  PT_ASSIGN(budget.plans, JsonUnsigned(json, "plans", where));
  return budget;
}

Result<SegmentReport> SegmentsFromJson(const Json& json, const std::string& where) {
  SegmentReport segments;
  PT_ASSIGN(segments.segments, JsonUnsigned(json, "count", where));
  PT_ASSIGN(segments.steps, JsonUnsigned(json, "steps", where));
  PT_ASSIGN(segments.launch_ns, TimeFromJson(json, "launch_ns", where));
  PT_ASSIGN(const Json::Array* unknown, JsonArray(json, "unknown", where));
  for (const Json& device : *unknown) {
    if (device.as_string() == nullptr) return Invalid(where, "unknown holds something that is not a text");
    segments.unknown.push_back(*device.as_string());
  }
  return segments;
}

Result<PlanReport> ReportFromJson(const Json& json, size_t steps, const std::string& where) {
  PlanReport report;
  PT_ASSIGN(report.critical_path, IdsFromJson<StepId>(json, "critical_path", where, steps));
  PT_CHECK_OK(ForEachPair(json, "busy", where,
                          [&](const std::string& name, const Json& value, const std::string& at) -> Status {
                            const std::optional<double> share = value.as_number();
                            if (!share || !std::isfinite(*share)) return Invalid(at, "is not a number");
                            report.busy[name] = *share;
                            return {};
                          }));
  PT_CHECK_OK(ForEachPair(json, "baselines_ns", where,
                          [&](const std::string& name, const Json& value, const std::string& at) -> Status {
                            PT_ASSIGN(report.baselines_ns[name], IntFromJson(value, at));
                            return {};
                          }));
  PT_ASSIGN(report.gap, JsonNumber(json, "gap", where));
  PT_ASSIGN(report.stopped_by, JsonString(json, "stopped_by", where));
  if (json.find("tight_bound") != nullptr) {
    PT_ASSIGN(report.tight_bound, JsonString(json, "tight_bound", where));
  }
  if (json.find("reference_ns") != nullptr) {
    PT_ASSIGN(report.reference_ns, JsonInt(json, "reference_ns", where));
    if (report.reference_ns < 0) return Invalid(where, "reference_ns is negative");
  }
  if (json.find("hand_over_ns") != nullptr) {
    PT_ASSIGN(report.hand_over_ns, JsonInt(json, "hand_over_ns", where));
    if (report.hand_over_ns < 0) return Invalid(where, "hand_over_ns is negative");
  }
  if (json.find("segments") != nullptr) {
    PT_ASSIGN(const Json* segments, JsonObject(json, "segments", where));
    PT_ASSIGN(report.segments, SegmentsFromJson(*segments, where + ".segments"));
  }
  if (json.find("error_budget") != nullptr) {
    PT_ASSIGN(const Json* budget, JsonObject(json, "error_budget", where));
    PT_ASSIGN(report.budget, BudgetFromJson(*budget, where + ".error_budget"));
  }
  return report;
}

// Later minor versions only add keys; another major version means something else by the same ones.
Status CheckVersion(const Json& json, const std::string& where) {
  PT_ASSIGN(const std::string format, JsonString(json, "format", where));
  if (format != kPlanFormat)
    return Invalid(where, "format is '" + format + "', not '" + std::string(kPlanFormat) + "'");
  PT_ASSIGN(const Json* version, JsonObject(json, "version", where));
  PT_ASSIGN(const int64_t major, JsonInt(*version, "major", where + ".version"));
  PT_CHECK_OK(JsonInt(*version, "minor", where + ".version"));
  if (major == kPlanMajor) return {};
  return MakeError(ErrorCode::kStale, "plan.version",
                   where + ": plan format version " + std::to_string(major) + ", this program reads version " +
                       std::to_string(kPlanMajor),
                   "make the plan anew with pt-plan");
}

template <typename T, typename F>
Status ReadArray(const Json& json, const char* key, const std::string& where, std::vector<T>& to, F read) {
  PT_ASSIGN(const Json::Array* array, JsonArray(json, key, where));
  to.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i) {
    PT_ASSIGN(T item, read((*array)[i], i, array->size(), where + ": " + key + "[" + std::to_string(i) + "]"));
    to.push_back(std::move(item));
  }
  return {};
}

}  // namespace

Result<Plan> PlanFromJson(const Json& json, std::string_view what) {
  const std::string where(what);
  PT_CHECK_OK(CheckVersion(json, where));
  Plan plan;
  PT_ASSIGN(plan.planner, JsonString(json, "planner", where));
  PT_ASSIGN(const Json* makespan, JsonObject(json, "makespan", where));
  PT_ASSIGN(plan.makespan, EstimateFromJson(*makespan, where + ": makespan"));
  PT_ASSIGN(plan.lower_bound_ns, TimeFromJson(json, "lower_bound_ns", where));
  PT_ASSIGN(plan.complete, JsonBool(json, "complete", where));
  PT_ASSIGN(const Json* made_for, JsonObject(json, "made_for", where));
  PT_ASSIGN(plan.made_for, MadeForFromJson(*made_for, where + ": made_for"));
  const Platform& platform = plan.made_for.platform;
  PT_CHECK_OK(QuantisationsFromJson(json, where, plan));
  PT_CHECK_OK(LendingFromJson(json, where, plan));
  PT_CHECK_OK(ReadArray(
      json, "candidates", where, plan.candidates,
      [&](const Json& item, size_t, size_t, const std::string& at) { return CandidateFromJson(item, platform, at); }));
  PT_CHECK_OK(ReadArray(
      json, "instances", where, plan.instances,
      [&](const Json& item, size_t, size_t, const std::string& at) { return InstanceFromJson(item, platform, at); }));
  PT_CHECK_OK(ReadArray(
      json, "steps", where, plan.steps,
      [&](const Json& item, size_t i, size_t n, const std::string& at) { return StepFromJson(item, plan, i, n, at); }));
  PT_ASSIGN(const Json::Array* memory, JsonArray(json, "memory", where));
  for (size_t i = 0; i < memory->size(); ++i) {
    const std::string at = where + ": memory[" + std::to_string(i) + "]";
    PT_ASSIGN(const DeviceId device, IdFromJson<DeviceId>((*memory)[i], "device", at));
    PT_ASSIGN(Arena arena, ArenaFromJson((*memory)[i], plan, at));
    if (!plan.memory.emplace(device, std::move(arena)).second) return Invalid(at, "repeats its device");
  }
  PT_ASSIGN(const Json* report, JsonObject(json, "report", where));
  PT_ASSIGN(plan.report, ReportFromJson(*report, plan.steps.size(), where + ": report"));
  return plan;
}

}  // namespace pt
