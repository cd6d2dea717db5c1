// duet: Zhang, Hu and Li, "DUET: a compiler-runtime subgraph scheduling approach for tensor programs on a coupled
// CPU-GPU architecture" (2021). The graph is a sequence of phases: single paths, and sections of several paths between
// two points that everything passes. Sub-graphs are paths; a device means its widest units. A single path goes to its
// faster device; of several the critical one goes to its faster device, the others, longest first, where they end
// first. Then the placement is corrected while the whole gets faster: a sub-graph changes its device, or two of one
// phase change devices with each other.
#include <algorithm>
#include <map>
#include <utility>

#include "lib/planner/methods/dispatch.h"
#include "lib/planner/proofs/series_cuts.h"
#include "lib/planner/search/serial_dp.h"

namespace pt {
namespace {

// The correction schedules at most this many choices.
constexpr size_t kMostChoices = 1'000'000;

class Duet {
 public:
  Duet(const Space& space, const Solution& cover)
      : space_(space), graph_(space, cover), scheduler_(space), paths_(PathsOf(graph_)), device_(paths_.size()) {
    for (size_t d = 0; d < space.platform().devices.size(); ++d) {
      const UnitClassId unit_class = space.widest_class(DeviceId(d));
      if (unit_class.valid() && !space.units(unit_class).empty()) classes_.push_back(unit_class);
    }
    const Segments segments = FindSegments(space, std::vector<bool>(space.graph().nodes().size(), false));
    for (uint32_t p = 0; p < paths_.size(); ++p) {
      const NodeId first = space.group(graph_.groups[paths_[p].front()]).nodes.front();
      phases_[segments.of_node[first.index()]].push_back(p);
    }
  }

  Solution Run() {
    for (auto& [phase, paths] : phases_) PlaceAtFirst(paths);
    Correct();
    return Chosen();
  }

 private:
  // Everything of a path on the class; groups that it cannot run take their cheapest option.
  int64_t NsOn(uint32_t path, size_t device) const {
    int64_t ns = 0;
    for (uint32_t c : paths_[path]) ns = AddNs(ns, space_.option(OptionOn(graph_.groups[c], device)).likely_ns());
    return ns;
  }

  uint32_t OptionOn(uint32_t group, size_t device) const {
    const std::vector<uint32_t>& options = space_.group(group).options;  // cheapest first
    const auto on = std::find_if(options.begin(), options.end(),
                                 [&](uint32_t o) { return space_.option(o).unit_class == classes_[device]; });
    return on != options.end() ? *on : options.front();
  }

  size_t Fastest(uint32_t path) const {
    size_t best = 0;
    for (size_t d = 1; d < classes_.size(); ++d) {
      if (NsOn(path, d) < NsOn(path, best)) best = d;
    }
    return best;
  }

  // The longest at its fastest is the critical one: it comes first, when every device is free.
  void PlaceAtFirst(std::vector<uint32_t>& paths) {
    std::stable_sort(paths.begin(), paths.end(),
                     [&](uint32_t a, uint32_t b) { return NsOn(a, Fastest(a)) > NsOn(b, Fastest(b)); });
    std::vector<int64_t> free(classes_.size(), 0);
    for (uint32_t path : paths) {
      size_t best = 0;
      for (size_t d = 1; d < classes_.size(); ++d) {
        if (free[d] + NsOn(path, d) < free[best] + NsOn(path, best)) best = d;
      }
      device_[path] = best;
      free[best] += NsOn(path, best);
    }
  }

  void Correct() {
    int64_t best = scheduler_.Run(Chosen());
    size_t left = kMostChoices / std::max<size_t>(1, graph_.size());
    const auto stays = [&] {
      if (left != 0 && space_.deadline().IsOver()) left = 0;
      if (left == 0) return false;
      --left;
      const int64_t ns = scheduler_.Run(Chosen());
      if (ns >= best) return false;
      best = ns;
      return true;
    };
    for (bool gained = true; gained;) {
      gained = false;
      for (const auto& [phase, paths] : phases_) {
        for (size_t i = 0; i < paths.size(); ++i) {
          size_t& device = device_[paths[i]];
          for (size_t d = 0; d < classes_.size(); ++d) {
            const size_t before = std::exchange(device, d);
            if (before == d) continue;
            if (stays()) {
              gained = true;
            } else {
              device = before;
            }
          }
          for (size_t j = i + 1; j < paths.size(); ++j) {
            if (device_[paths[j]] == device) continue;
            std::swap(device, device_[paths[j]]);
            if (stays()) {
              gained = true;
            } else {
              std::swap(device, device_[paths[j]]);
            }
          }
        }
      }
    }
  }

  // Phase by phase; in each what queues run first, since they are launched by one of the cores that run the rest.
  Solution Chosen() const {
    Solution solution;
    std::vector<int64_t> keys;
    for (const auto& [phase, paths] : phases_) {
      for (uint32_t path : paths) {
        for (uint32_t c : paths_[path]) {
          const uint32_t option = OptionOn(graph_.groups[c], device_[path]);
          const UnitClassId unit_class = space_.option(option).unit_class;
          solution.push_back({option, space_.units(unit_class).front()});
          keys.push_back(2 * int64_t{phase} + (space_.platform().unit_class(unit_class).on_host() ? 1 : 0));
        }
      }
    }
    SortLegally(space_, solution, keys);
    return solution;
  }

  const Space& space_;
  const CoverGraph graph_;
  Scheduler scheduler_;
  std::vector<UnitClassId> classes_;  // the widest of each device
  const std::vector<DispatchRun> paths_;
  std::vector<size_t> device_;                        // by path: index into classes_
  std::map<uint32_t, std::vector<uint32_t>> phases_;  // paths, in the order of the phases
};

}  // namespace

Result<Solved> SolveDuet(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  return Solved{Duet(space, cover).Run()};
}

}  // namespace pt
