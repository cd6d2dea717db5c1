#include "partitiontuner/planner/workload.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

// Each pair of accelerators is a way to go, and each core a unit to try: more than this is a mistake.
constexpr int64_t kMostUnits = 256;
// All times of a file together, so that no sum of some of them overflows: a third of a year.
constexpr int64_t kMostNs = int64_t{10'000'000} * 1'000'000'000;
constexpr int64_t kMostBytes = int64_t{1} << 60;  // likewise
constexpr double kNsPerMs = 1e6;

constexpr const char* kLibrary = "table";

struct Operator {
  std::string name;
  int64_t cpu_ns = 0, accelerator_ns = 0;
  bool on_accelerator = false, is_backward = false;
  int64_t bytes = 0;  // on an accelerator
  std::optional<int64_t> color;
  std::optional<int64_t> move_ns;  // of its output; nothing where no edge leaves it
  std::vector<size_t> makers;      // of what it reads, in the order of the file
};

// What the file says, checked field by field.
struct Description {
  int64_t cores = 0, accelerators = 0, accelerator_bytes = 0;
  std::vector<Operator> operators;
  std::map<int64_t, size_t> by_id;
};

Error Fault(std::string message, std::string hint = {}) {
  return MakeError(ErrorCode::kInvalidInput, "workload.invalid", std::move(message), std::move(hint));
}

// Sums that stay below a limit, whatever a file adds to them.
class Total {
 public:
  Total(int64_t most, const char* of) : most_(most), of_(of) {}
  Status Add(int64_t amount, const std::string& where) {
    const std::optional<int64_t> sum = CheckedAdd(sum_, amount);
    if (!sum || *sum > most_) {
      return Fault(where + ": " + of_ + " of the file add up to more than " + std::to_string(most_));
    }
    sum_ = *sum;
    return {};
  }

 private:
  int64_t most_, sum_ = 0;
  const char* of_;
};

// A number of at least 0 times `scale`, rounded.
Result<int64_t> Amount(const Json& object, std::string_view key, double scale, int64_t most, const std::string& where) {
  PT_ASSIGN(const double number, JsonNumber(object, key, where));
  const double scaled = number * scale;
  if (!(number >= 0) || !(scaled <= static_cast<double>(most))) {
    return Fault(where + ": \"" + std::string(key) + "\" is " + WriteJson(Json(number), -1) +
                 ", which is below 0 or too large");
  }
  return std::llround(scaled);
}

// Files write truth as true and false or as 1 and 0.
Result<bool> Truth(const Json& object, std::string_view key, const std::string& where) {
  const Json* json = object.find(key);
  if (json != nullptr && json->as_int() != nullptr && (*json->as_int() == 0 || *json->as_int() == 1)) {
    return *json->as_int() == 1;
  }
  return JsonBool(object, key, where);
}

// A misspelt field must not count as absent.
Status CheckKeys(const Json& object, std::initializer_list<std::string_view> known, const std::string& where) {
  if (object.as_object() == nullptr) {
    return Fault(where + " is not an object");
  }
  for (const auto& [key, value] : *object.as_object()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    std::string names;
    for (std::string_view name : known) names += (names.empty() ? "" : ", ") + std::string(name);
    return Fault(where + ": unknown field \"" + key + "\"", "known are " + names);
  }
  return {};
}

class Reader {
 public:
  explicit Reader(const Limits& limits) : limits_(limits) {}

  Result<Description> Read(const Json& json) {
    PT_CHECK_OK(CheckKeys(json, {"maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes", "edges"}, "the workload"));
    PT_ASSIGN(description_.accelerators, Count(json, "maxFPGAs", 0));
    PT_ASSIGN(description_.cores, Count(json, "maxCPUs", 1));
    PT_ASSIGN(description_.accelerator_bytes, Amount(json, "maxSizePerFPGA", 1, kMostBytes, "the workload"));
    PT_ASSIGN(const Json::Array* nodes, JsonArray(json, "nodes", "the workload"));
    if (nodes->empty() || nodes->size() > limits_.nodes) {
      return Fault("the workload has " + std::to_string(nodes->size()) + " nodes; 1 to " +
                   std::to_string(limits_.nodes) + " are allowed");
    }
    for (size_t n = 0; n < nodes->size(); ++n) PT_CHECK_OK(ReadNode((*nodes)[n], "nodes[" + std::to_string(n) + "]"));
    PT_ASSIGN(const Json::Array* edges, JsonArray(json, "edges", "the workload"));
    for (size_t e = 0; e < edges->size(); ++e) PT_CHECK_OK(ReadEdge((*edges)[e], "edges[" + std::to_string(e) + "]"));
    return std::move(description_);
  }

 private:
  static Result<int64_t> Count(const Json& json, std::string_view key, int64_t least) {
    PT_ASSIGN(const int64_t count, JsonInt(json, key, "the workload"));
    if (count >= least && count <= kMostUnits) return count;
    return Fault("the workload: \"" + std::string(key) + "\" is " + std::to_string(count) + "; " +
                 std::to_string(least) + " to " + std::to_string(kMostUnits) + " are allowed");
  }

  Status ReadNode(const Json& json, const std::string& where) {
    PT_CHECK_OK(CheckKeys(json,
                          {"id", "name", "supportedOnFpga", "cpuLatency", "fpgaLatency", "size", "colorClass",
                           "isBackwardNode", "layerId"},
                          where));
    PT_ASSIGN(const int64_t id, JsonInt(json, "id", where));
    if (!description_.by_id.emplace(id, description_.operators.size()).second) {
      return Fault(where + ": id " + std::to_string(id) + " was used before");
    }
    Operator& op = description_.operators.emplace_back();
    op.name = "node " + std::to_string(id);
    if (json.find("name") != nullptr) {
      PT_ASSIGN(op.name, JsonString(json, "name", where));
      if (op.name.size() > limits_.name_bytes) {
        return Fault(where + ": the name has " + std::to_string(op.name.size()) + " bytes");
      }
    }
    PT_ASSIGN(op.cpu_ns, Amount(json, "cpuLatency", kNsPerMs, kMostNs, where));
    PT_ASSIGN(op.accelerator_ns, Amount(json, "fpgaLatency", kNsPerMs, kMostNs, where));
    PT_ASSIGN(op.on_accelerator, Truth(json, "supportedOnFpga", where));
    PT_ASSIGN(op.bytes, Amount(json, "size", 1, kMostBytes, where));
    PT_CHECK_OK(times_.Add(op.cpu_ns, where));
    PT_CHECK_OK(times_.Add(op.accelerator_ns, where));
    PT_CHECK_OK(bytes_.Add(op.bytes, where));
    if (json.find("isBackwardNode") != nullptr) {
      PT_ASSIGN(op.is_backward, Truth(json, "isBackwardNode", where));
    }
    if (json.find("colorClass") != nullptr) {
      PT_ASSIGN(op.color, JsonInt(json, "colorClass", where));
    }
    return {};
  }

  Result<size_t> End(const Json& json, std::string_view key, const std::string& where) const {
    PT_ASSIGN(const int64_t id, JsonInt(json, key, where));
    const auto found = description_.by_id.find(id);
    if (found != description_.by_id.end()) return found->second;
    return Fault(where + ": \"" + std::string(key) + "\" is " + std::to_string(id) + ", which no node has as its id");
  }

  Status ReadEdge(const Json& json, const std::string& where) {
    PT_CHECK_OK(CheckKeys(json, {"sourceId", "destId", "cost", "size"}, where));
    PT_ASSIGN(const size_t from, End(json, "sourceId", where));
    PT_ASSIGN(const size_t to, End(json, "destId", where));
    PT_ASSIGN(const int64_t move_ns, Amount(json, "cost", kNsPerMs, kMostNs, where));
    if (!edges_.emplace(from, to).second) {
      return Fault(where + " stands in the file before");
    }
    std::optional<int64_t>& known = description_.operators[from].move_ns;
    if (known && *known != move_ns) {
      return Fault(where + ": \"cost\" is " + std::to_string(move_ns) +
                       " ns, but another edge out of the same node has " + std::to_string(*known) + " ns",
                   "a node has one output, which takes the same time whoever reads it");
    }
    if (!known) PT_CHECK_OK(times_.Add(move_ns, where));
    known = move_ns;
    description_.operators[to].makers.push_back(from);
    return {};
  }

  const Limits& limits_;
  Description description_;
  std::set<std::pair<size_t, size_t>> edges_;
  Total times_{kMostNs, "the times"}, bytes_{kMostBytes, "the sizes"};
};

// One node an operator; its place in the file stands in Node::source. An operator's output has as many bytes as moving
// it takes nanoseconds, over links of one byte a nanosecond. What nobody reads is no value.
Result<Graph> MakeGraph(const Description& description) {
  GraphBuilder builder;
  std::vector<ValueId> outputs(description.operators.size());
  std::set<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operator& op = description.operators[i];
    if (!op.move_ns) continue;
    // Files may repeat names, a graph may not.
    const bool fresh = names.insert(op.name).second;
    outputs[i] = builder.AddValue(fresh ? op.name : "", StaticType(DataType::kUint8, {*op.move_ns}));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operator& op = description.operators[i];
    Node node;
    node.op = op.is_backward ? "Gradient" : "Operator";
    node.domain = "partitiontuner.workload";
    node.name = op.name;
    for (size_t maker : op.makers) node.inputs.push_back(outputs[maker]);
    if (outputs[i].valid()) node.outputs.push_back(outputs[i]);
    node.source.push_back({"", static_cast<uint32_t>(i), op.name});
    builder.AddNode(std::move(node));
  }
  return builder.Build();
}

class PlatformMaker {
 public:
  Platform Make(const Description& description) {
    platform_.devices.push_back({"cpu", "cpu", 0, false, "workload"});
    const UnitClassId core = AddClass("cpu/1", kHostDevice, 1);
    for (int64_t c = 0; c < description.cores; ++c) {
      const std::string number = std::to_string(c);
      const ResourceId resource = AddResource("core " + number, cores_++);
      platform_.units.push_back({"cpu[" + number + "]", core, {{resource, 1.0}}, std::nullopt, std::nullopt});
    }
    for (int64_t a = 0; a < description.accelerators; ++a) AddAccelerator("acc:" + std::to_string(a));
    return std::move(platform_);
  }

 private:
  void AddAccelerator(const std::string& name) {
    const DeviceId device(platform_.devices.size());
    platform_.devices.push_back({name, "accelerator", 0, true, "workload"});
    AddUnit(name + "#0", AddClass(name, device, 0), std::nullopt);
    for (const auto& [from, to] : {std::pair(kHostDevice, device), std::pair(device, kHostDevice)}) {
      const std::string way = platform_.device(from).name + ">" + platform_.device(to).name;
      platform_.links.push_back({from, to, 0, 1.0});
      AddUnit(way, AddClass(way, device, 0), LinkId(platform_.links.size() - 1));
    }
  }

  // With a core of its own that does nothing but launch, so that the cores of the workload are free for operators.
  void AddUnit(const std::string& name, UnitClassId unit_class, std::optional<LinkId> link) {
    const ResourceId driver = AddResource("launches of " + name, cores_++);
    const ResourceId itself = AddResource(name, std::nullopt);
    platform_.units.push_back({name, unit_class, {{itself, 1.0}}, driver, link});
  }

  UnitClassId AddClass(const std::string& name, DeviceId device, uint32_t cores) {
    platform_.unit_classes.push_back({name, device, cores});
    return UnitClassId(platform_.unit_classes.size() - 1);
  }

  ResourceId AddResource(const std::string& name, std::optional<uint32_t> core) {
    platform_.resources.push_back({name, 1.0, core});
    return ResourceId(platform_.resources.size() - 1);
  }

  Platform platform_;
  uint32_t cores_ = 0;
};

// Those that run operators: no copy engines.
std::vector<UnitClassId> ClassesThatCompute(const Platform& platform) {
  std::set<UnitClassId> found;
  for (const Unit& unit : platform.units) {
    if (!unit.link) found.insert(unit.unit_class);
  }
  return {found.begin(), found.end()};
}

void AddCandidates(const std::vector<Operator>& operators, Workload& workload) {
  const Form form = {RowMajor(1), DataType::kUint8};
  const std::vector<UnitClassId> classes = ClassesThatCompute(workload.platform);
  for (size_t n = 0; n < workload.graph.nodes().size(); ++n) {
    const Operator& op = operators[workload.graph.nodes()[n].source.front().index];
    Candidate candidate;
    candidate.nodes = {NodeId(n)};
    candidate.library = kLibrary;
    candidate.in.assign(GroupInputs(workload.graph, candidate.nodes).size(), form);
    candidate.out.assign(GroupOutputs(workload.graph, candidate.nodes).size(), form);
    for (const UnitClassId unit_class : classes) {
      const bool on_host = workload.platform.unit_class(unit_class).on_host();
      if (!on_host && !op.on_accelerator) continue;
      candidate.unit_class = unit_class;
      workload.costs.SetRun(candidate.nodes, unit_class, on_host ? op.cpu_ns : op.accelerator_ns);
      workload.candidates.push_back(candidate);
    }
  }
}

Constraints MakeConstraints(const Description& description, const Graph& graph, const Platform& platform) {
  Constraints constraints;
  std::map<int64_t, std::vector<NodeId>> classes;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Operator& op = description.operators[graph.nodes()[n].source.front().index];
    if (op.color) classes[*op.color].emplace_back(n);
    constraints.resident_bytes.push_back(static_cast<uint64_t>(op.bytes));
  }
  for (auto& [color, nodes] : classes) {
    if (nodes.size() > 1) constraints.together.push_back(std::move(nodes));
  }
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    if (IsHost(DeviceId(d))) continue;
    constraints.resident_caps.emplace(DeviceId(d), static_cast<uint64_t>(description.accelerator_bytes));
  }
  return constraints;
}

Result<Workload> MakeWorkload(const Json& json, const Limits& limits) {
  PT_ASSIGN(const Description description, Reader(limits).Read(json));
  Workload workload;
  PT_ASSIGN(workload.graph, MakeGraph(description));
  workload.platform = PlatformMaker().Make(description);
  for (size_t l = 0; l < workload.platform.links.size(); ++l) workload.costs.SetLink(LinkId(l), 0, 1.0);
  AddCandidates(description.operators, workload);
  workload.constraints = MakeConstraints(description, workload.graph, workload.platform);
  workload.is_training = std::ranges::any_of(description.operators, &Operator::is_backward);
  return workload;
}

}  // namespace

Result<Workload> WorkloadFromJson(const Json& json, std::string_view what, const Limits& limits) {
  Result<Workload> workload = MakeWorkload(json, limits);
  if (!workload.ok()) workload.error().file = what;
  return workload;
}

}  // namespace pt
