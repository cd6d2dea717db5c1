// EventRun: jobs that slow each other down while they run at once, as a fluid simulation: whenever one starts or ends,
// the speed of all that run is found anew.
#pragma once

#include <functional>
#include <queue>
#include <utility>

#include "lib/plan/job_list.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {

class EventRun {
 public:
  // Borrows all of them.
  EventRun(const Platform& platform, const CostModel& costs, std::span<const TimedStep> steps, JobList& list);

  // Fills in starts, ends and blockers. False, with them unfinished, as soon as it is certain that some job ends later
  // than limit_ns. Once.
  bool Run(int64_t limit_ns);

 private:
  struct Running {
    uint32_t job = 0;
    double left_fixed_ns = 0, left_run_ns = 0;  // of the latter at full speed
    double factor = 1;                          // how many times as long that takes now
  };
  struct Follower {
    uint32_t job = 0;
    int64_t wait_ns = 0;
  };

  void IndexFollowers();
  void IndexBounds();
  double NextEvent() const;
  void AdvanceTo(double ns);
  void EndWhatIsOver();
  void End(uint32_t job);
  void StartWhatIsReady();
  void FindFactors();
  double Slowdown(const Running& run);
  bool IsHopeless(double limit_ns) const;

  std::span<const std::pair<ResourceId, double>> UsesOf(uint32_t job) const {
    return platform_.unit(steps_[list_.jobs[job].step].unit).uses;
  }
  // What the job asks of a resource of which its unit uses that share.
  double Asked(uint32_t job, double share) const {
    const double demand = steps_[list_.jobs[job].step].demand;
    return demand > 0 ? demand : share;
  }

  const Platform& platform_;
  const CostModel& costs_;
  const bool has_slowdown_;
  std::span<const TimedStep> steps_;
  JobList& list_;
  std::vector<uint32_t> first_follower_;  // by job, and the end
  std::vector<Follower> followers_;
  std::vector<uint32_t> open_;    // by job: waits that are not over
  std::vector<double> ready_ns_;  // by job: when the waits that are over let it start
  using Start = std::pair<double, uint32_t>;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  std::vector<Running> running_;  // by job
  std::vector<uint32_t> ended_;
  std::vector<double> asked_;  // by resource, of what runs
  std::vector<const Candidate*> beside_;
  double now_ns_ = 0;
  // With a limit alone: what must follow the end of each job at least; and by resource, the work that is left, as time
  // of the whole resource.
  bool is_limited_ = false;
  std::vector<int64_t> after_ns_;
  std::vector<double> left_ns_;
};

}  // namespace pt
