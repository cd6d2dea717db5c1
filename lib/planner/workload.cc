#include "partitiontuner/planner/workload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lib/planner/workload_file.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt {
namespace {

constexpr const char* kLibrary = "table";

// One node an operator; its place in the file stands in Node::source. An operator's output has as many bytes as moving
// it takes nanoseconds, over links of one byte a nanosecond. What is never read is not a value.
Result<Graph> MakeGraph(const WorkloadFile& file) {
  GraphBuilder builder;
  std::vector<ValueId> outputs(file.operators.size());
  std::set<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const WorkloadOperator& op = file.operators[i];
    if (!op.move_ns) continue;
    // Files may repeat names, a graph may not.
    const bool fresh = names.insert(op.name).second;
    outputs[i] = builder.AddValue(fresh ? op.name : "", StaticType(DataType::kUint8, {*op.move_ns}));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const WorkloadOperator& op = file.operators[i];
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
  Platform Make(const WorkloadFile& file) {
    platform_.devices.push_back({"cpu", "cpu", 0, false, "workload"});
    const UnitClassId core = AddClass("cpu/1", kHostDevice, 1);
    for (int64_t c = 0; c < file.cores; ++c) {
      const std::string number = std::to_string(c);
      const ResourceId resource = AddResource("core " + number, cores_++);
      platform_.units.push_back({"cpu[" + number + "]", core, {{resource, 1.0}}, std::nullopt, std::nullopt});
    }
    for (int64_t a = 0; a < file.accelerators; ++a) AddAccelerator("acc:" + std::to_string(a));
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

void AddCandidates(const std::vector<WorkloadOperator>& operators, Workload& workload) {
  const Form form = {RowMajor(1), DataType::kUint8};
  const std::vector<UnitClassId> classes = ClassesThatCompute(workload.platform);
  for (size_t n = 0; n < workload.graph.nodes().size(); ++n) {
    const WorkloadOperator& op = operators[workload.graph.nodes()[n].source.front().index];
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

Constraints MakeConstraints(const WorkloadFile& file, const Graph& graph, const Platform& platform) {
  Constraints constraints;
  std::map<int64_t, std::vector<NodeId>> classes;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const WorkloadOperator& op = file.operators[graph.nodes()[n].source.front().index];
    if (op.color) classes[*op.color].emplace_back(n);
    constraints.resident_bytes.push_back(static_cast<uint64_t>(op.bytes));
  }
  for (auto& [color, nodes] : classes) {
    if (nodes.size() > 1) constraints.together.push_back(std::move(nodes));
  }
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    if (IsHost(DeviceId(d))) continue;
    constraints.resident_caps.emplace(DeviceId(d), static_cast<uint64_t>(file.accelerator_bytes));
  }
  return constraints;
}

Result<Workload> MakeWorkload(const Json& json, const Limits& limits) {
  PT_ASSIGN(const WorkloadFile file, ReadWorkloadFile(json, limits));
  Workload workload;
  PT_ASSIGN(workload.graph, MakeGraph(file));
  workload.platform = PlatformMaker().Make(file);
  for (size_t l = 0; l < workload.platform.links.size(); ++l) workload.costs.SetLink(LinkId(l), 0, 1.0);
  AddCandidates(file.operators, workload);
  workload.constraints = MakeConstraints(file, workload.graph, workload.platform);
  workload.is_training = std::ranges::any_of(file.operators, &WorkloadOperator::is_backward);
  return workload;
}

}  // namespace

Result<Workload> WorkloadFromJson(const Json& json, std::string_view what, const Limits& limits) {
  Result<Workload> workload = MakeWorkload(json, limits);
  if (!workload.ok()) workload.error().file = what;
  return workload;
}

}  // namespace pt
