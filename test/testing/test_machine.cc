#include "test/testing/test_machine.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/version.h"

namespace pt::testing {
namespace {

void AddHostUnit(Platform& platform, const std::string& name, std::vector<uint32_t> cores) {
  const std::string class_name = "cpu/" + std::to_string(cores.size());
  UnitClassId unit_class = FindUnitClass(platform, class_name);
  if (!unit_class.valid()) {
    platform.unit_classes.push_back({class_name, DeviceId(0u), static_cast<uint32_t>(cores.size())});
    unit_class = UnitClassId(platform.unit_classes.size() - 1);
  }
  Unit unit;
  unit.name = name;
  unit.unit_class = unit_class;
  for (uint32_t core : cores) unit.uses.emplace_back(ResourceId(core), 1.0);
  platform.units.push_back(std::move(unit));
}

void AddAsynchronousUnit(Platform& platform, const std::string& name, const std::string& class_name, DeviceId device,
                         ResourceId driver, std::optional<LinkId> link) {
  platform.resources.push_back({name, 1.0, std::nullopt});
  UnitClassId unit_class = FindUnitClass(platform, class_name);
  if (!unit_class.valid()) {
    platform.unit_classes.push_back({class_name, device, 0});
    unit_class = UnitClassId(platform.unit_classes.size() - 1);
  }
  Unit unit;
  unit.name = name;
  unit.unit_class = unit_class;
  unit.uses = {{ResourceId(platform.resources.size() - 1), 1.0}};
  unit.driver = driver;
  unit.link = link;
  platform.units.push_back(std::move(unit));
}

// Builds the steps of a plan node by node.
class PlanMaker {
 public:
  PlanMaker(const Graph& graph, const Machine& machine, const LentOn& lent_on)
      : graph_(graph), platform_(machine.platform()), machine_(machine) {
    plan_.planner = "test";
    plan_.made_for.tool_version = kVersion;
    plan_.made_for.libraries = LibraryVersions(machine.libraries());
    plan_.made_for.graph_hash = ToHex(GraphHash(graph));
    plan_.made_for.platform = machine.platform();
    plan_.lent_on = lent_on;
    Precision precision;
    for (const Device& device : platform_.devices) precision = precision.with(MathOf(device));
    if (precision != Precision()) plan_.made_for.settings["precision"] = ToString(precision);
  }

  void AddNode(NodeId node, UnitId unit) {
    std::optional<Candidate> found = CandidateFor(node, platform_.unit(unit).unit_class);
    assert(found.has_value());
    const DeviceId device = platform_.device_of(unit);
    Step step;
    step.unit = unit;
    RunGroup group;
    const std::vector<ValueId> in = GroupInputs(graph_, found->nodes);
    const std::vector<ValueId> out = GroupOutputs(graph_, found->nodes);
    for (size_t i = 0; i < in.size(); ++i) {
      group.in.push_back(Available({in[i], device, found->in[i]}));
      After(group.in.back(), step);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      group.out.push_back(Find({out[i], device, found->out[i]}));
      made_by_[group.out.back()] = StepId(plan_.steps.size());
    }
    group.candidate = PlanCandidateId(plan_.candidates.size());
    plan_.candidates.push_back(std::move(*found));
    step.work = std::move(group);
    plan_.steps.push_back(std::move(step));
  }

  Plan Finish() {
    for (ValueId output : graph_.outputs()) {
      if (graph_.value(output).producer.valid()) Available(LentInstance(output));
    }
    const Status status = PlanMemory(graph_, platform_, plan_);
    assert(status.ok());
    static_cast<void>(status);
    return std::move(plan_);
  }

 private:
  // In the one mode that the device has.
  std::optional<Candidate> CandidateFor(NodeId node, UnitClassId unit_class) const {
    const Precision precision({MathOf(platform_.device(platform_.unit_class(unit_class).device))});
    for (const std::unique_ptr<Library>& library : machine_.libraries()) {
      for (Candidate& candidate : library->CandidatesFor(graph_, platform_, std::span(&node, 1), precision)) {
        if (candidate.unit_class == unit_class) return std::move(candidate);
      }
    }
    return std::nullopt;
  }

  InstanceId Find(const Instance& instance) {
    const auto [found, added] = instances_.emplace(instance, InstanceId(plan_.instances.size()));
    if (added) plan_.instances.push_back(instance);
    return found->second;
  }

  void After(InstanceId instance, Step& step) {
    const auto made = made_by_.find(instance);
    if (made == made_by_.end()) return;
    if (std::find(step.after.begin(), step.after.end(), made->second) == step.after.end()) {
      step.after.push_back(made->second);
      std::sort(step.after.begin(), step.after.end());
    }
  }

  Instance LentInstance(ValueId value) const {
    return {value, LentDevice(plan_.lent_on, value), RowMajorForm(graph_.value(value).type)};
  }

  // The instance, copied from where the value is if it is not there yet; by way of the host where no link leads there.
  InstanceId Available(const Instance& wanted) {
    const InstanceId id = Find(wanted);
    const bool input = !graph_.value(wanted.value).producer.valid();
    if (made_by_.contains(id) || (input && wanted == LentInstance(wanted.value))) return id;
    if (input) Find(LentInstance(wanted.value));
    Instance source = wanted;
    source.device = kHostDevice;
    for (const auto& [instance, there] : instances_) {
      const bool given = input && instance == LentInstance(instance.value);
      const bool made = instance.value == wanted.value && instance.device != wanted.device;
      if (!made || (!given && !made_by_.contains(there))) continue;
      if (FindLink(platform_, instance.device, wanted.device).valid()) source = instance;
    }
    const InstanceId from = Available(source);
    Step step;
    const LinkId link = FindLink(platform_, source.device, wanted.device);
    step.unit = FindCopyUnit(platform_, link);
    step.work = Copy{from, id, link};
    After(from, step);
    made_by_[id] = StepId(plan_.steps.size());
    plan_.steps.push_back(std::move(step));
    return id;
  }

  const Graph& graph_;
  const Platform& platform_;
  const Machine& machine_;
  Plan plan_;
  std::map<Instance, InstanceId> instances_;
  std::map<InstanceId, StepId> made_by_;
};

}  // namespace

Platform MakeTestPlatform(uint32_t cores, bool device) {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "test"});
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < cores; ++i) {
    platform.resources.push_back({"core " + std::to_string(i), 1.0, i});
    all.push_back(i);
  }
  for (uint32_t i : all) AddHostUnit(platform, "cpu[" + std::to_string(i) + "]", {i});
  for (uint32_t i = 0; cores >= 4 && i + 1 < cores; ++i) {
    AddHostUnit(platform, "cpu[" + std::to_string(i) + "-" + std::to_string(i + 1) + "]", {i, i + 1});
  }
  if (cores > 1) AddHostUnit(platform, "cpu[0-" + std::to_string(cores - 1) + "]", all);
  if (device) {
    const DeviceId id(1u);
    const ResourceId driver(cores - 1);
    platform.devices.push_back({"fake:0", "fake", 0, false, "test"});
    platform.links.push_back({DeviceId(0u), id, 0, 0});
    platform.links.push_back({id, DeviceId(0u), 0, 0});
    AddAsynchronousUnit(platform, "fake:0#0", "fake:0", id, driver, std::nullopt);
    AddAsynchronousUnit(platform, "fake:0#1", "fake:0", id, driver, std::nullopt);
    AddAsynchronousUnit(platform, "cpu>fake:0", "cpu>fake:0", id, driver, LinkId(0u));
    AddAsynchronousUnit(platform, "fake:0>cpu", "fake:0>cpu", id, driver, LinkId(1u));
  }
  return platform;
}

void AddSecondDevice(Platform& platform, bool linked) {
  const DeviceId first(1u), id(2u);
  const ResourceId driver = *platform.unit(FindUnit(platform, "fake:0#0")).driver;
  platform.devices.push_back({"fake:1", "fake", 0, false, "test"});
  AddAsynchronousUnit(platform, "fake:1#0", "fake:1", id, driver, std::nullopt);
  const auto link = [&](DeviceId from, DeviceId to) {
    const std::string name = platform.device(from).name + ">" + platform.device(to).name;
    platform.links.push_back({from, to, 0, 0});
    AddAsynchronousUnit(platform, name, name, id, driver, LinkId(platform.links.size() - 1));
  };
  link(DeviceId(0u), id);
  link(id, DeviceId(0u));
  if (!linked) return;
  link(first, id);
  link(id, first);
}

std::unique_ptr<Machine> MakeSimulatedMachine(Platform platform, FakeControl& control,
                                              const SimulatedOptions& options) {
  for (size_t i = 1; i < platform.devices.size(); ++i) platform.devices[i].captures = true;
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(DeviceId(0u)));
  for (size_t i = 1; i < platform.devices.size(); ++i) {
    drivers.push_back(MakeSimulatedDriver(platform, DeviceId(i), options));
  }
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeFakeLibrary(control));
  return Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
}

std::unique_ptr<Machine> MakeFakeMachine(Platform platform, FakeControl& control, FakeDeviceControl& device) {
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(DeviceId(0u)));
  if (platform.devices.size() > 1) drivers.push_back(MakeFakeDriver(DeviceId(1u), device));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeFakeLibrary(control));
  return Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
}

Plan MakeTestPlan(const Graph& graph, const Machine& machine, const std::vector<UnitId>& unit_of_node,
                  const LentOn& lent_on) {
  PlanMaker maker(graph, machine, lent_on);
  for (size_t i = 0; i < graph.nodes().size(); ++i) maker.AddNode(NodeId(i), unit_of_node[i]);
  return maker.Finish();
}

std::vector<UnitId> RandomUnits(const Graph& graph, const Platform& platform, std::mt19937& random) {
  std::vector<UnitId> usable;
  for (size_t i = 0; i < platform.units.size(); ++i) {
    if (!platform.units[i].link) usable.push_back(UnitId(i));
  }
  std::vector<UnitId> units;
  for (size_t i = 0; i < graph.nodes().size(); ++i) units.push_back(usable[random() % usable.size()]);
  return units;
}

std::shared_ptr<const Graph> MakeRandomGraph(std::mt19937& random, size_t nodes, int64_t count) {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {count});
  std::vector<ValueId> values = {builder.AddInput("x", type), builder.AddInput("y", type)};
  for (size_t i = 0; i < nodes; ++i) {
    std::vector<ValueId> in;
    const size_t inputs = 1 + random() % 3;
    for (size_t k = 0; k < inputs; ++k) {
      // Mostly recent values, so that there are chains as well as branches.
      const size_t back = random() % 4 == 0 ? random() % values.size() : random() % std::min<size_t>(values.size(), 5);
      const ValueId value = values[values.size() - 1 - back];
      if (std::find(in.begin(), in.end(), value) == in.end()) in.push_back(value);
    }
    values.push_back(builder.AddOp("Mix", in, type, {}, "v" + std::to_string(i)));
    if (random() % 8 == 0) builder.AddOutput(values.back());
  }
  builder.AddOutput(values.back());
  return std::make_shared<const Graph>(builder.Build(false).value());
}

std::vector<Buffer> MakeBuffers(const Graph& graph, std::span<const ValueId> values, float start) {
  std::vector<Buffer> buffers;
  for (ValueId value : values) {
    Buffer buffer;
    buffer.dims = graph.value(value).type.static_dims().value();
    int64_t count = 1;
    for (int64_t dim : buffer.dims) count *= dim;
    for (int64_t i = 0; i < count; ++i) buffer.data.push_back(start + static_cast<float>(i % 17) * 0.25f);
    start += 1;
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

std::vector<LentTensor> Lend(std::vector<Buffer>& buffers) {
  std::vector<LentTensor> tensors;
  for (Buffer& buffer : buffers) {
    tensors.push_back({DataType::kFloat32, buffer.dims, buffer.data.data(), buffer.data.size() * sizeof(float)});
  }
  return tensors;
}

std::vector<std::vector<float>> Interpret(const Graph& graph, const std::vector<Buffer>& inputs) {
  std::map<ValueId, std::vector<float>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i].data;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const NodeId node(i);
    std::vector<const float*> in;
    for (ValueId value : GroupInputs(graph, std::span(&node, 1))) in.push_back(values.at(value).data());
    std::vector<float> out(inputs[0].data.size());
    FakeCompute(graph, node, in, out.data(), static_cast<int64_t>(out.size()));
    values[graph.node(node).outputs[0]] = std::move(out);
  }
  std::vector<std::vector<float>> outputs;
  for (ValueId value : graph.outputs()) outputs.push_back(values.at(value));
  return outputs;
}

}  // namespace pt::testing
