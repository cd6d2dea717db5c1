// WorkerTeam: the cores of a wide unit while they run a step together. The leader gathers the helpers, gives them any
// number of parallel bodies and releases them; helpers do nothing else in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lib/exec/flag.h"
#include "partitiontuner/backend/backend.h"

namespace pt {

class WorkerTeam : public Team {
 public:
  WorkerTeam(uint32_t width, bool crowded);

  uint32_t width() const override { return width_; }
  // Index i runs on core i mod width; a core that does not turn up (taken away by the system) has its share done
  // by the leader, so that nobody waits for one who sleeps.
  void ParallelFor(uint32_t n, ParallelBody body) override;
  void OnEveryCore(ParallelBody body) override;

  // The leader: waits until every helper is in Help. Nothing the helpers did before is unseen afterwards.
  void Gather();
  void Release();
  // Helper `index` (1 to width - 1): takes part until released.
  void Help(uint32_t index);

 private:
  // A round is published as round << 1 | (1 if it releases the helpers).
  static constexpr uint32_t kRelease = 1;
  struct alignas(64) Share {
    std::atomic<uint32_t> claimed{0};  // the last round whose share somebody took
    Flag done;                         // the last round that a helper finished
  };

  uint32_t NextRound();
  void Publish(const ParallelBody& body, uint32_t n, uint32_t round);
  bool Claim(Share& share, uint32_t round);
  void RunShare(uint32_t index, const ParallelBody& body, uint32_t n) const;

  const uint32_t width_;
  const bool crowded_;
  uint32_t round_ = 0;
  uint32_t gathered_ = 0;  // arrivals that the leader has waited for so far
  uint32_t n_ = 0;
  const ParallelBody* body_ = nullptr;
  std::unique_ptr<Share[]> shares_;
  alignas(64) Flag published_;
  alignas(64) Flag arrived_;
};

}  // namespace pt
