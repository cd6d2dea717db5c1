// Ledger: commits measurements to the database as they are finished, counts them and tells how far the work is.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "lib/profiler/sampling.h"
#include "lib/profiler/work_list.h"

namespace pt {

class Ledger {
 public:
  using Clock = std::chrono::steady_clock;

  // `started`: from when the budget counts.
  Ledger(const ProfilingTask& task, const WorkList& list, const ProgressCallback& progress, Clock::time_point started);

  // Cancelled, or the budget is over: noted in the report.
  bool StopNow();
  // Until when a decision may be measured so that all that come after it get their share of the budget. Without a
  // budget: for ever.
  Clock::time_point DeadlineOf(const Decision& decision) const;
  // Stores what is finished, or was stopped with enough samples to be worth keeping; frees the subject.
  Status Commit(WorkItem& item);
  // Notes that the item could not be measured this time; nothing of it is stored.
  void Skip(WorkItem& item, const Error& error);
  MeasureReport Close();

 private:
  void TellProgress(const WorkItem& item, const SampleSummary& summary);

  const ProfilingTask& task_;
  const ProgressCallback& tell_;
  const Clock::time_point started_;
  const size_t known_failures_;
  MeasureReport report_;
  MeasureProgress progress_;
  std::vector<std::pair<double, std::string>> noises_;  // of what was measured to the end, with its label
  double weight_done_ = 0, weight_left_ = 0;
};

}  // namespace pt
