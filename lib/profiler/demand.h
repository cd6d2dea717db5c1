// What share of its device a kernel asks while it runs: by several of it at once, each on a stream of its own.
#pragma once

#include "lib/profiler/bench.h"

namespace pt {

// Where several at once take s times as long as one alone, each asks for s over their number, or less where s
// is 1: then twice as many are tried, up to eight. The samples are the device's times for one of them. Fills the item
// and says that it is done; one that the device has no room for twice has failed.
Status MeasureDemand(Bench& bench, WorkItem& item);

}  // namespace pt
