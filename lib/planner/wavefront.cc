// wavefront: Opara (Chen et al. 2023): operators of one device go to streams by their data, and are launched wave by
// wave. A group goes on in the stream of the first maker that nobody has followed yet, else it opens a new one; what
// waits for nothing but launched groups makes a wave, launched with the least demand for the device first, so that
// small kernels fill it before large ones take it.
#include <algorithm>
#include <tuple>

#include "lib/planner/streams.h"

namespace pt {

Result<Solved> SolveWavefront(const Space& space, std::string_view argument) {
  PT_ASSIGN(const Streams streams, Streams::Make(space, argument));
  const CoverGraph graph(space, streams.cover());
  std::vector<uint32_t> stream(graph.size(), 0), wave(graph.size(), 0);
  std::vector<bool> followed(graph.size(), false);
  uint32_t opened = 0;
  Solution solution;
  std::vector<std::tuple<uint32_t, double, int64_t>> launches;  // wave, demand, time
  for (uint32_t c = 0; c < graph.size(); ++c) {
    uint32_t follows = kNothing;
    for (const auto& [maker, value] : graph.makers[c]) {
      wave[c] = std::max(wave[c], wave[maker] + 1);
      if (follows == kNothing && !followed[maker]) follows = maker;
    }
    if (follows != kNothing) followed[follows] = true;
    stream[c] = follows != kNothing ? stream[follows] : opened++;
    // The device that the best single stream gave the group; of its streams as many as there are.
    const uint32_t option = streams.OptionOn(graph.groups[c], space.option(streams.cover()[c].option).device);
    const std::span<const UnitId> units = space.units(space.option(option).unit_class);
    solution.push_back({option, units[stream[c] % units.size()]});
    launches.emplace_back(wave[c], streams.Demand(space.option(option), solution.back().unit),
                          space.option(option).likely_ns());
  }
  std::vector<uint32_t> order(graph.size());
  for (uint32_t c = 0; c < graph.size(); ++c) order[c] = c;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return launches[a] < launches[b]; });
  std::vector<int64_t> keys(graph.size());
  for (size_t i = 0; i < order.size(); ++i) keys[order[i]] = static_cast<int64_t>(i);
  SortLegally(space, solution, keys);
  return Solved{std::move(solution)};
}

}  // namespace pt
