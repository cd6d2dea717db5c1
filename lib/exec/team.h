// WorkerTeam: the cores of a wide unit while they run a step together. The leader gathers the helpers, gives them any
// number of parallel bodies and releases them; helpers do nothing else in between.
//
// Up to nine cores, the leader talks to every helper itself. Wider teams are a tree of two levels: the leader talks to
// captains, and each of those to the helpers that follow it. So no line of memory is written or awaited by more than
// about the square root of the team's cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "lib/exec/flag.h"
#include "lib/exec/sync.h"
#include "partitiontuner/backend/backend.h"

namespace pt {

class WorkerTeam : public Team {
 public:
  WorkerTeam(uint32_t width, bool crowded);

  uint32_t width() const override { return width_; }
  // Each core runs neighbouring indices, those of the leader first: steps that divide their tensors in order then find
  // on a core what the step before left there. A core that does not turn up (taken away by the system) has its share
  // done by the leader or its captain, so that no core waits for one that sleeps.
  void ParallelFor(uint32_t n, ParallelBody body) override;
  void OnEveryCore(ParallelBody body) override;

  // The leader: waits until every helper is in Help. Nothing the helpers did before is unseen afterwards. False when
  // the limits are over first; the team is not gathered then.
  bool Gather(const RunLimits& limits = {});
  // The leader, of a gathered team: until the release helpers sleep at once instead of spinning.
  void Park();
  void Release();
  // Helper `index` (1 to width - 1): takes part until released.
  void Help(uint32_t index);

  // Gather and Help in pieces that do not block, for a thread that stands in for cores that a stopped run never got.
  // True when that piece is done; a helper that has arrived leaves before it arrives again.
  bool TryGather();
  bool TryArrive(uint32_t index);
  bool TryLeave(uint32_t index);

  // While it lives, all that this thread starts on any team runs on this thread, part after part, no team gathered.
  class ScopedAlone {
   public:
    ScopedAlone();
    ~ScopedAlone();
    ScopedAlone(const ScopedAlone&) = delete;
    ScopedAlone& operator=(const ScopedAlone&) = delete;
  };

  // For tests: how many helpers sleep, or are about to; how many turns helpers have spun in waits that are over.
  uint32_t sleeping_helpers() const;
  uint64_t turns_spun() const;

 private:
  // What is published: the number of a round, and what it asks for.
  enum Message : uint32_t { kWork = 0, kWorkParked = 1, kPark = 2, kRelease = 3 };
  static constexpr uint32_t kMessageBits = 2;
  static constexpr uint32_t kMessageMask = (1U << kMessageBits) - 1;
  // A core of the team, and what those it talks to read and write.
  struct Node {
    alignas(64) Atomic<uint32_t> claimed{0};  // the last round whose share somebody took
    Flag done;                                // the last round that the core finished, members included
    std::atomic<uint64_t> turns{0};           // spun so far
    alignas(64) Flag arrived;                 // counts its members' arrivals
    alignas(64) Flag published;               // what its members wait for
    // The core's own.
    alignas(64) uint32_t leader = 0;
    std::vector<uint32_t> members;
    uint32_t gathered = 0;  // arrivals that it has waited for so far
    uint32_t seen = 0;      // of its leader's messages, the last one

    uint32_t arrivals_wanted() const { return gathered + static_cast<uint32_t>(members.size()); }
  };

  static uint32_t RoundOf(uint32_t message) { return message >> kMessageBits; }
  void Publish(Message message);
  void RunRegion(uint32_t n, const ParallelBody& body, bool steal);
  void FinishMembers(const Node& node, uint32_t round);
  static bool Claim(Node& node, uint32_t round);
  void RunShare(uint32_t index) const;

  const uint32_t width_;
  const bool crowded_;
  std::vector<Node> nodes_;  // by core
  // The leader's, written before it publishes.
  uint32_t round_ = 0;
  bool parked_ = false;
  bool steal_ = true;
  uint32_t n_ = 0;
  const ParallelBody* body_ = nullptr;
};

}  // namespace pt
