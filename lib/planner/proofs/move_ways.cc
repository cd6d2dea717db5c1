#include "lib/planner/proofs/move_ways.h"

#include <algorithm>

namespace pt {

const std::vector<double>& MoveWays::Of(ValueId v) {
  const uint32_t id = space_.value(v).routes;
  if (ways_.size() <= id) ways_.resize(id + 1);
  std::vector<double>& ways = ways_[id];
  if (!ways.empty()) return ways;
  const Routes& routes = space_.routes(v);
  const size_t n = routes.slots;
  const size_t forms = space_.value(v).forms.size();
  const size_t devices = n / forms;
  ways.assign(n * n, kMost);
  for (size_t s = 0; s < n; ++s) ways[s * n + s] = 0;
  for (const auto& [hop, of_hop] : routes.reorders) {
    double& way = ways[hop.first * n + hop.second];
    for (const ReorderWay& r : of_hop) way = std::min(way, weights_.OfReorder(r.unit_class, r.ns));
  }
  for (size_t from = 0; from < devices; ++from) {
    for (size_t to = 0; to < devices; ++to) {
      const LinkId link = space_.link(DeviceId(from), DeviceId(to));
      if (from == to || !link.valid()) continue;
      for (size_t f = 0; f < forms; ++f) {
        if (routes.cost(static_cast<uint32_t>(from * forms + f), static_cast<uint32_t>(to * forms + f)) >= kImpossible)
          continue;
        const int64_t ns = space_.problem().costs.Copy(routes.bytes[f], link).ns;
        double& way = ways[(from * forms + f) * n + to * forms + f];
        way = std::min(way, weights_.OfCopy(link, ns));
      }
    }
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t s = 0; s < n; ++s) {
      for (size_t t = 0; t < n; ++t) ways[s * n + t] = std::min(ways[s * n + t], ways[s * n + k] + ways[k * n + t]);
    }
  }
  return ways;
}

}  // namespace pt
