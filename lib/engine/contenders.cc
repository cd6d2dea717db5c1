#include "lib/engine/contenders.h"

#include <algorithm>
#include <set>

#include "partitiontuner/planner/planner_names.h"

namespace pt {
namespace {

// Libraries of plugins that have a candidate on the host.
std::set<std::string> HostRuntimes(const PlanningContext& context) {
  std::set<std::string> of_plugins, runtimes;
  for (const PluginReport& plugin : context.machine.plugins()) {
    of_plugins.insert(plugin.libraries.begin(), plugin.libraries.end());
  }
  for (const Candidate& c : context.model.candidates) {
    const bool on_host = context.machine.platform().unit_class(c.unit_class).on_host();
    if (on_host && of_plugins.contains(c.library)) runtimes.insert(c.library);
  }
  return runtimes;
}

std::vector<Candidate> Without(const std::vector<Candidate>& candidates, const std::set<std::string>& libraries) {
  std::vector<Candidate> left;
  std::ranges::copy_if(candidates, std::back_inserter(left),
                       [&](const Candidate& c) { return !libraries.contains(c.library); });
  return left;
}

// Other libraries' candidates only where a node is not the library's own.
std::vector<Candidate> Preferring(const std::vector<Candidate>& candidates, const std::string& library) {
  std::set<NodeId> own;
  for (const Candidate& c : candidates) {
    if (c.library == library) own.insert(c.nodes.begin(), c.nodes.end());
  }
  std::vector<Candidate> left;
  std::ranges::copy_if(candidates, std::back_inserter(left), [&](const Candidate& c) {
    return c.library == library || std::ranges::none_of(c.nodes, [&](NodeId node) { return own.contains(node); });
  });
  return left;
}

void AddByRuntimes(const PlanningContext& context, std::vector<Contender>& contenders) {
  const std::set<std::string> runtimes = HostRuntimes(context);
  if (runtimes.empty()) return;
  std::string names;
  for (const std::string& runtime : runtimes) names += (names.empty() ? "" : " and ") + runtime;
  const std::vector<Candidate>& all = context.model.candidates;
  const std::string& planner = context.options.planner;
  contenders.push_back({planner + ", without " + names, context.options, Without(all, runtimes), true});
  for (const std::string& runtime : runtimes) {
    contenders.push_back({planner + ", by " + runtime, context.options, Preferring(all, runtime), true});
  }
}

}  // namespace

std::vector<Contender> ContendersFor(const PlanningContext& context) {
  constexpr uint64_t kMoreSeeds = 2;
  std::vector<Contender> contenders = {{context.options.planner, context.options, std::nullopt, true}};
  const auto add = [&](const std::string& planner, uint64_t seed, const std::string& name) {
    Contender contender{name, context.options, std::nullopt, false};
    contender.options.planner = planner;
    contender.options.seed = seed;
    contenders.push_back(std::move(contender));
  };
  for (const std::string& name : PlannerNames(context.machine.platform(), context.options.seed)) {
    if (!name.starts_with("random:") && name != context.options.planner) add(name, context.options.seed, name);
  }
  // Runs decide here, not predictions: what the search found runs even where its predicted gain is not sure.
  if (context.options.planner == "search") {
    add("search", context.options.seed, "search, any gain");
    contenders.back().options.margin = SplitMargin::kNone;
  }
  for (uint64_t i = 1; i <= kMoreSeeds; ++i) {
    const uint64_t seed = context.options.seed + i;
    add("search", seed, "search, seed " + std::to_string(seed));
    contenders.back().options.margin = SplitMargin::kNone;
  }
  AddByRuntimes(context, contenders);
  return contenders;
}

}  // namespace pt
