// random:SEED: any legal plan: cover, forms, units and order by chance. For tests of everything behind planners: it
// uses every unit class and form that candidates offer.
#include <algorithm>
#include <charconv>
#include <numeric>

#include "lib/planner/solve.h"

namespace pt {
namespace {

// Groups in random order, each taken when its nodes are free. `allow_fused` false: single nodes where there are any.
Result<std::vector<uint32_t>> RandomCover(const Space& space, Random& random, const std::vector<bool>& allow_fused) {
  std::vector<uint32_t> groups;
  for (uint32_t g = 0; g < space.groups().size(); ++g) {
    if (!space.group(g).options.empty()) groups.push_back(g);
  }
  for (size_t i = groups.size(); i > 1; --i) std::swap(groups[i - 1], groups[random.Below(i)]);
  // Groups without which a node could not be covered come first, single nodes last.
  std::stable_sort(groups.begin(), groups.end(), [&](uint32_t a, uint32_t b) {
    const auto rank = [&](uint32_t g) {
      const std::vector<NodeId>& nodes = space.group(g).nodes;
      if (nodes.size() == 1) return 2;
      const bool needed =
          std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return space.single_group(n) == kNothing; });
      return needed ? 0 : 1;
    };
    return rank(a) < rank(b);
  });
  std::vector<bool> covered(space.graph().nodes().size(), false);
  std::vector<uint32_t> cover;
  for (uint32_t g : groups) {
    const std::vector<NodeId>& nodes = space.group(g).nodes;
    if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return covered[n.index()]; })) continue;
    if (nodes.size() > 1) {
      const bool needed =
          std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return space.single_group(n) == kNothing; });
      const bool wanted = std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return allow_fused[n.index()]; });
      if (!needed && (!wanted || random.Below(2) == 0)) continue;
    }
    for (NodeId n : nodes) covered[n.index()] = true;
    cover.push_back(g);
  }
  for (size_t n = 0; n < covered.size(); ++n) {
    if (!covered[n]) {
      return MakeError(
          ErrorCode::kInfeasible, "planner.no_cover",
          "no exact cover found: " + NodeLabel(space.graph(), NodeId(n)) + " runs only in groups that overlap");
    }
  }
  return cover;
}

Choice RandomChoice(const Space& space, uint32_t group, Random& random) {
  // The class first, so that classes with few forms are chosen as often as those with many.
  const std::vector<uint32_t>& options = space.group(group).options;
  const UnitClassId unit_class = space.option(options[random.Below(options.size())]).unit_class;
  std::vector<UnitClassId> classes;
  for (uint32_t o : options) {
    if (std::find(classes.begin(), classes.end(), space.option(o).unit_class) == classes.end())
      classes.push_back(space.option(o).unit_class);
  }
  const UnitClassId chosen = random.Below(4) == 0 ? unit_class : classes[random.Below(classes.size())];
  std::vector<uint32_t> of_class;
  for (uint32_t o : options) {
    if (space.option(o).unit_class == chosen) of_class.push_back(o);
  }
  const std::span<const UnitId> units = space.units(chosen);
  return {of_class[random.Below(of_class.size())], units[random.Below(units.size())]};
}

}  // namespace

Result<Solved> SolveRandom(const Space& space, std::string_view argument) {
  uint64_t seed = space.problem().seed;
  const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), seed);
  if (!argument.empty() && (error != std::errc() || end != argument.data() + argument.size())) {
    return MakeError(ErrorCode::kUsage, "planner.seed",
                     "random:SEED takes a number, not '" + std::string(argument) + "'");
  }
  Random random(seed);
  Scheduler scheduler(space);
  std::vector<bool> allow_fused(space.graph().nodes().size(), true);
  // A cover whose groups depend on each other in a cycle, or forms that cannot be reached, cost a retry; the last
  // ones are plain.
  for (int attempt = 0; attempt < 32; ++attempt) {
    if (attempt == 28) allow_fused.assign(allow_fused.size(), false);
    PT_ASSIGN(const std::vector<uint32_t> cover, RandomCover(space, random, allow_fused));
    Solved solved;
    std::vector<int64_t> keys;
    for (uint32_t group : cover) {
      solved.order.push_back(RandomChoice(space, group, random));
      keys.push_back(static_cast<int64_t>(random.Next() >> 2));
    }
    if (SortLegally(space, solved.order, keys) && scheduler.Run(solved.order) < kImpossible) return solved;
  }
  return MakeError(ErrorCode::kInfeasible, "planner.infeasible",
                   "no random plan was legal: values cannot be moved between all candidates' forms");
}

}  // namespace pt
