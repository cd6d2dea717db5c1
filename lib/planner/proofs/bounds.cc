#include "partitiontuner/planner/bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/planner/proofs/bound_cases.h"
#include "lib/planner/proofs/bound_joint.h"
#include "lib/planner/proofs/least_times.h"
#include "lib/planner/proofs/series_cuts.h"
#include "lib/planner/search/serial_dp.h"

namespace pt {
namespace {

class Bounds {
 public:
  explicit Bounds(const Space& space) : space_(space), made_(space.slot_count()) {
    for (uint32_t g = 0; g < space.groups().size(); ++g) {
      int64_t least = kImpossible;
      for (uint32_t o : space.group(g).options) least = std::min(least, LeastOnPath(space_, space.option(o)));
      least_.push_back(least);
    }
  }

  std::vector<Bound> All() {
    Areas();
    double area = 0;
    for (const std::vector<double>& prices : prices_)
      area = std::max(area, std::accumulate(prices.begin(), prices.end(), 0.0));
    const Segments all = FindSegments(space_, std::vector<bool>(space_.order().size(), false));
    const JointBounds joint = BoundJointly(space_, all);
    std::vector<Bound> bounds = {{"L1 critical path", Path(nullptr)[0]},
                                 {"L2 path with transfers", PathWithMoves()},
                                 {"L3 area", Below(area)},
                                 {"L4 area with transfers", Below(joint.whole_ns)},
                                 {"L5 series cuts", Series(all, joint)},
                                 {"L6 cuts without side nodes", 0},
                                 {"L7 paths and work", 0},
                                 {"L8 cases", 0}};
    CasesBound cases = BoundByCases(space_, all);
    const Segments main = FindSegments(space_, SideNodes());
    bounds[5].ns = bounds[4].ns;
    if (main.count > all.count) {
      bounds[5].ns = Series(main, BoundJointly(space_, main));
      const CasesBound of_main = BoundByCases(space_, main);
      cases.paths_ns = std::max(cases.paths_ns, of_main.paths_ns);
      cases.cases_ns = std::max(cases.cases_ns, of_main.cases_ns);
    }
    bounds[6].ns = Below(cases.paths_ns);
    bounds[7].ns = std::max(bounds[6].ns, Below(cases.cases_ns));
    return bounds;
  }

 private:
  static int64_t Below(double ns) { return static_cast<int64_t>(std::floor(ns * (1 - 1e-9))); }

  // Values may rise from 0 in any order of evaluation and stay valid, so groups that reach ahead in the order need no
  // care; a second round tightens those.
  std::vector<int64_t> Path(const Segments* segments) const {
    std::vector<int64_t> done(space_.graph().nodes().size(), 0);
    std::vector<int64_t> ends(segments == nullptr ? 1 : segments->count, 0);
    for (int round = 0; round < 2; ++round) {
      for (uint32_t i = 0; i < space_.order().size(); ++i) {
        const NodeId node = space_.order()[i];
        const uint32_t segment = segments == nullptr ? 0 : segments->of_node[node.index()];
        if (segment == kNothing) continue;
        int64_t best = kImpossible;
        for (uint32_t g : space_.groups_of(node)) {
          if (least_[g] >= kImpossible) continue;
          int64_t start = 0;
          for (ValueId in : space_.group(g).in) {
            const NodeId maker = space_.value(in).producer;
            if (!maker.valid()) continue;
            if (segments != nullptr && segments->of_node[maker.index()] != segment) continue;
            start = std::max(start, done[maker.index()]);
          }
          best = std::min(best, start + least_[g]);
        }
        if (best < kImpossible) done[node.index()] = std::max(done[node.index()], best);
        ends[segment] = std::max(ends[segment], done[node.index()]);
      }
    }
    return ends;
  }

  // The same over instances: when a value can first be in a slot, copies and reorders paid.
  int64_t PathWithMoves() {
    std::fill(made_.begin(), made_.end(), 0);
    const Graph& graph = space_.graph();
    for (int round = 0; round < 2; ++round) {
      for (NodeId node : space_.order()) {
        for (ValueId out : graph.node(node).outputs) {
          if (out.valid() && space_.value(out).producer == node) MadeAt(out, node);
        }
      }
    }
    int64_t end = 0;
    for (ValueId out : graph.outputs()) {
      const ValueSlots& value = space_.value(out);
      if (value.is_output) end = std::max(end, Arrival(out, value.external));
    }
    return end;
  }

  int64_t Arrival(ValueId v, uint32_t slot) const {
    const ValueSlots& value = space_.value(v);
    if (value.is_input) return space_.routes(v).least(value.external, slot);
    return made_[value.first + slot];
  }

  void MadeAt(ValueId v, NodeId node) {
    const ValueSlots& value = space_.value(v);
    const Routes& routes = space_.routes(v);
    std::vector<int64_t> at(routes.slots, kImpossible);
    bool internal = false;  // some group makes it for itself only
    for (uint32_t g : space_.groups_of(node)) {
      const Group& group = space_.group(g);
      const auto out = std::find(group.out.begin(), group.out.end(), v);
      if (out == group.out.end()) internal |= !group.options.empty();
      if (out == group.out.end()) continue;
      const auto index = static_cast<size_t>(out - group.out.begin());
      for (uint32_t o : group.options) {
        const Option& option = space_.option(o);
        int64_t start = 0;
        for (size_t i = 0; i < group.in.size(); ++i) start = std::max(start, Arrival(group.in[i], option.in[i]));
        at[option.out[index]] = std::min(at[option.out[index]], AddNs(start, LeastOnPath(space_, option)));
      }
    }
    if (internal && value.consumers.empty() && !value.is_output) return;
    for (uint32_t slot = 0; slot < routes.slots; ++slot) {
      int64_t best = kImpossible;
      for (uint32_t from = 0; from < routes.slots; ++from) {
        best = std::min(best, AddNs(at[from], routes.least(from, slot)));
      }
      if (best < kImpossible) made_[value.first + slot] = std::max(made_[value.first + slot], best);
    }
  }

  // For weights on devices that add up to one over their lanes, the weighted work of the cheapest cover is less than
  // the makespan: every weighting is a bound. Kept by node, for the series bound.
  void Areas() {
    const size_t devices = space_.platform().devices.size();
    std::vector<double> lanes(devices, 0);
    std::vector<std::vector<uint32_t>> of_device(devices);
    for (size_t u = 0; u < space_.platform().units.size(); ++u) {
      if (space_.platform().units[u].link) continue;
      std::vector<uint32_t>& mine = of_device[space_.platform().device_of(UnitId(u)).index()];
      for (uint32_t lane : space_.simulator().lanes().of_unit[u]) {
        if (std::find(mine.begin(), mine.end(), lane) == mine.end()) mine.push_back(lane);
      }
    }
    for (size_t d = 0; d < devices; ++d) lanes[d] = static_cast<double>(std::max<size_t>(1, of_device[d].size()));

    std::vector<double> shares(devices, 1.0 / static_cast<double>(devices));  // of the whole weight
    if (devices == 1) {
      AddArea(shares, lanes);
      return;
    }
    // One device against the rest, its share halved towards the better side: the area is concave in it.
    for (size_t d = 0; d < devices; ++d) {
      double low = 0;
      double high = 1;
      for (int round = 0; round < 8; ++round) {
        const double left = AddArea(SharesWith(shares, d, low + (high - low) / 3), lanes);
        const double right = AddArea(SharesWith(shares, d, high - (high - low) / 3), lanes);
        (left < right ? low : high) = left < right ? low + (high - low) / 3 : high - (high - low) / 3;
      }
      shares = SharesWith(shares, d, (low + high) / 2);
    }
    AddArea(shares, lanes);
  }

  static std::vector<double> SharesWith(std::vector<double> shares, size_t device, double share) {
    double rest = 0;
    for (size_t d = 0; d < shares.size(); ++d) rest += d == device ? 0 : shares[d];
    for (size_t d = 0; d < shares.size(); ++d) {
      if (d != device)
        shares[d] = rest > 0 ? shares[d] / rest * (1 - share) : (1 - share) / static_cast<double>(shares.size() - 1);
    }
    shares[device] = share;
    return shares;
  }

  double AddArea(const std::vector<double>& shares, const std::vector<double>& lanes) {
    constexpr double kScale = 1024;  // prices are integers; rounding down keeps them valid
    const std::vector<int64_t> prices = NodePrices(space_, [&](const Option& option) {
      const UnitId unit = space_.units(option.unit_class).front();
      const auto width = static_cast<double>(space_.simulator().lanes().of_unit[unit.index()].size());
      const int64_t ns = LeastOnPath(space_, option);
      const size_t d = option.device.index();
      return static_cast<int64_t>(std::floor(static_cast<double>(ns) * width * shares[d] / lanes[d] * kScale));
    });
    std::vector<double>& areas = prices_.emplace_back();
    for (int64_t price : prices) areas.push_back(static_cast<double>(price) / kScale);
    return std::accumulate(areas.begin(), areas.end(), 0.0);
  }

  // Nodes near which little lies before or behind: masks, shapes and other side results, which would hide cuts.
  std::vector<bool> SideNodes() const {
    constexpr double kLittle = 0.01;  // of the longest way
    const std::vector<double>& work = prices_.front();
    const auto order = space_.order();
    std::vector<double> before(work.size(), 0), behind(work.size(), 0);
    double longest = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      double& mine = before[order[i].index()];
      for (ValueId in : space_.graph().node(order[i]).inputs) {
        const NodeId maker = in.valid() ? space_.value(in).producer : NodeId();
        if (maker.valid()) mine = std::max(mine, before[maker.index()]);
      }
      mine += work[order[i].index()];
      longest = std::max(longest, mine);
    }
    for (size_t i = order.size(); i-- > 0;) {
      double& mine = behind[order[i].index()];
      for (ValueId out : space_.graph().node(order[i]).outputs) {
        if (!out.valid()) continue;
        for (NodeId reader : space_.value(out).consumers) mine = std::max(mine, behind[reader.index()]);
      }
      mine += work[order[i].index()];
    }
    std::vector<bool> side(work.size());
    for (size_t n = 0; n < side.size(); ++n) side[n] = std::min(before[n], behind[n]) <= kLittle * longest;
    return side;
  }

  int64_t Series(const Segments& segments, const JointBounds& joint) const {
    std::vector<double> most = joint.segments_ns;
    for (const std::vector<double>& prices : prices_) {
      std::vector<double> areas(segments.count, 0);
      for (size_t n = 0; n < prices.size(); ++n) {
        if (segments.of_node[n] != kNothing) areas[segments.of_node[n]] += prices[n];
      }
      for (size_t s = 0; s < areas.size(); ++s) most[s] = std::max(most[s], areas[s]);
    }
    const std::vector<int64_t> paths = Path(&segments);
    int64_t sum = 0;
    for (size_t s = 0; s < paths.size(); ++s) sum += std::max(paths[s], Below(most[s]));
    return sum;
  }

  const Space& space_;
  std::vector<int64_t> least_;               // by group
  std::vector<int64_t> made_;                // by slot of a value
  std::vector<std::vector<double>> prices_;  // by weighting and node
};

}  // namespace

std::vector<Bound> LowerBounds(const PlanningProblem& problem) {
  const Result<Space> space = Space::Make(problem);
  if (!space.ok() || problem.graph.nodes().empty()) return {};
  return Bounds(*space).All();
}

Bound BestBound(const PlanningProblem& problem) {
  Bound best;
  best.name = "none";
  for (Bound& bound : LowerBounds(problem)) {
    if (bound.ns > best.ns) best = std::move(bound);
  }
  return best;
}

}  // namespace pt
