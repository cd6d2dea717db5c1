#include "lib/exec/team.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "partitiontuner/support/even_share.h"

namespace pt {
namespace {

// Set while this thread runs a parallel body, or a whole run alone: what it starts in there runs inline.
thread_local PerThread<bool> runs_inline = false;

// This many helpers a leader talks to by itself: another hop would cost more than the contention it saves.
constexpr uint32_t kMostFlat = 8;

}  // namespace

WorkerTeam::ScopedAlone::ScopedAlone() { runs_inline = true; }
WorkerTeam::ScopedAlone::~ScopedAlone() { runs_inline = false; }

WorkerTeam::WorkerTeam(uint32_t width, bool crowded)
    : width_(std::max<uint32_t>(width, 1)), crowded_(crowded), nodes_(width_) {
  const uint32_t helpers = width_ - 1;
  // Runs of neighbouring cores, which share caches and memory; the first of each is its captain.
  const uint32_t runs =
      helpers <= kMostFlat ? helpers : static_cast<uint32_t>(std::ceil(std::sqrt(static_cast<double>(helpers))));
  for (uint32_t run = 0; run < runs; ++run) {
    const uint32_t captain = 1 + helpers * run / runs;
    const uint32_t end = 1 + helpers * (run + 1) / runs;
    nodes_[0].members.push_back(captain);
    for (uint32_t k = captain + 1; k < end; ++k) {
      nodes_[captain].members.push_back(k);
      nodes_[k].leader = captain;
    }
  }
}

bool WorkerTeam::Claim(Node& node, uint32_t round) {
  uint32_t last = node.claimed.load(std::memory_order_relaxed);
  // Rounds have 30 bits and wrap around; a late helper's round is behind what has been claimed since.
  while (static_cast<int32_t>((round - last) << kMessageBits) > 0) {
    if (node.claimed.compare_exchange_weak(last, round, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void WorkerTeam::Publish(Message message) {
  round_ = (round_ + 1) & (~uint32_t{0} >> kMessageBits);
  nodes_[0].published.Set(round_ << kMessageBits | message);
}

void WorkerTeam::RunShare(uint32_t index) const {
  const auto [begin, end] = EvenShare(n_, index, width_);
  runs_inline = true;
  for (int64_t i = begin; i < end; ++i) (*body_)(static_cast<uint32_t>(i), n_);
  runs_inline = false;
}

// After this core's own share of the round: those of its members, by itself where they have not begun. Whoever claims a
// share answers for the members of its core too.
void WorkerTeam::FinishMembers(const Node& node, uint32_t round) {
  for (const uint32_t k : node.members) {
    Node& member = nodes_[k];
    if (steal_ && Claim(member, round)) {
      RunShare(k);
      FinishMembers(member, round);
    } else {
      member.done.WaitEqual(round, crowded_);
    }
  }
}

void WorkerTeam::RunRegion(uint32_t n, const ParallelBody& body, bool steal) {
  body_ = &body;
  n_ = n;
  steal_ = steal;
  Publish(parked_ ? kWorkParked : kWork);
  RunShare(0);
  FinishMembers(nodes_[0], round_);
}

void WorkerTeam::ParallelFor(uint32_t n, ParallelBody body) {
  if (runs_inline || width_ == 1 || n < 2) {
    for (uint32_t i = 0; i < n; ++i) body(i, n);
    return;
  }
  RunRegion(n, body, true);
}

void WorkerTeam::OnEveryCore(ParallelBody body) {
  assert(!runs_inline);
  RunRegion(width_, body, false);
}

bool WorkerTeam::Gather(const RunLimits& limits) {
  Node& own = nodes_[0];
  const uint32_t wanted = own.arrivals_wanted();
  if (!own.arrived.WaitWithin(
          limits, [wanted](uint32_t v) { return v == wanted; }, SpinTimer(crowded_)))
    return false;
  own.gathered = wanted;
  return true;
}

bool WorkerTeam::TryGather() {
  Node& own = nodes_[0];
  if (own.arrived.value() != own.arrivals_wanted()) return false;
  own.gathered = own.arrivals_wanted();
  return true;
}

void WorkerTeam::Park() {
  parked_ = true;
  if (width_ > 1) Publish(kPark);
}

void WorkerTeam::Release() {
  parked_ = false;
  if (width_ > 1) Publish(kRelease);
}

bool WorkerTeam::TryArrive(uint32_t index) {
  Node& own = nodes_[index];
  Node& leader = nodes_[own.leader];
  if (own.arrived.value() != own.arrivals_wanted()) return false;
  own.gathered = own.arrivals_wanted();
  own.seen = leader.published.value();  // before the arrival, after which there may be more
  leader.arrived.Add();
  return true;
}

bool WorkerTeam::TryLeave(uint32_t index) {
  Node& own = nodes_[index];
  const uint32_t message = nodes_[own.leader].published.value();
  if (message == own.seen || (message & kMessageMask) != kRelease) return false;
  if (!own.members.empty()) own.published.Set(message);
  return true;
}

void WorkerTeam::Help(uint32_t index) {
  Node& own = nodes_[index];
  Node& leader = nodes_[own.leader];
  if (!own.members.empty()) own.arrived.WaitEqual(own.arrivals_wanted(), crowded_);
  TryArrive(index);
  bool parked = false;
  while (true) {
    const uint32_t turns = leader.published.Wait([&own](uint32_t v) { return v != own.seen; },
                                                 parked ? SpinTimer::None() : SpinTimer(crowded_));
    own.turns.store(own.turns.load(std::memory_order_relaxed) + turns, std::memory_order_relaxed);
    own.seen = leader.published.value();
    if (!own.members.empty()) own.published.Set(own.seen);
    const uint32_t message = own.seen & kMessageMask;
    if (message == kRelease) return;
    parked = message != kWork;
    // Only who holds the claim may look at the body: the leader may have moved on otherwise.
    const uint32_t round = RoundOf(own.seen);
    if (message == kPark || !Claim(own, round)) continue;
    RunShare(index);
    FinishMembers(own, round);
    own.done.Set(round);
  }
}

uint32_t WorkerTeam::sleeping_helpers() const {
  uint32_t sum = 0;
  for (const Node& node : nodes_) sum += node.published.sleepers();
  return sum;
}

uint64_t WorkerTeam::turns_spun() const {
  uint64_t sum = 0;
  for (const Node& node : nodes_) sum += node.turns.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace pt
