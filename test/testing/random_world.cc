#include "test/testing/random_world.h"

#include "partitiontuner/support/random.h"

namespace pt::testing {

World RandomWorld(uint64_t seed, size_t nodes, MachineKind machine) {
  WorldOptions options;
  options.accelerator = machine != MachineKind::kHost && machine != MachineKind::kContention;
  options.contention = machine == MachineKind::kContention;
  options.cores = machine == MachineKind::kFourCores ? 4 : 2;
  options.blocked = seed % 3 == 0;
  World world = MakeWorld(RandomGraph(seed, nodes), options, seed);
  if (machine != MachineKind::kTwoStreams && machine != MachineKind::kSharedQueue) return world;
  Platform& platform = world.platform;
  Unit stream = platform.unit(FindUnit(platform, "acc:0#0"));
  stream.name = "acc:0#1";
  if (machine == MachineKind::kTwoStreams) {
    platform.resources.push_back({"acc:0#1", 1.0, std::nullopt});
    stream.uses = {{ResourceId(platform.resources.size() - 1), 1.0}};
  } else {
    for (Unit& unit : platform.units) {
      if (unit.name == "acc:0#0") unit.uses.front().second = 0.5;
    }
    stream.uses.front().second = 0.5;
  }
  platform.units.push_back(stream);
  return world;
}

World RepeatedBlocks(size_t blocks, const WorldOptions& options) {
  constexpr size_t kBlock = 15;
  World world = MakeWorld(Inception(blocks), options);
  for (const Candidate& candidate : world.candidates) {
    uint64_t hash = candidate.unit_class.index();
    for (NodeId node : candidate.nodes) hash = SplitMix(hash + node.index() % kBlock);
    for (char c : candidate.variant) hash = SplitMix(hash + static_cast<uint64_t>(c));
    for (const Form& form : candidate.in) hash = SplitMix(hash + (form == candidate.in.front()));
    world.costs.SetRunOf(candidate, 1000 + static_cast<int64_t>(hash % 30'000));
  }
  return world;
}

}  // namespace pt::testing
