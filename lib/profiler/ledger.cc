#include "lib/profiler/ledger.h"

#include <algorithm>

namespace pt {

Ledger::Ledger(const ProfilingTask& task, const WorkList& list, const ProgressCallback& progress,
               Clock::time_point started)
    : task_(task),
      tell_(progress),
      started_(started),
      known_failures_(list.known_failures),
      noises_(list.known_noises) {
  report_.needed = list.needed;
  report_.in_other_shards = list.in_other_shards;
  report_.reused = list.reused;
  progress_.total = list.needed;
  progress_.reused = list.reused;
  for (const Decision& decision : list.decisions) {
    for (const WorkItem& item : decision) weight_left_ += item.weight;
  }
}

bool Ledger::StopNow() {
  const MeasureOptions& options = task_.options;
  if (options.cancel != nullptr && options.cancel->cancelled()) report_.interrupted = true;
  if (options.budget.count() > 0 && Clock::now() - started_ > options.budget) report_.out_of_budget = true;
  return report_.interrupted || report_.out_of_budget;
}

Ledger::Clock::time_point Ledger::DeadlineOf(const Decision& decision) const {
  if (task_.options.budget.count() <= 0) return Clock::time_point::max();
  double weight = 0;
  for (const WorkItem& item : decision) weight += item.weight;
  const Clock::time_point now = Clock::now();
  const auto left = static_cast<double>((started_ + task_.options.budget - now).count());
  const double share = std::min(1.0, weight / std::max(1.0, weight_left_));
  return now + std::chrono::nanoseconds(static_cast<int64_t>(std::max(0.0, left) * share));
}

Status Ledger::Commit(WorkItem& item) {
  weight_left_ -= item.weight;
  weight_done_ += item.weight;
  item.subject.reset();
  if (item.skipped) return {};
  if (!item.done && item.samples.size() < task_.options.min_samples) return {};
  const SampleSummary summary = Summarise(item.samples);
  if (!item.samples.empty()) {
    item.row.median_ns = summary.median_ns;
    item.row.spread_ns = summary.spread_ns;
    item.row.samples = summary.samples;
    if (!item.launches.empty()) item.row.launch_ns = Summarise(item.launches).median_ns;
    if (item.finalist) {  // costs of the executor are too small for a relative error to mean anything
      noises_.emplace_back(summary.noise(), item.label);
      if (IsNoisy(summary, item.target)) ++report_.noisy;
    }
  } else if (item.row.failure.empty() && item.row.provenance == Provenance::kMeasured) {
    return {};  // stopped before the first sample
  }
  PT_CHECK_OK(task_.db.Put(item.needed.key, item.row));
  ++(item.row.failure.empty() ? report_.measured : report_.failed);
  TellProgress(item, summary);
  return {};
}

void Ledger::Skip(WorkItem& item, const Error& error) {
  item.skipped = item.done = true;
  item.samples.clear();
  item.subject.reset();
  if (report_.skipped++ == 0) report_.skip_reason = item.label + ": " + ToString(error);
}

void Ledger::TellProgress(const WorkItem& item, const SampleSummary& summary) {
  progress_.done = report_.reused + report_.measured + report_.failed;
  progress_.failed = report_.failed;
  progress_.elapsed = Clock::now() - started_;
  progress_.left = std::chrono::nanoseconds(static_cast<int64_t>(
      static_cast<double>(progress_.elapsed.count()) * std::max(0.0, weight_left_) / std::max(1.0, weight_done_)));
  if (task_.options.budget.count() > 0) {
    progress_.left = std::clamp(task_.options.budget - progress_.elapsed, std::chrono::nanoseconds(0), progress_.left);
  }
  progress_.current = item.label;
  progress_.unit_class = item.row.unit_class;
  progress_.library = item.row.library;
  progress_.failure = item.row.failure;
  progress_.ns = item.row.median_ns;
  progress_.noise = summary.noise();
  if (tell_) tell_(progress_);
}

MeasureReport Ledger::Close() {
  report_.missing = report_.needed - report_.reused - report_.measured - report_.failed;
  report_.failed += known_failures_;
  if (noises_.empty()) return report_;
  std::sort(noises_.begin(), noises_.end());
  report_.median_noise = noises_[noises_.size() / 2].first;
  report_.worst_noise = noises_.back().first;
  report_.worst_key = noises_.back().second;
  return report_;
}

}  // namespace pt
