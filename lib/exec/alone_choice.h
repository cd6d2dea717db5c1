// AloneChoice: whether the next run of a plan takes all its cores or its caller alone, by how long runs of either way
// took. Pure: it knows no threads and no clock. Beside a busy process the helpers of a run come late, or lose their
// core in the middle of a step, and the caller waits for the scheduler's next tick; alone it never waits.
//
// Runs are taken in windows of some milliseconds, so that a mean holds what happens once a tick. A trial compares the
// favoured way with the other one in pairs of windows, in turns. The logarithm of a pair's quotient counts for
// kMostPair at most, so that no window decides for the other way alone, however noisy it was; the trial ends as soon as
// the sum is clear. It ends sooner where the other way loses: to stay is what costs least if it was noise.
//
// While all cores run, a trial is due where the run's threads waited for their cores in several windows, a fifth of the
// time all together, and never where they had them: then nothing is tried, and nothing lost. While the caller runs
// alone, trials alone can tell that the cores are free again. Pauses are multiples of a trial's length, and
// each trial that loses doubles the next one.
//
// Not thread-safe. Allocates nothing once it is made.
#pragma once

#include <cstdint>
#include <functional>

namespace pt {

class AloneChoice {
 public:
  enum class Way : uint8_t { kTogether, kAlone };
  static constexpr int64_t kMs = 1'000'000;
  static constexpr double kGain = 0.05;  // a pair, on the average: the logarithm of a quotient of means

  // Times of runs, summed: overlapping ones fill a window several times as fast as time passes.
  struct Windows {
    int64_t least_ns;
    int64_t long_ns;                  // one run of that length is a window
    int64_t settle_ns;                // of a trial and behind it: not counted at first
    double gain_alone;                // what the caller alone must gain where a trial was never clear
    Way first;                        // before anything was tried
    int64_t least_pause, most_pause;  // between trials, in lengths of a short one (two windows)
  };
  // Two and a half ticks of the scheduler.
  static constexpr Windows kSingle = {10 * kMs, 20 * kMs, 0, kGain, Way::kTogether, 12, 48};
  // Where runs overlap, those that began the other way disturb the first ones for a tick or two, and the caller alone
  // need gain nothing: no run of it waits for a tick, which a mean hardly shows and one run in a hundred does. So runs
  // begin alone, and what trials of the other way cost is kept below that.
  static constexpr Windows kOverlapping = {60 * kMs, 120 * kMs, 20 * kMs, 0, Way::kAlone, 200, 800};

  // `waited_ns`: how long the run's threads have waited for their cores so far, all together, counted from anywhere.
  // Called once a window.
  explicit AloneChoice(std::function<int64_t()> waited_ns, const Windows& windows = kSingle)
      : waited_ns_(std::move(waited_ns)),
        windows_(windows),
        favoured_(windows.first),
        pause_(windows.least_pause),
        tried_(favoured_ == Way::kAlone) {}

  // For the run that begins.
  Way Next() const { return trying_ ? Other(favoured_) : favoured_; }
  // Of a run that Next gave its way and that no other run of the session overlapped.
  void Note(Way way, int64_t took_ns);

  uint64_t switches() const { return switches_; }

 private:
  // In logarithms of quotients of means.
  static constexpr double kMostPair = 0.3;  // one in 1.35
  static constexpr double kWon = 0.4;       // so it takes two pairs
  static constexpr double kLost = -0.15;
  static constexpr int kMostPairs = 6;
  static constexpr int64_t kWaitedPart = 5;  // disturbed is a window of which such a part was waited, a fifth
  static constexpr int kDisturbed = 3;       // that many more windows than undisturbed ones make a trial due
  static constexpr int64_t kSoonNs = 2000 * kMs;

  static Way Other(Way way) { return way == Way::kTogether ? Way::kAlone : Way::kTogether; }
  void EndWindow();
  bool TrialIsDue() const;
  void EndPair(double mean_ns);
  void EndTrial(bool won);

  std::function<int64_t()> waited_ns_;
  Windows windows_;
  int64_t settling_ns_ = 0;  // left of what is not counted
  Way favoured_;
  bool cold_ = true;  // the first run, which finds nothing in any cache
  bool in_trial_ = false;
  bool trying_ = false;  // the other way, in this window
  int64_t window_runs_ = 0, window_ns_ = 0;
  double own_mean_ns_ = 0;  // of the favoured way's last window
  int64_t own_window_ns_ = 0;
  int64_t waited_before_ns_ = 0;  // up to this window
  int disturbed_ = 0;             // windows together, less the undisturbed ones, 0 at least
  int pairs_ = 0;
  double score_ = 0;
  int64_t pause_;
  bool tried_;  // or need not be at once
  // Time in runs, since what passes between them costs nothing.
  int64_t spent_ns_ = 0, tried_at_ns_ = 0, switched_at_ns_ = -kSoonNs;
  uint64_t switches_ = 0;
};

}  // namespace pt
