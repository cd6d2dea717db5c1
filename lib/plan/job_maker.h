// JobMaker: the jobs of timed steps: their launches, alone or by segments, and their work, with all that each waits
// for.
#pragma once

#include "lib/plan/job_list.h"
#include "partitiontuner/plan/launch_segments.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {

class JobMaker {
 public:
  // drivers: by unit, the lane of the core that launches its steps; kNone: takes no core's time. Borrows all of them.
  JobMaker(const Simulator& simulator, const Platform& platform, std::span<const uint32_t> drivers,
           std::span<const TimedStep> steps, std::span<const uint32_t> waits);

  // Every step launched by itself.
  JobList Make();
  JobList Make(const LaunchSegments& segments);

 private:
  enum class By : uint8_t { kHost, kDevice };  // who sees to the order
  struct Segment {
    uint32_t launch = Job::kNone;
    std::vector<Job::Wait> start;                      // what its first step waits for beside the launch
    std::vector<std::pair<UnitId, uint32_t>> last_of;  // the last work of each of its units, the first one's before all
  };

  void Begin(size_t step, Job job);
  uint32_t End();
  void WaitFor(size_t step, By by);
  void WaitForLanes(size_t step);
  void WaitForSegmentsBefore(UnitId unit);
  void AddHostStep(size_t step);
  void AddLaunchedStep(size_t step);
  void AddStepOfSegment(size_t step, uint32_t segment);
  void LaunchSegment(uint32_t segment);
  uint32_t EndWork(size_t step);
  uint32_t driver(size_t step) const { return drivers_[steps_[step].unit.index()]; }

  const Simulator& simulator_;
  const Platform& platform_;
  std::span<const uint32_t> drivers_;
  std::span<const TimedStep> steps_;
  std::span<const uint32_t> waits_;
  const LaunchSegments* found_ = nullptr;
  JobList list_;
  Job job_;                                    // between Begin and End
  std::vector<uint32_t> work_of_;              // by step
  std::vector<uint32_t> last_;                 // by lane
  std::vector<Segment> segments_;              // by segment
  std::vector<std::vector<uint32_t>> behind_;  // by unit: what the next launch there waits for beside its lane
};

}  // namespace pt
