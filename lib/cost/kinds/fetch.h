// What it takes to read what another unit has left in its caches.
#pragma once

#include "lib/cost/cost_kind.h"

namespace pt {

// Steps on units of these classes read what the other's left in its caches.
bool IsFetched(const Platform& platform, UnitClassId from, UnitClassId to);
FetchCost ReadFetch(const CostReading& reading, UnitClassId from, UnitClassId to);

}  // namespace pt
