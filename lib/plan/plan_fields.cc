// The parts of a plan: kernels, instances, steps and memory.
#include "lib/plan/plan_fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "partitiontuner/cost/estimate_fields.h"
#include "partitiontuner/plan/plan_json.h"

namespace pt {
namespace {

constexpr std::array kElisions = {Elision::kNone, Elision::kViewOfInput, Elision::kSlicesOfOutput};
constexpr std::array kAliasKinds = {Alias::Kind::kAllowed, Alias::Kind::kRequired};
constexpr std::array<size_t, 3> kWorks = {0, 1, 2};  // alternatives of Work

std::string_view AliasKindName(Alias::Kind kind) { return kind == Alias::Kind::kRequired ? "required" : "allowed"; }
std::string_view WorkName(size_t work) {
  constexpr std::array<std::string_view, 3> kNames = {"run", "copy", "reorder"};
  return kNames[work];
}

// What ids may name, and what people are told of it.
struct Surroundings {
  const Plan& plan;
  const Graph* graph;
  std::optional<size_t> candidates, instances, steps;  // empty: not known

  const Platform& platform() const { return plan.made_for.platform; }
};

// A name beside an index tells people what the index means; an edit of one alone would be lost silently. Without items
// nothing can be said of it.
template <typename Items, typename Id>
void NameField(FieldVisitor& v, const std::string& key, const Items& items, Id id) {
  std::optional<std::string> name;
  if (v.writes() && id.index() < items.size()) name = items[id.index()].name;
  v.Field(key, name, FieldNote("for people; must agree").Optional());
  if (!v.reads() || !name || items.empty()) return;
  if (id.index() >= items.size()) {
    v.Fail(key + ": there are only " + std::to_string(items.size()));
  } else if (*name != items[id.index()].name) {
    v.Fail(key + " is " + WriteJson(Json(*name), -1) + ", but index " + std::to_string(id.value) + " is '" +
           items[id.index()].name + "'");
  }
}

void ValueNameField(FieldVisitor& v, const Graph* graph, ValueId value) {
  std::optional<std::string> name;
  if (graph != nullptr && value.index() < graph->values().size()) name = graph->value(value).name;
  v.Field("value_name", name, FieldNote("for people; not read").ForPeople());
}

}  // namespace

std::string_view ElisionName(Elision elision) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "view_of_input", "slices_of_output"};
  return kNames[static_cast<size_t>(elision)];
}

// Visitors find these by their arguments, so they are not in the unnamed namespace.
void Fields(FieldVisitor& v, Form& form) {
  std::string layout, storage;
  if (v.writes()) layout = ToString(form.layout), storage = DataTypeName(form.storage);
  v.Field("layout", layout, "for instance `abcd` (row-major), `acdb` (channels last), `aBcd16b` (blocked)");
  if (v.reads()) {
    Result<Layout> read = LayoutFromString(layout);
    if (read.ok()) {
      form.layout = *std::move(read);
    } else {
      v.Fail(read.error().message, read.error().id);
    }
  }
  v.Field("storage", storage,
          "element type in memory, for instance `float32`; another than the value's own only where the math allows it");
  if (v.reads()) {
    const std::optional<DataType> read = DataTypeFromName(storage);
    form.storage = read.value_or(DataType::kUndefined);
    if (!read) v.Fail("storage '" + storage + "' is not an element type");
  }
  QuantisationField(v, "quantisation", form.quantisation,
                    FieldNote("id of what integers stand for: an entry of `quantisations`").Since("1.1").Optional());
}

void QuantisationField(FieldVisitor& v, std::string_view key, QuantisationId& id, const FieldNote& note) {
  std::string text = v.writes() && id.valid() ? ToString(id) : std::string();
  v.Field(key, text, note);
  if (!v.reads() || (text.empty() && !v.Has(key))) return;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id.value, 16);
  if (problem != std::errc() || end != text.data() + text.size() || ToString(id) != text || !id.valid()) {
    v.Fail(std::string(key) + " '" + text + "' is not 16 hex digits");
  }
}

void Fields(FieldVisitor& v, Alias& alias) {
  v.Field("out", alias.out, "which output");
  v.Field("in", alias.in, "and which input");
  v.Word("kind", alias.kind, kAliasKinds, AliasKindName, "whether they may or must share bytes");
}

void Fields(FieldVisitor& v, Candidate& candidate, const Platform& platform) {
  v.Field("nodes", candidate.nodes, FieldNote("of the planned graph").NotEmpty());
  v.Field("unit_class", candidate.unit_class, "of the platform");
  NameField(v, "unit_class_name", platform.unit_classes, candidate.unit_class);
  v.Field("library", candidate.library, "whose kernel it is");
  v.Field("variant", candidate.variant, "which of its kernels, in the library's words");
  v.Word("math", candidate.math, kMathModes, MathModeName, "what it computes in");
  v.Field("in", candidate.in, "forms that it reads");
  v.Field("out", candidate.out, "forms that it writes");
  v.Field("aliases", candidate.aliases, "outputs that may or must overwrite an input");
  v.Word("elision", candidate.elision, kElisions, ElisionName, "whether its step may move nothing");
  v.Field("scratch_bytes", candidate.scratch_bytes, "memory it needs while it runs");
  v.Field("constant_bytes", candidate.constant_bytes, "of its packed weights");
}

void Fields(FieldVisitor& v, Source& source) {
  v.Field("subgraph", source.subgraph, FieldNote("where it lies within nested graphs; absent at the top").Optional());
  v.Field("index", source.index, "of the node within its graph in the file");
  v.Field("output", source.first_output, "the name of its first output there");
}

namespace {

// A node of a step's candidate, for people.
struct ShownNode {
  NodeId index;
  std::optional<std::string> op;
  std::optional<std::vector<Source>> source;
};

std::vector<ShownNode> ShownNodes(const Candidate& candidate, const Graph* graph) {
  std::vector<ShownNode> shown;
  for (const NodeId id : candidate.nodes) {
    shown.push_back({id, std::nullopt, std::nullopt});
    if (graph == nullptr || id.index() >= graph->nodes().size()) continue;
    const Node& node = graph->node(id);
    shown.back().op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    shown.back().source = node.source;
  }
  return shown;
}

void RunFields(FieldVisitor& v, RunGroup& run, const Surroundings& around) {
  v.Field("candidate", run.candidate, FieldNote("the kernel").Below(around.candidates));
  static const Candidate kUnknown;
  const bool is_known = run.candidate.index() < around.plan.candidates.size();
  const Candidate& candidate = is_known ? around.plan.candidates[run.candidate.index()] : kUnknown;
  std::vector<ShownNode> nodes = v.writes() ? ShownNodes(candidate, around.graph) : std::vector<ShownNode>();
  const bool are_shown = v.Has("nodes");
  v.Objects("nodes", nodes, FieldNote("the candidate's, for people; must agree with it").AlwaysWritten(),
            [&](ShownNode& node, size_t) {
              v.Field("index", node.index, "in the planned graph");
              v.Field("operator", node.op, FieldNote("not read").ForPeople());
              v.Field("source", node.source, FieldNote("where it comes from in the file; not read").ForPeople());
            });
  v.Field("in", run.in, FieldNote("instances that it reads").Below(around.instances));
  v.Field("out", run.out, FieldNote("instances that it writes").Below(around.instances));
  if (!v.reads()) return;
  if (run.in.size() != candidate.in.size() || run.out.size() != candidate.out.size()) {
    v.Fail("has other inputs or outputs than its candidate");
  }
  if (are_shown && !std::ranges::equal(nodes, candidate.nodes, {}, &ShownNode::index)) {
    v.Fail("nodes are not those of its candidate");
  }
}

void WorkFields(FieldVisitor& v, Work& work, const Surroundings& around) {
  size_t kind = work.index();
  v.Word("work", kind, kWorks, WorkName, "what it does");
  RunGroup run;
  Copy copy;
  Reorder reorder;
  if (v.writes()) {
    if (const auto* held = std::get_if<RunGroup>(&work)) run = *held;
    if (const auto* held = std::get_if<Copy>(&work)) copy = *held;
    if (const auto* held = std::get_if<Reorder>(&work)) reorder = *held, copy.from = held->from, copy.to = held->to;
  }
  v.Only("run", kind == 0, [&] { RunFields(v, run, around); });
  v.Only("copy, reorder", kind != 0, [&] {
    v.Field("from", copy.from, FieldNote("an instance").Below(around.instances));
    v.Field("to", copy.to, FieldNote("another one").Below(around.instances));
  });
  v.Only("copy", kind == 1, [&] { v.Field("link", copy.link, "of the platform"); });
  v.Only("reorder", kind == 2, [&] { v.Field("library", reorder.library, "whose kernel does it"); });
  if (!v.reads()) return;
  if (kind == 0) work = std::move(run);
  if (kind == 1) work = copy;
  if (kind == 2) work = Reorder{copy.from, copy.to, std::move(reorder.library)};
}

void StepFields(FieldVisitor& v, Step& step, size_t index, const Surroundings& around) {
  uint64_t id = index;
  v.Field("id", id, "its place in the list");
  if (v.reads() && id != index) v.Fail("id is " + std::to_string(id));
  v.Field("unit", step.unit, "of the platform");
  NameField(v, "unit_name", around.platform().units, step.unit);
  WorkFields(v, step.work, around);
  v.Field("after", step.after, FieldNote("steps that must be over; smaller than `id`").Below(around.steps));
  v.Field("expected_start_ns", step.expected_start_ns,
          FieldNote("after the begin of the run; no meaning for correctness").Within(kPlanTime));
  v.Field("expected_ns", step.expected_ns, FieldNote("how long it takes; likewise").Within(kPlanTime));
}

void InstanceFields(FieldVisitor& v, Instance& instance, const Surroundings& around) {
  v.Field("value", instance.value, "of the planned graph");
  ValueNameField(v, around.graph, instance.value);
  v.Field("device", instance.device, "of the platform");
  NameField(v, "device_name", around.platform().devices, instance.device);
  v.Field("form", instance.form, "how it is stored");
}

void ArenaFields(FieldVisitor& v, Arena& arena, const Surroundings& around) {
  v.Field("bytes", arena.bytes, "of the whole");
  v.Objects("placements", arena.placements, "where each instance lies", [&](Placement& placement, size_t) {
    v.Field("instance", placement.instance, FieldNote("that lies there").Below(around.instances));
    v.Field("offset", placement.offset, "in bytes");
    v.Field("bytes", placement.bytes, "that it takes");
    v.Field("strides", placement.strides, FieldNote("of a slice: in elements, one a dimension").Optional());
  });
  v.Objects("scratch", arena.scratch, "where each step's scratch lies", [&](ScratchPlacement& placement, size_t) {
    v.Field("step", placement.step, FieldNote("that needs it").Below(around.steps));
    v.Field("offset", placement.offset, "in bytes");
    v.Field("bytes", placement.bytes, "that it takes");
  });
}

void VersionFields(FieldVisitor& v) {
  std::string format(kPlanFormat);
  v.Field("format", format, FieldNote("says what the file is").OneOf({&kPlanFormat, 1}));
  int64_t major = kPlanMajor, minor = kPlanMinor;
  v.Object("version", "of the format", [&] {
    FieldNote note("a reader refuses another one");
    if (!v.reads()) note.Within({kPlanMajor, kPlanMajor});
    v.Field("major", major, note);
    v.Field("minor", minor, "later ones only add keys");
  });
  if (!v.reads() || major == kPlanMajor) return;
  v.Fail("plan format version " + std::to_string(major) + ", this program reads version " + std::to_string(kPlanMajor),
         "plan.version", ErrorCode::kStale, "make the plan anew with pt-plan");
}

void QuantisationsFields(FieldVisitor& v, Plan& plan) {
  const FieldNote note = FieldNote(
                             "what integers stand for in forms that name one; absent when none does. real = scale "
                             "* (integer - zero point)")
                             .Since("1.1")
                             .Optional();
  v.Rows("quantisations", plan.quantisations, note, "repeats an id",
         [&](QuantisationId& id, Quantisation& quantisation) {
           QuantisationField(v, "id", id, "16 hex digits made from the content");
           v.Field("axis", quantisation.axis, "-1: one scale for the whole tensor");
           v.Field("scales", quantisation.scales, "one, or one for each index along the axis");
           v.Field("zero_points", quantisation.zero_points, "as many");
           if (v.reads() && IdOf(quantisation) != id) v.Fail("id " + ToString(id) + " is not what its scales make");
         });
}

void LentOnFields(FieldVisitor& v, Plan& plan, const Surroundings& around) {
  const FieldNote note = FieldNote(
                             "on which device the caller lends a model input or output; those not named lie on the "
                             "host; absent when all do")
                             .Since("1.2")
                             .Optional();
  v.Rows("lent_on", plan.lent_on, note, "repeats a value", [&](ValueId& value, DeviceId& device) {
    v.Field("value", value, "of the planned graph");
    ValueNameField(v, around.graph, value);
    v.Field("device", device, "of the platform");
    NameField(v, "device_name", around.platform().devices, device);
  });
}

}  // namespace

void Fields(FieldVisitor& v, Plan& plan, const Graph* graph) {
  // Ids may name what comes after them in the file.
  const Surroundings around = {plan, graph, v.CountOf("candidates", plan.candidates.size()),
                               v.CountOf("instances", plan.instances.size()), v.CountOf("steps", plan.steps.size())};
  VersionFields(v);
  v.Field("planner", plan.planner, "name with argument: `search`, `single:cpu`, `random:7`");
  v.Field("makespan", plan.makespan, "the predicted time of a run");
  v.Field("lower_bound_ns", plan.lower_bound_ns,
          FieldNote("no legal plan from the same candidates and costs is faster; 0: not computed").Within(kPlanTime));
  v.Field("complete", plan.complete, "every cost was measured or given, none estimated");
  v.Object("report", "how it was found", [&] { Fields(v, plan.report, around.steps); });
  v.Field("made_for", plan.made_for, "a run on anything else is refused with the differences");
  v.Objects("candidates", plan.candidates, "the kernels used, once each",
            [&](Candidate& candidate, size_t) { Fields(v, candidate, around.platform()); });
  QuantisationsFields(v, plan);
  LentOnFields(v, plan, around);
  v.Objects("instances", plan.instances, "the tensors of a run; at most one of each value, device and form",
            [&](Instance& instance, size_t) { InstanceFields(v, instance, around); });
  v.Objects("steps", plan.steps, "in an order that every wait agrees with",
            [&](Step& step, size_t index) { StepFields(v, step, index, around); });
  v.Rows("memory", plan.memory, "an arena a device", "repeats its device", [&](DeviceId& device, Arena& arena) {
    v.Field("device", device, "of the platform");
    ArenaFields(v, arena, around);
  });
  Json ext;
  v.Field("ext", ext, FieldNote("additions of other programs; ignored").ForPeople());
}

Json ToJson(const SegmentReport& segments) { return WriteFields(segments); }
Json ToJson(const BudgetReport& budget) { return WriteFields(budget); }
Json ToJson(const Plan& plan, const Graph& graph) { return WriteFields(plan, &graph); }

Result<Plan> PlanFromJson(const Json& json, std::string_view what) {
  Plan plan;
  const Graph* const unknown = nullptr;
  PT_CHECK_OK(ReadFields(json, FileSource(what, "plan.json"), plan, unknown));
  return plan;
}

}  // namespace pt
