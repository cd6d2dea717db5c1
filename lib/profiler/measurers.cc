#include "lib/profiler/measurers.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "lib/profiler/beside_costs.h"
#include "lib/profiler/demand.h"
#include "lib/profiler/executor_costs.h"
#include "lib/profiler/fetch_costs.h"
#include "lib/profiler/work_times.h"

namespace pt {

std::span<const Measurer> Measurers() {
  static constexpr std::array kMeasurers = {
      Measurer{&kOverheadKind, MeasureOverhead},
      Measurer{&kWaitKind, MeasureWait},
      Measurer{&kFetchKind, MeasureFetch},
      Measurer{&kSegmentKind, MeasureSegment},
      Measurer{&kStreamWaitKind, MeasureStreamWaits},
      Measurer{&kRunKind, MeasureRun},
      Measurer{&kFetchedInputsKind, MeasureFetchedInputs},
      Measurer{&kDemandKind, MeasureDemand},
      Measurer{&kBesideMemoryKind, MeasureBesideMemory},
      Measurer{&kBesideComputeKind, MeasureBesideCompute},
      Measurer{&kMemoryHogKind, MeasureMemoryHogs},
      Measurer{&kReorderKind, MeasureReorder},
      Measurer{&kCopyKind, MeasureCopy},
  };
  return kMeasurers;
}

Status MeasureFirst(Bench& bench, WorkItem& item) {
  const auto row = std::ranges::find(Measurers(), item.needed.kind, &Measurer::kind);
  assert(row != Measurers().end());
  return row->measure(bench, item);
}

}  // namespace pt
