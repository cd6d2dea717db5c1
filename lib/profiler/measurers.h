// How each kind of cost is measured: a function and a row for each.
#pragma once

#include <span>

#include "lib/profiler/bench.h"
#include "partitiontuner/cost/needed_keys.h"

namespace pt {

struct Measurer {
  const CostKind* kind;
  // Fills in the item's first samples, or what is known without any, and says whether it is done with that. Fails the
  // item where the work cannot run; errors are of the surroundings, unless the item's subject says where they are from.
  Status (*measure)(Bench&, WorkItem&);
};

// One for each of CostKinds().
std::span<const Measurer> Measurers();
// Asserts that the item's kind has one.
Status MeasureFirst(Bench& bench, WorkItem& item);

}  // namespace pt
