// How a search gets on, shown while it runs: the best makespan so far and the time that it has taken.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "partitiontuner/planner/planning_watch.h"
#include "tools/common/console.h"
#include "tools/common/interrupt.h"

namespace pt::tools {

// Draws from a thread of its own, until plans are measured or this ends; meanwhile nothing else uses the console.
class PlanningProgress {
 public:
  // interrupt: ends planning with the best plan so far; may be null. what: is done. All outlive this.
  PlanningProgress(Console& console, const InterruptWatch* interrupt, std::string_view what = "searching");
  ~PlanningProgress();
  PlanningProgress(const PlanningProgress&) = delete;

  PlanningWatch& watch() { return watch_; }

 private:
  void DrawUntilTheEnd();

  Console& console_;
  std::string_view what_;
  PlanningWatch watch_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace pt::tools
