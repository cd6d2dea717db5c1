#include "lib/planner/schedule/mend_devices.h"

#include <algorithm>
#include <optional>

#include "lib/planner/disjoint_sets.h"

namespace pt {
namespace {

// Choices that go to one device together.
struct Cluster {
  std::vector<uint32_t> choices;  // ascending
  uint64_t bytes = 0;
  std::vector<int64_t> ns;  // by device; kImpossible where some choice has no option there
};

// kNothing where the group has none there.
uint32_t CheapestOn(const Space& space, uint32_t group, DeviceId device) {
  uint32_t best = kNothing;
  for (uint32_t o : space.group(group).options) {
    if (space.option(o).device != device) continue;
    if (best == kNothing || space.option(o).likely_ns() < space.option(best).likely_ns()) best = o;
  }
  return best;
}

// Of choices, by their places.
DisjointSets SetsOf(const Space& space, const Solution& solution) {
  std::vector<uint32_t> choice_of(space.graph().nodes().size());
  for (uint32_t c = 0; c < solution.size(); ++c) {
    for (NodeId node : space.group_of(solution[c].option).nodes) choice_of[node.index()] = c;
  }
  DisjointSets sets(solution.size());
  for (const std::vector<NodeId>& nodes : space.problem().constraints.together) {
    for (NodeId node : nodes) sets.Join(choice_of[nodes.front().index()], choice_of[node.index()]);
  }
  return sets;
}

// In the order of their first choices.
std::vector<Cluster> MakeClusters(const Space& space, const DeviceRules& rules, const Solution& solution) {
  const size_t devices = space.platform().devices.size();
  DisjointSets sets = SetsOf(space, solution);
  std::vector<Cluster> clusters;
  std::vector<uint32_t> cluster_of(solution.size());
  for (uint32_t c = 0; c < solution.size(); ++c) {
    const uint32_t first = sets.Find(c);
    if (first == c) {
      cluster_of[c] = static_cast<uint32_t>(clusters.size());
      clusters.emplace_back().ns.assign(devices, 0);
    }
    cluster_of[c] = cluster_of[first];
    Cluster& cluster = clusters[cluster_of[c]];
    cluster.choices.push_back(c);
    const uint32_t group = space.option(solution[c].option).group;
    for (NodeId node : space.group(group).nodes) cluster.bytes += rules.resident_bytes(node);
    for (size_t d = 0; d < devices; ++d) {
      const uint32_t option = CheapestOn(space, group, DeviceId(d));
      cluster.ns[d] = AddNs(cluster.ns[d], option == kNothing ? kImpossible : space.option(option).likely_ns());
    }
  }
  return clusters;
}

// Where most of its time is spent, of the devices that can run all of it; without time, where most of it is.
DeviceId WantedBy(const Space& space, const Solution& solution, const Cluster& cluster) {
  std::vector<std::pair<int64_t, size_t>> spent(cluster.ns.size());
  for (uint32_t c : cluster.choices) {
    const Option& option = space.option(solution[c].option);
    spent[option.device.index()].first += option.likely_ns();
    ++spent[option.device.index()].second;
  }
  for (size_t d = 0; d < spent.size(); ++d) {
    if (cluster.ns[d] >= kImpossible) spent[d] = {-1, 0};
  }
  return DeviceId(static_cast<size_t>(std::ranges::max_element(spent) - spent.begin()));
}

// Gives out the room on devices, cluster by cluster.
class Allotter {
 public:
  explicit Allotter(std::vector<uint64_t> room) : room_(std::move(room)), went_(room_.size()) {}

  // Invalid where no device that can run it has room.
  DeviceId Place(const Cluster& cluster, DeviceId wanted) {
    const DeviceId device = Fits(cluster, wanted) ? wanted : Elsewhere(cluster, wanted);
    if (device.valid() && room_[device.index()] != DeviceRules::kEnough) room_[device.index()] -= cluster.bytes;
    return device;
  }

 private:
  bool Fits(const Cluster& cluster, DeviceId device) const {
    return cluster.ns[device.index()] < kImpossible && cluster.bytes <= room_[device.index()];
  }

  // The fastest; of equals where the last one went that found no room on the same device, else the one with most room.
  DeviceId Elsewhere(const Cluster& cluster, DeviceId wanted) {
    DeviceId& before = went_[wanted.index()];
    DeviceId best;
    const auto is_better = [&](DeviceId device) {
      if (!best.valid()) return true;
      const int64_t ns = cluster.ns[device.index()], best_ns = cluster.ns[best.index()];
      if (ns != best_ns) return ns < best_ns;
      if (best == before || device == before) return device == before;
      return room_[device.index()] > room_[best.index()];
    };
    for (size_t d = 0; d < room_.size(); ++d) {
      if (Fits(cluster, DeviceId(d)) && is_better(DeviceId(d))) best = DeviceId(d);
    }
    if (best.valid()) before = best;
    return best;
  }

  std::vector<uint64_t> room_;  // by device
  std::vector<DeviceId> went_;  // by device wanted
};

// Devices by cluster when room is given out in these turns; nothing where some cluster finds none.
std::optional<std::vector<DeviceId>> Allot(const std::vector<Cluster>& clusters, const std::vector<DeviceId>& wanted,
                                           const std::vector<uint32_t>& turns, std::vector<uint64_t> room) {
  Allotter allotter(std::move(room));
  std::vector<DeviceId> device_of(clusters.size());
  for (uint32_t c : turns) {
    device_of[c] = allotter.Place(clusters[c], wanted[c]);
    if (!device_of[c].valid()) return std::nullopt;
  }
  return device_of;
}

// Of the class, the unit with the least to do so far.
UnitId LeastBusy(const Space& space, UnitClassId unit_class, const std::vector<int64_t>& busy_ns) {
  return *std::ranges::min_element(space.units(unit_class), {}, [&](UnitId unit) { return busy_ns[unit.index()]; });
}

}  // namespace

Result<Solution> MendDevices(const Space& space, const DeviceRules& rules, const Solution& solution) {
  const std::vector<Cluster> clusters = MakeClusters(space, rules, solution);
  std::vector<DeviceId> wanted;
  wanted.reserve(clusters.size());
  for (const Cluster& cluster : clusters) wanted.push_back(WantedBy(space, solution, cluster));
  std::vector<uint64_t> room;
  for (size_t d = 0; d < space.platform().devices.size(); ++d) room.push_back(rules.cap(DeviceId(d)));
  // In the order of the solution neighbours stay together; where that leaves some without room, the largest go first.
  std::vector<uint32_t> turns(clusters.size());
  std::iota(turns.begin(), turns.end(), 0u);
  std::optional<std::vector<DeviceId>> device_of = Allot(clusters, wanted, turns, room);
  if (!device_of) {
    std::ranges::stable_sort(turns, std::greater(), [&](uint32_t c) { return clusters[c].bytes; });
    device_of = Allot(clusters, wanted, turns, std::move(room));
  }
  if (!device_of) {
    return MakeError(
        ErrorCode::kInfeasible, "planner.no_room",
        "no devices were found for all nodes that keep what they need there and share one where they must");
  }
  std::vector<DeviceId> device_of_choice(solution.size());
  for (size_t i = 0; i < clusters.size(); ++i) {
    for (uint32_t c : clusters[i].choices) device_of_choice[c] = (*device_of)[i];
  }
  Solution mended = solution;
  std::vector<int64_t> busy_ns(space.platform().units.size(), 0);
  for (uint32_t c = 0; c < mended.size(); ++c) {
    Choice& choice = mended[c];
    if (space.option(choice.option).device != device_of_choice[c]) {
      choice.option = CheapestOn(space, space.option(choice.option).group, device_of_choice[c]);
      choice.unit = LeastBusy(space, space.option(choice.option).unit_class, busy_ns);
    }
    busy_ns[choice.unit.index()] += space.option(choice.option).likely_ns();
  }
  return mended;
}

}  // namespace pt
