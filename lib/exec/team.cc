#include "lib/exec/team.h"

#include <algorithm>
#include <cassert>

namespace pt {
namespace {

// Set while this thread runs a parallel body: what it starts in there runs inline.
thread_local bool in_body = false;

}  // namespace

WorkerTeam::WorkerTeam(uint32_t width, bool crowded)
    : width_(std::max<uint32_t>(width, 1)), crowded_(crowded), shares_(std::make_unique<Share[]>(width_)) {}

bool WorkerTeam::Claim(Share& share, uint32_t round) {
  uint32_t last = share.claimed.load(std::memory_order_relaxed);
  // Rounds have 31 bits and wrap around; a late helper's round is behind what has been claimed since.
  while (static_cast<int32_t>((round - last) << 1) > 0) {
    if (share.claimed.compare_exchange_weak(last, round, std::memory_order_acq_rel)) return true;
  }
  return false;
}

uint32_t WorkerTeam::NextRound() {
  round_ = (round_ + 1) & (~uint32_t{0} >> 1);
  return round_;
}

void WorkerTeam::RunShare(uint32_t index, const ParallelBody& body, uint32_t n) const {
  in_body = true;
  for (uint32_t i = index; i < n; i += width_) body(i, n);
  in_body = false;
}

void WorkerTeam::ParallelFor(uint32_t n, ParallelBody body) {
  if (in_body || width_ == 1 || n < 2) {
    for (uint32_t i = 0; i < n; ++i) body(i, n);
    return;
  }
  const uint32_t round = NextRound();
  Publish(body, n, round);
  RunShare(0, body, n);
  for (uint32_t k = 1; k < width_; ++k) {
    Share& share = shares_[k];
    if (Claim(share, round)) {
      RunShare(k, body, n);
    } else {
      share.done.WaitEqual(round, crowded_);
    }
  }
}

void WorkerTeam::OnEveryCore(ParallelBody body) {
  assert(!in_body);
  const uint32_t round = NextRound();
  Publish(body, width_, round);
  RunShare(0, body, width_);
  for (uint32_t k = 1; k < width_; ++k) shares_[k].done.WaitEqual(round, crowded_);
}

void WorkerTeam::Publish(const ParallelBody& body, uint32_t n, uint32_t round) {
  body_ = &body;
  n_ = n;
  published_.Set(round << 1);
}

void WorkerTeam::Gather() {
  gathered_ += width_ - 1;
  arrived_.WaitEqual(gathered_, crowded_);
}

void WorkerTeam::Release() {
  if (width_ > 1) published_.Set(NextRound() << 1 | kRelease);
}

void WorkerTeam::Help(uint32_t index) {
  uint32_t seen = published_.value();
  arrived_.Add();
  Share& share = shares_[index];
  while (true) {
    published_.Wait([seen](uint32_t v) { return v != seen; }, crowded_);
    seen = published_.value();
    if ((seen & kRelease) != 0) return;
    const uint32_t round = seen >> 1;
    // Only who holds the claim may look at the body: the leader may have moved on otherwise.
    if (!Claim(share, round)) continue;
    RunShare(index, *body_, n_);
    share.done.Set(round);
  }
}

}  // namespace pt
