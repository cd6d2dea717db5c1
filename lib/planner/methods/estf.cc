// estf: earliest start time first, the rule of an NTU thesis for operators on the streams of one device that contend
// for it. Of all ready groups and streams the pair is taken that can start earliest; a group can start when its inputs
// are there, its stream is free, and what runs on the device leaves the share that it asks for, so that two that
// saturate the device each never overlap. The second rule decides between equals: the longest remaining path first, on
// the stream of a maker if possible. Not in the thesis: what starts on another stream of its makers' device has its
// results waited for in turn, so of the streams the one is best from which they are back soonest.
#include <algorithm>
#include <map>
#include <tuple>

#include "lib/planner/methods/streams.h"

namespace pt {
namespace {

class EarliestStart {
 public:
  EarliestStart(const Space& space, const Streams& streams)
      : space_(space),
        streams_(streams),
        graph_(space, streams.cover()),
        remaining_(streams.RemainingNs(graph_)),
        free_(space.simulator().lanes().count, 0),
        made_(space.graph().values().size()) {
    for (uint32_t group : graph_.groups) options_.push_back(streams.Options(group));
  }

  Solution Run() {
    std::vector<size_t> open(graph_.size());
    std::vector<uint32_t> ready;
    for (uint32_t c = 0; c < graph_.size(); ++c) {
      open[c] = graph_.makers[c].size();
      if (open[c] == 0) ready.push_back(c);
    }
    while (!ready.empty()) {
      Start best;
      size_t chosen = 0;
      for (size_t r = 0; r < ready.size(); ++r) {
        const Start start = EarliestOf(ready[r]);
        if (!(start.rank < best.rank)) continue;
        best = start;
        chosen = r;
      }
      const uint32_t c = ready[chosen];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
      Take(c, best);
      for (const auto& [reader, value] : graph_.readers[c]) {
        if (--open[reader] == 0) ready.push_back(reader);
      }
    }
    SortLegally(space_, solution_, keys_);
    return std::move(solution_);
  }

 private:
  struct Start {
    Choice choice;
    // When, minus what remains, not a maker's stream; the position in the cover and the unit make it unique.
    std::tuple<int64_t, int64_t, bool, uint32_t, uint32_t> rank{INT64_MAX, 0, false, 0, 0};
  };
  struct Made {
    int64_t end_ns = 0;
    uint32_t slot = 0;
    UnitId unit;
  };

  int64_t Arrival(ValueId v, uint32_t slot, UnitId reader) const {
    const ValueSlots& value = space_.value(v);
    if (!value.producer.valid()) return space_.routes(v).cost(value.external, slot);
    const Made& made = made_[v.index()];
    const int64_t moved = AddNs(made.end_ns, space_.routes(v).cost(made.slot, slot));
    return AddNs(moved, space_.simulator().wait_ns(made.unit, reader));
  }

  // The earliest time from `at` on when the device has room.
  int64_t WithRoom(const Option& option, UnitId unit, int64_t at) const {
    const double wanted = streams_.Demand(option, unit);
    const auto device = running_.find(option.device);
    if (device == running_.end()) return at;
    const std::vector<std::pair<int64_t, double>>& running = device->second;  // by end
    double busy = 0;
    for (const auto& [end, share] : running) busy += end > at ? share : 0;
    constexpr double rounding = 1e-9;
    for (const auto& [end, share] : running) {
      if (end <= at) continue;
      if (busy + wanted <= 1 + rounding) return at;
      busy -= share;
      at = end;
    }
    return at;
  }

  // What waiting takes whoever goes on where the makers are; nothing where a maker is on the unit.
  int64_t WayBack(uint32_t c, UnitId unit) const {
    int64_t least = graph_.readers[c].empty() ? 0 : kImpossible;
    bool any = false;
    for (const auto& [maker, value] : graph_.makers[c]) {
      const UnitId made_on = made_[value.index()].unit;
      if (space_.platform().device_of(made_on) != space_.platform().device_of(unit)) continue;
      any = true;
      least = std::min(least, space_.simulator().wait_ns(unit, made_on));
    }
    return any ? least : 0;
  }

  Start EarliestOf(uint32_t c) const {
    Start best;
    int64_t best_back = kImpossible;
    const Group& group = space_.group(graph_.groups[c]);
    for (uint32_t o : options_[c]) {
      const Option& option = space_.option(o);
      for (UnitId unit : space_.units(option.unit_class)) {
        int64_t at = 0;
        bool is_makers = false;
        for (size_t i = 0; i < group.in.size(); ++i) at = std::max(at, Arrival(group.in[i], option.in[i], unit));
        for (const auto& [maker, value] : graph_.makers[c]) is_makers = is_makers || made_[value.index()].unit == unit;
        for (uint32_t lane : space_.simulator().lanes().of_unit[unit.index()]) at = std::max(at, free_[lane]);
        // Cores are lanes of their own; streams of a device share it.
        if (!space_.platform().unit_class(option.unit_class).on_host()) at = WithRoom(option, unit, at);
        const Start start{{o, unit}, {at, -remaining_[c], !is_makers, c, unit.value}};
        const int64_t back = AddNs(at, WayBack(c, unit));
        if (std::tie(back, start.rank) >= std::tie(best_back, best.rank)) continue;
        best = start;
        best_back = back;
      }
    }
    return best;
  }

  void Take(uint32_t c, const Start& start) {
    const Option& option = space_.option(start.choice.option);
    const Group& group = space_.group(graph_.groups[c]);
    const int64_t at = std::get<0>(start.rank), end = AddNs(at, option.likely_ns());
    for (uint32_t lane : space_.simulator().lanes().of_unit[start.choice.unit.index()]) free_[lane] = end;
    for (size_t i = 0; i < group.out.size(); ++i) made_[group.out[i].index()] = {end, option.out[i], start.choice.unit};
    std::vector<std::pair<int64_t, double>>& running = running_[option.device];
    const std::pair entry(end, streams_.Demand(option, start.choice.unit));
    running.insert(std::upper_bound(running.begin(), running.end(), entry), entry);
    solution_.push_back(start.choice);
    keys_.push_back(at);
  }

  const Space& space_;
  const Streams& streams_;
  const CoverGraph graph_;
  const std::vector<int64_t> remaining_;
  std::vector<std::vector<uint32_t>> options_;                           // by position in the cover
  std::vector<int64_t> free_;                                            // by lane
  std::vector<Made> made_;                                               // by value
  std::map<DeviceId, std::vector<std::pair<int64_t, double>>> running_;  // ends and shares
  Solution solution_;
  std::vector<int64_t> keys_;
};

}  // namespace

Result<Solved> SolveEstf(const Space& space, std::string_view argument) {
  PT_ASSIGN(const Streams streams, Streams::Make(space, argument));
  return Solved{EarliestStart(space, streams).Run()};
}

}  // namespace pt
