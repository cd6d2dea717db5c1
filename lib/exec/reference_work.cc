#include "partitiontuner/exec/reference_work.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "partitiontuner/exec/unit_runner.h"

namespace pt {
namespace {

// Floats. A core's own caches hold both: what they do not hold takes half as long again from one moment to the next,
// by what others on the same host do, without slowing down networks as much.
constexpr size_t kComputed = size_t{16} << 10;
constexpr size_t kRead = size_t{64} << 10;
constexpr int kComputeRounds = 6, kReadRounds = 8;
constexpr size_t kRepetitions = 9;

// What one core does: arithmetic, and reading what lies in the outer of its own caches.
class Worker {
 public:
  // On the core that works, so that its memory is near.
  void Prepare() {
    computed_.assign(kComputed, 0.5F);
    read_.assign(kRead, 1.0F);
  }
  void Work() {
    for (int round = 0; round < kComputeRounds; ++round) {
      for (float& x : computed_) x = ((x * 0.5F + 0.25F) * x + 0.125F) * 0.5F;
    }
    std::array<float, 16> sums{};
    for (int round = 0; round < kReadRounds; ++round) {
      for (size_t i = 0; i < read_.size(); i += sums.size()) {
        for (size_t k = 0; k < sums.size(); ++k) sums[k] += read_[i + k];
      }
    }
    kept_ = kept_ + computed_[computed_.size() / 2] + *std::max_element(sums.begin(), sums.end());
  }

 private:
  std::vector<float> computed_, read_;
  volatile float kept_ = 0;  // so that nothing is dropped
};

}  // namespace

Result<int64_t> TimeReferenceWork(Machine& machine) {
  using Clock = std::chrono::steady_clock;
  const Platform& platform = machine.platform();
  const UnitId unit = WidestHostUnit(platform);
  if (!unit.valid()) return int64_t{0};
  PT_ASSIGN(const std::unique_ptr<UnitRunner> runner, UnitRunner::Make(machine, unit));
  const uint32_t cores = platform.unit_class(platform.unit(unit).unit_class).cores;
  std::vector<Worker> workers(cores);
  std::array<int64_t, kRepetitions> times{};
  auto prepare = [&](uint32_t core, uint32_t) { workers[core].Prepare(); };
  auto work = [&](uint32_t core, uint32_t) { workers[core].Work(); };
  PT_CHECK_OK(runner->Run([&](Stream& stream) -> Status {
    stream.team()->ParallelFor(cores, prepare);
    for (int64_t& ns : times) {
      const Clock::time_point start = Clock::now();
      stream.team()->ParallelFor(cores, work);
      ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
    }
    return {};
  }));
  // A slower host slows down all of them; the others were interrupted.
  return std::max<int64_t>(1, *std::min_element(times.begin(), times.end()));
}

}  // namespace pt
