// OverlapShare: whether the runs of a session overlap often, by the last hundred or so. Pure: it knows no threads and
// no clock.
//
// A run by all cores keeps those waiting that come while it lasts. Where that is one in seven or more, what it gains
// for itself is less than what they lose: their wait, and helpers that are woken on cores that others use
// (docs/decisions/0019-beside-others.md). Alone, runs last longer and overlap more often at the same rate of requests,
// so that the way back, at one in ten, lies well below the way there.
#pragma once

namespace pt {

class OverlapShare {
 public:
  // For each run when it begins: whether another one was in progress.
  void Note(bool overlaps) {
    share_ += ((overlaps ? 1.0 : 0.0) - share_) / kRuns;
    if (share_ >= kOften) often_ = true;
    if (share_ <= kSeldom) often_ = false;
  }
  bool often() const { return often_; }

 private:
  static constexpr double kRuns = 64, kOften = 0.15, kSeldom = 0.10;
  double share_ = 0;
  bool often_ = false;
};

}  // namespace pt
