#include "lib/planner/methods/stages.h"

#include <algorithm>

namespace pt {

std::vector<uint32_t> LeastLargestStage(std::span<const std::vector<int64_t>> times_ns) {
  if (times_ns.empty()) return {};
  const size_t items = times_ns.size(), places = times_ns.front().size();
  // By places used and items taken: the least largest stage, and where its last stage begins.
  std::vector<std::vector<int64_t>> least(places + 1, std::vector<int64_t>(items + 1, kImpossible));
  std::vector<std::vector<size_t>> begin(places + 1, std::vector<size_t>(items + 1, 0));
  least[0][0] = 0;
  for (size_t p = 1; p <= places; ++p) {
    for (size_t end = 0; end <= items; ++end) {
      int64_t stage = 0;
      for (size_t from = end;; --from) {
        const int64_t largest = std::max(least[p - 1][from], stage);
        if (least[p - 1][from] != kImpossible && stage != kImpossible && largest < least[p][end]) {
          least[p][end] = largest;
          begin[p][end] = from;
        }
        if (from == 0) break;
        stage = AddNs(stage, times_ns[from - 1][p - 1]);
      }
    }
  }
  if (least[places][items] == kImpossible) return {};
  std::vector<uint32_t> place_of(items);
  for (size_t p = places, end = items; p > 0; --p) {
    const size_t from = begin[p][end];
    for (size_t i = from; i < end; ++i) place_of[i] = static_cast<uint32_t>(p - 1);
    end = from;
  }
  return place_of;
}

StagePlaces::StagePlaces(const Space& of, const Streams& from) : space(of), streams(from) {
  std::vector<bool> used(of.platform().unit_classes.size(), false);
  for (const Choice& choice : from.cover()) {
    for (const uint32_t option : from.Options(of.option(choice.option).group)) {
      used[of.option(option).unit_class.index()] = true;
    }
  }
  for (size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) continue;
    for (const UnitId unit : of.units(UnitClassId(k))) places.push_back({unit, UnitClassId(k)});
  }
}

uint32_t StagePlaces::OptionAt(uint32_t group, size_t place) const {
  for (const uint32_t option : streams.Options(group)) {
    if (space.option(option).unit_class == places[place].unit_class) return option;
  }
  return kNothing;
}

std::vector<int64_t> StagePlaces::TimesOf(std::span<const uint32_t> groups) const {
  std::vector<int64_t> times;
  for (size_t place = 0; place < places.size(); ++place) {
    int64_t ns = 0;
    for (const uint32_t group : groups) {
      const uint32_t option = OptionAt(group, place);
      ns = option == kNothing ? kImpossible : AddNs(ns, space.option(option).likely_ns());
    }
    times.push_back(ns);
  }
  return times;
}

}  // namespace pt
