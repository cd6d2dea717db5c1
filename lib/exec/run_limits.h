// RunLimits: what ends a run before its last step: its deadline, or somebody who cancels it. Every wait of the thread
// that called Run looks at them: for a run state, for cores, for other cores of the run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "lib/exec/clock.h"
#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/support/result.h"

namespace pt {

class RunLimits {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  RunLimits() = default;  // none
  // The deadline counts from start_ns, by NowNs; one beyond the clock's range is none.
  RunLimits(std::optional<std::chrono::nanoseconds> deadline, const CancelToken* cancel, int64_t start_ns)
      : cancel_(cancel) {
    if (deadline && __builtin_add_overflow(start_ns, deadline->count(), &deadline_ns_)) deadline_ns_ = kNever;
  }

  bool Over() const { return Cancelled() || (deadline_ns_ != kNever && NowNs() >= deadline_ns_); }
  // When a sleeper has to look again. A token wakes no thread, so one that may be cancelled looks often.
  int64_t NextLookNs() const {
    constexpr int64_t kBetweenLooksNs = 1'000'000;
    return cancel_ == nullptr ? deadline_ns_ : std::min(deadline_ns_, NowNs() + kBetweenLooksNs);
  }
  // Which of them it was, once they are over.
  Error error() const {
    return Cancelled() ? MakeError(ErrorCode::kRunFailed, "run.cancelled", "the run was cancelled")
                       : MakeError(ErrorCode::kRunFailed, "run.deadline", "the run was not over by its deadline");
  }

 private:
  bool Cancelled() const { return cancel_ != nullptr && cancel_->cancelled(); }

  const CancelToken* cancel_ = nullptr;
  int64_t deadline_ns_ = kNever;
};

}  // namespace pt
