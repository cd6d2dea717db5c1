#include "lib/exec/alone_choice.h"

#include <algorithm>
#include <cmath>

namespace pt {

void AloneChoice::Note(Way way, int64_t took_ns) {
  if (way != Next()) return;
  if (cold_) {
    cold_ = false;
    waited_before_ns_ = waited_ns_();
    return;
  }
  spent_ns_ += took_ns;
  if (settling_ns_ > 0) {
    settling_ns_ -= took_ns;
    return;
  }
  window_ns_ += took_ns;
  ++window_runs_;
  if (window_ns_ >= windows_.long_ns || (window_ns_ >= windows_.least_ns && window_runs_ >= 2)) EndWindow();
}

void AloneChoice::EndWindow() {
  const Way before = Next();
  const double mean_ns = static_cast<double>(window_ns_) / static_cast<double>(window_runs_);
  const int64_t waited_ns = waited_ns_();
  if (trying_) {
    EndPair(mean_ns);
  } else {
    own_mean_ns_ = mean_ns;
    own_window_ns_ = window_ns_;
    const bool disturbed = waited_ns - waited_before_ns_ >= window_ns_ / kWaitedPart;
    disturbed_ = std::clamp(disturbed_ + (disturbed ? 1 : -1), 0, kDisturbed);
    in_trial_ = trying_ = in_trial_ || TrialIsDue();
  }
  waited_before_ns_ = waited_ns;
  window_ns_ = window_runs_ = 0;
  if (Next() != before) settling_ns_ = windows_.settle_ns;
}

bool AloneChoice::TrialIsDue() const {
  if (favoured_ == Way::kTogether && disturbed_ < kDisturbed) return false;
  return !tried_ || spent_ns_ - tried_at_ns_ >= pause_ * 2 * own_window_ns_;
}

// The window before was the favoured way's.
void AloneChoice::EndPair(double mean_ns) {
  trying_ = false;
  ++pairs_;
  score_ += std::clamp(std::log(own_mean_ns_ / mean_ns), -kMostPair, kMostPair);
  const double gain = favoured_ == Way::kTogether ? windows_.gain_alone : kGain;
  if (score_ <= kLost || score_ >= kWon || pairs_ == kMostPairs) EndTrial(score_ >= std::min(kWon, gain * pairs_));
}

void AloneChoice::EndTrial(bool won) {
  if (won) {
    favoured_ = Other(favoured_);
    ++switches_;
    // Soon after the last switch this one may be luck as well, and trials stay rare.
    const bool soon = spent_ns_ - switched_at_ns_ < kSoonNs;
    pause_ = soon ? std::min(2 * pause_, windows_.most_pause) : windows_.least_pause;
    switched_at_ns_ = spent_ns_;
  } else {
    pause_ = std::min(2 * pause_, windows_.most_pause);
  }
  in_trial_ = false;
  disturbed_ = 0;
  tried_ = true;
  tried_at_ns_ = spent_ns_;
  pairs_ = 0;
  score_ = 0;
}

}  // namespace pt
