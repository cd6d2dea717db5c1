#include "test/testing/timed_world.h"

#include "partitiontuner/graph/graph_text.h"

namespace pt::testing {

void LeaveCopiesOnly(World& world, int64_t copy_ns) {
  for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) {
    world.costs.SetOverhead(UnitClassId(c), 0);
    for (size_t d = 0; d < world.platform.unit_classes.size(); ++d) {
      world.costs.SetWait(UnitClassId(c), UnitClassId(d), 0);
      world.costs.SetFetch(UnitClassId(c), UnitClassId(d), 0);
    }
  }
  for (size_t l = 0; l < world.platform.links.size(); ++l) world.costs.SetLink(LinkId(l), copy_ns, 0);
}

World TimedWorld(const std::string& graph, const std::vector<TimedGroup>& groups, int64_t copy_ns) {
  World world{ParseGraph(graph).value(), TwoCores(), {}, {}};
  LeaveCopiesOnly(world, copy_ns);
  const auto class_of = [&](const char* unit) {
    return world.platform.unit(FindUnit(world.platform, unit)).unit_class;
  };
  for (const TimedGroup& group : groups) {
    std::vector<NodeId> nodes;
    for (uint32_t n : group.nodes) nodes.push_back(NodeId(n));
    const auto add = [&](UnitClassId unit_class, int64_t ns) {
      if (ns == 0) return;
      Candidate candidate = RowMajorCandidate(world.graph, nodes, "made-up");
      candidate.unit_class = unit_class;
      world.costs.SetRunOf(candidate, ns);
      world.candidates.push_back(std::move(candidate));
    };
    add(class_of("cpu[0-1]"), group.host_ns);
    add(class_of("acc:0#0"), group.accelerator_ns);
  }
  return world;
}

}  // namespace pt::testing
