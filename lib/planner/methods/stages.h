// Stages of a pipeline: items in a row, cut into one stage for each place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/planner/methods/streams.h"

namespace pt {

// The place of each item, by index: places take consecutive items in their order, perhaps none, so that what the
// busiest place takes is least. times_ns[item][place]; kImpossible: it cannot run there. Empty where nothing is
// possible. Items times places squared.
std::vector<uint32_t> LeastLargestStage(std::span<const std::vector<int64_t>> times_ns);

// Where stages may run: every unit of the streams' classes once.
struct StagePlaces {
  struct Place {
    UnitId unit;
    UnitClassId unit_class;
  };
  StagePlaces(const Space& space, const Streams& streams);

  // The option of the group on the place's class; kNothing where it has none.
  uint32_t OptionAt(uint32_t group, size_t place) const;
  // Of groups one after another on each place; kImpossible where one cannot run there.
  std::vector<int64_t> TimesOf(std::span<const uint32_t> groups) const;

  const Space& space;
  const Streams& streams;
  std::vector<Place> places;  // in the order of the platform
};

}  // namespace pt
