#include "lib/planner/proofs/exact_bound.h"

#include <algorithm>
#include <cmath>

#include "lib/planner/proofs/least_times.h"
#include "lib/planner/search/serial_dp.h"

namespace pt {

RestBound::RestBound(const Space& space) : space_(space), rest_(space.options().size(), 0) {
  FindTails();
  const size_t devices = space.platform().devices.size();
  std::vector<double> shares(devices, 1.0 / static_cast<double>(devices));
  AddWeighting(shares);
  constexpr int kSteps = 8;
  for (size_t d = 0; devices > 1 && d < devices; ++d) {
    for (int step = 0; step <= kSteps; ++step) {
      const double share = static_cast<double>(step) / kSteps;
      shares.assign(devices, (1 - share) / static_cast<double>(devices - 1));
      shares[d] = share;
      AddWeighting(shares);
    }
  }
}

// Tails rise from 0 and are valid after any number of rounds; one against the order finds nearly all.
void RestBound::FindTails() {
  const size_t values = space_.graph().values().size();
  tails_.resize(values);
  for (size_t v = 0; v < values; ++v) {
    tails_[v].assign(space_.value(ValueId(v)).consumers.size(),
                     std::vector<int64_t>(space_.routes(ValueId(v)).slots, 0));
  }
  for (int round = 0; round < 3; ++round) {
    for (size_t at = space_.order().size(); at-- > 0;) {
      for (uint32_t g : space_.groups_of(space_.order()[at])) {
        const Group& group = space_.group(g);
        for (uint32_t o : group.options) {
          const Option& option = space_.option(o);
          int64_t tail = 0;
          for (size_t i = 0; i < group.out.size(); ++i) {
            const ValueSlots& out = space_.value(group.out[i]);
            if (out.is_output) tail = std::max(tail, space_.routes(group.out[i]).least(option.out[i], out.external));
            for (size_t c = 0; c < out.consumers.size(); ++c) {
              if (std::binary_search(group.nodes.begin(), group.nodes.end(), out.consumers[c])) continue;
              tail = std::max(tail, tails_[group.out[i].index()][c][option.out[i]]);
            }
          }
          rest_[o] = AddNs(LeastOnPath(space_, option), tail);
        }
      }
      const NodeId node = space_.order()[at];
      for (ValueId in : space_.graph().node(node).inputs) {
        if (!in.valid()) continue;
        const std::vector<NodeId>& consumers = space_.value(in).consumers;
        const auto c = static_cast<size_t>(std::find(consumers.begin(), consumers.end(), node) - consumers.begin());
        if (c == consumers.size()) continue;
        for (uint32_t slot = 0; slot < space_.routes(in).slots; ++slot)
          tails_[in.index()][c][slot] = TailOf(in, c, slot);
      }
    }
  }
}

int64_t RestBound::TailOf(ValueId v, size_t consumer, uint32_t slot) const {
  int64_t best = kImpossible;
  for (uint32_t g : space_.groups_of(space_.value(v).consumers[consumer])) {
    const Group& group = space_.group(g);
    const auto in = std::find(group.in.begin(), group.in.end(), v);
    if (in == group.in.end()) continue;
    for (uint32_t o : group.options) {
      const Slot reads = space_.option(o).in[static_cast<size_t>(in - group.in.begin())];
      best = std::min(best, AddNs(space_.routes(v).least(slot, reads), rest_[o]));
    }
  }
  return best;
}

void RestBound::AddWeighting(const std::vector<double>& shares) {
  constexpr double kScale = 1024;  // prices are integers; rounding down keeps them valid
  const Lanes& lanes = space_.simulator().lanes();
  Weighting weighting;
  weighting.lanes.assign(lanes.count, 0);
  for (size_t d = 0; d < shares.size(); ++d) {
    std::vector<uint32_t> mine;
    for (size_t u = 0; u < space_.platform().units.size(); ++u) {
      if (space_.platform().units[u].link || space_.platform().device_of(UnitId(u)).index() != d) continue;
      for (uint32_t lane : lanes.of_unit[u]) {
        if (std::find(mine.begin(), mine.end(), lane) == mine.end()) mine.push_back(lane);
      }
    }
    for (uint32_t lane : mine) weighting.lanes[lane] += shares[d] / static_cast<double>(mine.size());
  }
  // Of several units of a class the one whose lanes weigh least.
  std::vector<double> of_class(space_.platform().unit_classes.size(), 0), of_launch(of_class);
  for (size_t c = 0; c < of_class.size(); ++c) {
    of_class[c] = of_launch[c] = INFINITY;
    for (UnitId unit : space_.units(UnitClassId(c))) {
      double sum = 0;
      for (uint32_t lane : lanes.of_unit[unit.index()]) sum += weighting.lanes[lane];
      of_class[c] = std::min(of_class[c], sum);
      const uint32_t driver = lanes.driver[unit.index()];
      of_launch[c] = std::min(of_launch[c], driver == Lanes::kNone ? 0 : weighting.lanes[driver]);
    }
  }
  const std::vector<int64_t> prices = NodePrices(space_, [&](const Option& option) {
    const size_t c = option.unit_class.index();
    const double ns = static_cast<double>(LeastOnPath(space_, option)) * of_class[c];
    const double launch =
        space_.is_launched(option.unit_class) ? static_cast<double>(LeastOverhead(option)) * of_launch[c] : 0;
    return static_cast<int64_t>(std::floor((ns + launch) * kScale));
  });
  for (int64_t price : prices) weighting.prices.push_back(static_cast<double>(price) / kScale);
  weightings_.push_back(std::move(weighting));
}

int64_t RestBound::LeastEnd(const PartialSchedule& schedule) const {
  return std::max({schedule.end_ns, Area(schedule), Path(schedule)});
}

int64_t RestBound::Area(const PartialSchedule& schedule) const {
  double most = 0;
  for (const Weighting& weighting : weightings_) {
    double sum = 0;
    for (size_t lane = 0; lane < weighting.lanes.size(); ++lane) {
      sum += weighting.lanes[lane] * static_cast<double>(schedule.lane_free[lane]);
    }
    for (size_t n = 0; n < weighting.prices.size(); ++n) {
      if ((schedule.covered >> n & 1) == 0) sum += weighting.prices[n];
    }
    most = std::max(most, sum);
  }
  return static_cast<int64_t>(std::floor(most * (1 - 1e-12)));
}

std::vector<int64_t> RestBound::ReadyTimes(const PartialSchedule& schedule) const {
  const Lanes& lanes = space_.simulator().lanes();
  std::vector<int64_t> ready(space_.platform().unit_classes.size(), kImpossible);
  for (size_t c = 0; c < ready.size(); ++c) {
    for (UnitId unit : space_.units(UnitClassId(c))) {
      const uint32_t driver = lanes.driver[unit.index()];
      int64_t free = 0;
      if (driver != Lanes::kNone) free = schedule.lane_free[driver] + space_.least_overhead_ns(UnitClassId(c));
      for (uint32_t lane : lanes.of_unit[unit.index()]) free = std::max(free, schedule.lane_free[lane]);
      ready[c] = std::min(ready[c], free);
    }
  }
  return ready;
}

int64_t RestBound::Arrival(const PartialSchedule& schedule, ValueId v, uint32_t slot,
                           const std::vector<int64_t>& done) const {
  const Promise* promise = schedule.promise(v);
  if (promise == nullptr) {
    const NodeId maker = space_.value(v).producer;
    return maker.valid() ? done[maker.index()] : 0;
  }
  if (slot != promise->primary && (promise->needed >> slot & 1) == 0) return kImpossible;
  int64_t best = kImpossible;
  for (const Held& held : schedule.held) {
    if (held.value == v) best = std::min(best, AddNs(held.end_ns, space_.routes(v).least(held.slot, slot)));
  }
  return best;
}

int64_t RestBound::Path(const PartialSchedule& schedule) const {
  const std::vector<int64_t> ready = ReadyTimes(schedule);
  std::vector<int64_t> done(space_.graph().nodes().size(), 0);
  int64_t end = 0;
  const auto is_covered = [&](NodeId node) { return (schedule.covered >> node.index() & 1) != 0; };
  for (NodeId node : space_.order()) {
    if (is_covered(node)) continue;
    int64_t first_done = kImpossible;
    int64_t first_end = kImpossible;
    for (uint32_t g : space_.groups_of(node)) {
      const Group& group = space_.group(g);
      if (std::any_of(group.nodes.begin(), group.nodes.end(), is_covered)) continue;
      for (uint32_t o : group.options) {
        const Option& option = space_.option(o);
        int64_t start = ready[option.unit_class.index()];
        for (size_t i = 0; i < group.in.size() && start < kImpossible; ++i) {
          start = std::max(start, Arrival(schedule, group.in[i], option.in[i], done));
        }
        first_done = std::min(first_done, AddNs(start, LeastOnPath(space_, option)));
        first_end = std::min(first_end, AddNs(start, rest_[o]));
      }
    }
    done[node.index()] = first_done;
    end = std::max(end, first_end);
  }
  for (const Promise& promise : schedule.promises) {
    const ValueSlots& value = space_.value(promise.value);
    if (value.is_output) end = std::max(end, Arrival(schedule, promise.value, value.external, done));
  }
  return end;
}

}  // namespace pt
