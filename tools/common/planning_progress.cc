#include "tools/common/planning_progress.h"

#include <chrono>

namespace pt::tools {

PlanningProgress::PlanningProgress(Console& console, const InterruptWatch* interrupt, std::string_view what)
    : console_(console),
      what_(what),
      watch_([interrupt] { return interrupt != nullptr && interrupt->token().cancelled(); }),
      thread_([this] { DrawUntilTheEnd(); }) {}

PlanningProgress::~PlanningProgress() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_one();
  thread_.join();
  console_.EndProgress();
}

void PlanningProgress::DrawUntilTheEnd() {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPeriod{100};
  const auto start = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kPeriod, [this] { return ends_; })) {
    if (!watch_.measures()) console_.ShowSearch(what_, watch_.best_ns(), steady_clock::now() - start);
  }
}

}  // namespace pt::tools
