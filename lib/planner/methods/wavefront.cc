// wavefront: Opara (Chen et al. 2023): operators of one device go to streams by their data, and are launched wave by
// wave. A group goes on in the stream of the first maker that no group has followed yet, else it opens a new one; what
// waits for nothing but launched groups makes a wave, launched with the least demand for the device first, so that
// small kernels fill it before large ones take it, and by turns one that memory bounds and one that arithmetic does,
// which want different parts of it. Not in the paper: a branch that is over sooner than one stream has waited for
// another opens none and goes on beside whoever follows its first maker.
#include <algorithm>
#include <map>
#include <tuple>

#include "lib/planner/methods/streams.h"

namespace pt {

namespace {

// How long each group takes with those behind it that read from it alone and that alone read from it.
std::vector<int64_t> BranchNs(const Streams& streams, const CoverGraph& graph) {
  const auto is_one = [](const std::vector<CoverGraph::Edge>& edges) {
    return !edges.empty() && std::all_of(edges.begin(), edges.end(),
                                         [&](const CoverGraph::Edge& edge) { return edge.other == edges[0].other; });
  };
  std::vector<int64_t> ns(graph.size());
  for (size_t c = graph.size(); c-- > 0;) {
    ns[c] = streams.LeastNs(graph.groups[c]);
    if (!is_one(graph.readers[c])) continue;
    const uint32_t reader = graph.readers[c][0].other;
    if (is_one(graph.makers[reader])) ns[c] = AddNs(ns[c], ns[reader]);
  }
  return ns;
}

// By group. `wait_ns`: what waiting for another stream takes.
std::vector<uint32_t> StreamsOf(const CoverGraph& graph, std::span<const int64_t> branch_ns,
                                std::span<const int64_t> wait_ns) {
  std::vector<uint32_t> stream(graph.size(), 0);
  std::vector<bool> followed(graph.size(), false);
  uint32_t opened = 0;
  for (uint32_t c = 0; c < graph.size(); ++c) {
    if (branch_ns[c] < wait_ns[c]) {
      const bool is_first = graph.makers[c].empty();
      if (is_first && opened == 0) ++opened;
      stream[c] = is_first ? opened - 1 : stream[graph.makers[c][0].other];
      continue;
    }
    uint32_t follows = kNothing;
    for (const auto& [maker, value] : graph.makers[c]) {
      if (follows == kNothing && !followed[maker]) follows = maker;
    }
    if (follows != kNothing) followed[follows] = true;
    stream[c] = follows != kNothing ? stream[follows] : opened++;
  }
  return stream;
}

// By group: of what any group does in a time on its device at most, it moves a greater share of the bytes than it does
// of the arithmetic.
std::vector<bool> AreBoundByMemory(const Space& space, const Solution& solution) {
  std::vector<WorkSize> rates;
  std::map<DeviceId, WorkSize> most;
  for (const Choice& choice : solution) {
    const Option& option = space.option(choice.option);
    const WorkSize work = WorkSizeOf(space.graph(), space.group(option.group).nodes);
    const double ns = static_cast<double>(std::max<int64_t>(1, option.run_ns));
    rates.push_back({work.flops / ns, work.bytes / ns});
    if (option.likely_elided) rates.back() = {};
    WorkSize& of_device = most[option.device];
    of_device.flops = std::max(of_device.flops, rates.back().flops);
    of_device.bytes = std::max(of_device.bytes, rates.back().bytes);
  }
  std::vector<bool> bound;
  for (size_t c = 0; c < solution.size(); ++c) {
    const WorkSize& of_device = most[space.option(solution[c].option).device];
    bound.push_back(rates[c].bytes * of_device.flops > rates[c].flops * of_device.bytes);
  }
  return bound;
}

// By turns what memory bounds and what arithmetic does, beginning with the first, each kind in its order.
void Alternate(std::span<uint32_t> wave, const std::vector<bool>& is_bound_by_memory) {
  if (wave.empty()) return;
  std::vector<uint32_t> kinds[2];  // that of the first, and the other
  for (uint32_t c : wave) kinds[is_bound_by_memory[c] == is_bound_by_memory[wave[0]] ? 0 : 1].push_back(c);
  size_t at = 0;
  for (size_t i = 0; at < wave.size(); ++i) {
    for (const std::vector<uint32_t>& kind : kinds) {
      if (i < kind.size()) wave[at++] = kind[i];
    }
  }
}

}  // namespace

Result<Solved> SolveWavefront(const Space& space, std::string_view argument) {
  PT_ASSIGN(const Streams streams, Streams::Make(space, argument));
  const CoverGraph graph(space, streams.cover());
  std::vector<uint32_t> options;  // on the device that the best single stream gave the group
  std::vector<int64_t> wait_ns;
  for (uint32_t c = 0; c < graph.size(); ++c) {
    options.push_back(streams.OptionOn(graph.groups[c], space.option(streams.cover()[c].option).device));
    wait_ns.push_back(streams.WaitNs(space.option(options[c])));
  }
  const std::vector<uint32_t> stream = StreamsOf(graph, BranchNs(streams, graph), wait_ns);
  Solution solution;
  std::vector<std::tuple<uint32_t, double, int64_t>> launches;  // wave, demand, time
  for (uint32_t c = 0; c < graph.size(); ++c) {
    uint32_t wave = 0;
    for (const auto& [maker, value] : graph.makers[c]) wave = std::max(wave, std::get<0>(launches[maker]) + 1);
    const Option& option = space.option(options[c]);
    const std::span<const UnitId> units = space.units(option.unit_class);  // of the streams as many as there are
    solution.push_back({options[c], units[stream[c] % units.size()]});
    launches.emplace_back(wave, streams.Demand(option, solution.back().unit), option.likely_ns());
  }
  std::vector<uint32_t> order(graph.size());
  for (uint32_t c = 0; c < graph.size(); ++c) order[c] = c;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return launches[a] < launches[b]; });
  const std::vector<bool> is_bound_by_memory = AreBoundByMemory(space, solution);
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    const auto is_in_wave = [&](uint32_t c) { return std::get<0>(launches[c]) == std::get<0>(launches[order[first]]); };
    while (end < order.size() && is_in_wave(order[end])) ++end;
    Alternate(std::span(order).subspan(first, end - first), is_bound_by_memory);
  }
  std::vector<int64_t> keys(graph.size());
  for (size_t i = 0; i < order.size(); ++i) keys[order[i]] = static_cast<int64_t>(i);
  SortLegally(space, solution, keys);
  return Solved{std::move(solution)};
}

}  // namespace pt
