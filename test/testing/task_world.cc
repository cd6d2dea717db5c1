#include "test/testing/task_world.h"

namespace pt::testing {

World TaskWorld(const std::vector<std::vector<int64_t>>& times, const std::vector<TaskEdge>& edges) {
  const auto processors = static_cast<uint32_t>(times.front().size());
  GraphBuilder builder;
  std::vector<Node> nodes(times.size());
  for (const TaskEdge& edge : edges) {
    // As many bytes as the edge costs; every edge is a value of its own.
    const ValueId value = builder.AddValue("e" + std::to_string(edge.from) + "_" + std::to_string(edge.to),
                                           StaticType(DataType::kUint8, {edge.cost}));
    nodes[edge.from - 1].outputs.push_back(value);
    nodes[edge.to - 1].inputs.push_back(value);
  }
  const ValueId result = builder.AddValue("result", StaticType(DataType::kUint8, {0}));
  nodes.back().outputs.push_back(result);
  for (Node& node : nodes) {
    node.op = "Task";
    builder.AddNode(std::move(node));
  }
  builder.AddOutput(result);

  World world;
  world.graph = builder.Build().value();
  for (uint32_t p = 0; p < processors; ++p) {
    const std::string name = "P" + std::to_string(p + 1);
    world.platform.devices.push_back({name, "made-up", 0, true, ""});
    world.platform.unit_classes.push_back({name, DeviceId(p), 0});
    world.platform.resources.push_back({name, 1.0, std::nullopt});
    world.platform.units.push_back({name, UnitClassId(p), {{ResourceId(p), 1.0}}, std::nullopt, std::nullopt});
  }
  for (uint32_t from = 0; from < processors; ++from) {
    for (uint32_t to = 0; to < processors; ++to) {
      if (from == to) continue;
      const LinkId link(world.platform.links.size());
      world.platform.links.push_back({DeviceId(from), DeviceId(to), 0, 0});
      world.platform.unit_classes.push_back({"link " + std::to_string(link.value), DeviceId(to), 0});
      world.costs.SetLink(link, 0, 1.0);
      for (size_t e = 0; e < edges.size(); ++e) {
        world.platform.units.push_back({"link " + std::to_string(link.value) + " engine " + std::to_string(e),
                                        UnitClassId(world.platform.unit_classes.size() - 1),
                                        {},
                                        std::nullopt,
                                        link});
      }
    }
  }
  for (uint32_t n = 0; n < times.size(); ++n) {
    for (uint32_t p = 0; p < processors; ++p) {
      Candidate candidate;
      candidate.nodes = {NodeId(n)};
      candidate.unit_class = UnitClassId(p);
      candidate.library = "table";
      const Form form = {RowMajor(1), DataType::kUint8};
      candidate.in.assign(GroupInputs(world.graph, candidate.nodes).size(), form);
      candidate.out.assign(GroupOutputs(world.graph, candidate.nodes).size(), form);
      world.costs.SetRun(candidate.nodes, candidate.unit_class, times[n][p]);
      world.candidates.push_back(std::move(candidate));
    }
  }
  return world;
}

std::string TaskTimes(const World& world, const Plan& plan) {
  std::vector<std::string> tasks(world.graph.nodes().size());
  for (const Step& step : plan.steps) {
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    for (NodeId node : plan.candidates[group->candidate.index()].nodes) {
      tasks[node.index()] = world.platform.unit(step.unit).name + "@" + std::to_string(step.expected_start_ns);
    }
  }
  std::string text;
  for (const std::string& task : tasks) text += (text.empty() ? "" : " ") + task;
  return text;
}

}  // namespace pt::testing
