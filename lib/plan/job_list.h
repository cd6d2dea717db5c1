// JobList: what occupies lanes for a while, as Simulator makes it of steps. A step is one job; a step of a unit with a
// driver is two: the launch on the driver's core, then the work on the unit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitiontuner/plan/happens_before.h"

namespace pt {

struct Job {
  static constexpr uint32_t kNone = Lanes::kNone;
  struct Wait {
    uint32_t job;  // that ends before
    int64_t ns;    // from its end to the start
  };
  uint32_t step = 0;
  bool is_work = true;
  uint32_t first_wait = 0, end_wait = 0;  // of JobList::waits
  int64_t fixed_ns = 0, run_ns = 0;       // nothing slows down the first part
  int64_t start_ns = 0, end_ns = 0;
  uint32_t blocker = kNone;  // the job whose end decided the start
};

struct JobList {
  std::vector<Job> jobs;  // each behind those that it waits for
  std::vector<Job::Wait> waits;

  std::span<const Job::Wait> waits_of(const Job& job) const {
    return std::span(waits).subspan(job.first_wait, job.end_wait - job.first_wait);
  }
};

}  // namespace pt
