#include "partitiontuner/planner/bounds.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/planner/bound_joint.h"
#include "lib/planner/least_times.h"
#include "lib/planner/serial_dp.h"

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
    FindCuts();
  }

  std::vector<Bound> All() {
    const int64_t path = Path(true);
    Areas();
    int64_t area = 0;
    for (const std::vector<double>& areas : areas_) {
      double sum = 0;
      for (double a : areas) sum += a;
      area = std::max(area, static_cast<int64_t>(std::floor(sum)));
    }
    const int64_t moves = PathWithMoves();
    std::vector<uint32_t> segment_of(space_.order().size());
    for (size_t i = 0; i < segment_of.size(); ++i) segment_of[space_.order()[i].index()] = segment_[i];
    const JointBounds joint = BoundJointly(space_, segment_of, segments_);
    areas_.push_back(joint.segments_ns);
    return {{"L1 critical path", path},
            {"L2 path with transfers", moves},
            {"L3 area", area},
            {"L4 area with transfers", Below(joint.whole_ns)},
            {"L5 series cuts", Series()}};
  }

 private:
  static int64_t Below(double ns) { return static_cast<int64_t>(std::floor(ns * (1 - 1e-9))); }

  // Cuts: nodes that come after all earlier nodes and before all later ones, and that no group reaches across: what
  // lies before one is over when what lies behind it starts.
  void FindCuts() {
    const auto& order = space_.order();
    const size_t n = order.size();
    std::vector<int> crossing(n + 1, 0);  // by position: values or groups that reach past it
    std::vector<bool> bad(n, false);
    for (size_t v = 0; v < space_.graph().values().size(); ++v) {
      const ValueSlots& value = space_.value(ValueId(v));
      if (!value.producer.valid()) continue;
      uint32_t last = space_.position(value.producer);
      const uint32_t first = last;
      for (NodeId reader : value.consumers) last = std::max(last, space_.position(reader));
      if (last > first + 1) ++crossing[first + 1], --crossing[last];  // passes by the nodes between
    }
    for (const Group& group : space_.groups()) {
      if (group.options.empty()) continue;
      uint32_t first = UINT32_MAX;
      uint32_t last = 0;
      for (NodeId node : group.nodes) {
        first = std::min(first, space_.position(node));
        last = std::max(last, space_.position(node));
      }
      if (last > first) ++crossing[first], --crossing[last];
    }
    // Sources behind a cut and dead ends before it are not ordered by it.
    size_t last_source = 0;
    size_t first_sink = n;
    for (size_t i = 0; i < n; ++i) {
      const Node& node = space_.graph().node(order[i]);
      const bool source = std::none_of(node.inputs.begin(), node.inputs.end(),
                                       [&](ValueId in) { return in.valid() && space_.value(in).producer.valid(); });
      const bool sink = std::all_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId out) { return !out.valid() || space_.value(out).consumers.empty(); });
      if (source) last_source = i;
      if (sink) first_sink = std::min(first_sink, i);
    }
    int open = 0;
    segment_.resize(n);
    uint32_t segment = 0;
    for (size_t i = 0; i < n; ++i) {
      open += crossing[i];
      segment_[i] = segment;
      if (open == 0 && i >= last_source && i < first_sink && i + 1 < n) ++segment;
    }
    segments_ = segment + 1;
  }

  // Values may rise from 0 in any order of evaluation and stay valid, so groups that reach ahead in the order need no
  // care; a second round tightens those.
  int64_t Path(bool whole) {
    std::vector<int64_t> done(space_.graph().nodes().size(), 0);
    std::vector<int64_t> ends(segments_, 0);
    for (int round = 0; round < 2; ++round) {
      for (uint32_t i = 0; i < space_.order().size(); ++i) {
        const NodeId node = space_.order()[i];
        int64_t best = kImpossible;
        for (uint32_t g : space_.groups_of(node)) {
          if (least_[g] >= kImpossible) continue;
          int64_t start = 0;
          for (ValueId in : space_.group(g).in) {
            const NodeId maker = space_.value(in).producer;
            if (!maker.valid()) continue;
            if (!whole && segment_[space_.position(maker)] != segment_[i]) continue;
            start = std::max(start, done[maker.index()]);
          }
          best = std::min(best, start + least_[g]);
        }
        if (best < kImpossible) done[node.index()] = std::max(done[node.index()], best);
        ends[segment_[i]] = std::max(ends[segment_[i]], done[node.index()]);
      }
    }
    if (!whole) segment_path_ = ends;
    return *std::max_element(ends.begin(), ends.end());
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
  // the makespan: every weighting is a bound. Kept by segment, for the series bound.
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
    std::vector<double> areas(segments_, 0);
    double sum = 0;
    for (size_t n = 0; n < prices.size(); ++n) {
      const double area = static_cast<double>(prices[n]) / kScale;
      areas[segment_[space_.position(NodeId(n))]] += area;
      sum += area;
    }
    areas_.push_back(std::move(areas));
    return sum;
  }

  int64_t Series() {
    Path(false);
    int64_t sum = 0;
    for (size_t s = 0; s < segments_; ++s) {
      double area = 0;
      for (const std::vector<double>& areas : areas_) area = std::max(area, areas[s]);
      sum += std::max(segment_path_[s], Below(area));
    }
    return sum;
  }

  const Space& space_;
  std::vector<int64_t> least_;     // by group
  std::vector<int64_t> made_;      // by slot of a value
  std::vector<uint32_t> segment_;  // by position
  size_t segments_ = 1;
  std::vector<int64_t> segment_path_;
  std::vector<std::vector<double>> areas_;  // by weighting and segment
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
