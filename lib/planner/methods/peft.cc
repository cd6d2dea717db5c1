// peft: Arabnejad and Barbosa, "List scheduling algorithm for heterogeneous systems by an optimistic cost table"
// (2014). The table says for every group and unit class how long at least what follows takes, whoever runs it, if no
// unit is ever busy. Ready groups are taken by the mean of their rows, each goes where its end and the table's word
// together are least.
#include "lib/planner/methods/heft.h"
#include "lib/planner/schedule/cover_graph.h"
#include "lib/planner/search/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

class OptimisticCosts {
 public:
  OptimisticCosts(const Space& space, const CoverGraph& graph)
      : space_(space), classes_(space.platform().unit_classes.size()), ns_(graph.size() * classes_, 0) {
    for (uint32_t c = static_cast<uint32_t>(graph.size()); c-- > 0;) {
      for (const auto& [reader, value] : graph.readers[c]) {
        const double move_ns = MeanMove(space, value);
        for (size_t here = 0; here < classes_; ++here) {
          double least = static_cast<double>(kImpossible);
          for (size_t there = 0; there < classes_; ++there) {
            const int64_t run_ns = LeastOn(graph.groups[reader], UnitClassId(there));
            if (run_ns >= kImpossible) continue;
            const double way_ns = DeviceOf(here) != DeviceOf(there) ? move_ns : 0;
            least = std::min(least, at(reader, there) + static_cast<double>(run_ns) + way_ns);
          }
          at(c, here) = std::max(at(c, here), least);
        }
      }
    }
  }

  double& at(uint32_t position, size_t unit_class) { return ns_[position * classes_ + unit_class]; }

  // The mean over the units that can run the group.
  double Rank(uint32_t position, uint32_t group) {
    double sum = 0, units = 0;
    for (size_t c = 0; c < classes_; ++c) {
      if (LeastOn(group, UnitClassId(c)) >= kImpossible) continue;
      const auto count = static_cast<double>(space_.units(UnitClassId(c)).size());
      sum += count * at(position, c);
      units += count;
    }
    return units > 0 ? sum / units : 0;
  }

 private:
  DeviceId DeviceOf(size_t unit_class) const { return space_.platform().unit_classes[unit_class].device; }
  int64_t LeastOn(uint32_t group, UnitClassId unit_class) const {
    int64_t least = kImpossible;
    for (uint32_t o : space_.group(group).options) {
      const Option& option = space_.option(o);
      if (option.unit_class == unit_class) least = std::min(least, option.likely_ns());
    }
    return least;
  }

  const Space& space_;
  size_t classes_;
  std::vector<double> ns_;  // by position in the cover * classes + class
};

}  // namespace

Result<Solved> SolvePeft(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  const CoverGraph graph(space, cover);
  OptimisticCosts costs(space, graph);
  std::vector<uint32_t> position(space.groups().size(), kNothing);
  HeftRules rules;
  for (uint32_t c = 0; c < graph.size(); ++c) {
    position[graph.groups[c]] = c;
    rules.rank.push_back(costs.Rank(c, graph.groups[c]));
  }
  rules.price_ns = [&](const Option& option) {
    return static_cast<int64_t>(costs.at(position[option.group], option.unit_class.index()));
  };
  return Solved{ScheduleByHeft(space, cover, rules)};
}

}  // namespace pt
