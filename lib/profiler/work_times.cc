#include "lib/profiler/work_times.h"

namespace pt {
namespace {

void NoteKnownTime(const ProfilingTask& task, WorkItem& item) {
  const Candidate& candidate = task.candidates[item.needed.candidate().candidate];
  const Library* library = task.machine.library(candidate.library);
  const std::optional<int64_t> ns =
      library != nullptr ? library->KnownCost(task.graph, task.platform, candidate) : std::nullopt;
  if (!ns) {
    item.Fail(MakeError(ErrorCode::kUnsupported, "profiler.simulated", "its platform file gives no time for this"));
    return;
  }
  item.row.median_ns = *ns;
  item.row.provenance = Provenance::kSimulated;
  item.done = true;
}

}  // namespace

Status MeasureRun(Bench& bench, WorkItem& item) {
  const Platform& platform = bench.task.platform;
  if (platform.device(platform.unit_class(item.needed.unit_class()).device).simulated) {
    NoteKnownTime(bench.task, item);
    return {};
  }
  PT_CHECK_OK(bench.sampler.Prepare(item));
  return bench.sampler.TakeFirst(item);
}

Status MeasureReorder(Bench& bench, WorkItem& item) {
  PT_CHECK_OK(bench.sampler.Prepare(item));
  return bench.sampler.TakeFirst(item);
}

}  // namespace pt
