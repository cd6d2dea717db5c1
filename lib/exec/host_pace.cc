#include "partitiontuner/exec/host_pace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "partitiontuner/exec/unit_runner.h"

namespace pt {
namespace {

// Four floats, as every processor of this kind has registers for; compilers make single numbers of them elsewhere.
using Vector = float __attribute__((vector_size(16)));
// This many chains of dependent arithmetic keep all units of a core busy: two cores of a virtual machine that are one
// of the host's for a while then take twice as long, and so do networks; a single chain would not notice.
constexpr size_t kChains = 12;
constexpr int kComputeRounds = 12'000;
// Floats read, which a core's own caches hold: what they do not hold takes half as long again from one moment to the
// next, by what others on the same host do, without slowing down networks as much.
constexpr size_t kRead = size_t{64} << 10;
constexpr int kReadRounds = 4;
constexpr size_t kRepetitions = 9;
constexpr uint32_t kRoundTrips = 500;
constexpr int kHandOverRepetitions = 7;

// What one core does: arithmetic, and reading what lies in the outer of its own caches.
class Worker {
 public:
  // On the core that works, so that its memory is near.
  void Prepare() { read_.assign(kRead, 1.0F); }
  void Work() {
    std::array<Vector, kChains> chains;
    for (size_t k = 0; k < kChains; ++k) chains[k] = Vector{} + static_cast<float>(k);
    for (int round = 0; round < kComputeRounds; ++round) {
      for (Vector& chain : chains) chain = chain * 0.5F + 0.25F;
    }
    Vector computed{};
    for (const Vector& chain : chains) computed += chain;
    std::array<float, 16> sums{};
    for (int round = 0; round < kReadRounds; ++round) {
      for (size_t i = 0; i < read_.size(); i += sums.size()) {
        for (size_t k = 0; k < sums.size(); ++k) sums[k] += read_[i + k];
      }
    }
    kept_ = kept_ + computed[0] + *std::max_element(sums.begin(), sums.end());
  }

 private:
  std::vector<float> read_;
  volatile float kept_ = 0;  // so that nothing is dropped
};

}  // namespace

Result<int64_t> TimeHostPace(Machine& machine) {
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

Result<int64_t> TimeHostHandOver(Machine& machine) {
  const std::vector<UnitId> cores = SingleCoreUnits(machine.platform());
  if (cores.size() < 2) return int64_t{0};
  int64_t least_ns = INT64_MAX;
  for (int repetition = 0; repetition < kHandOverRepetitions; ++repetition) {
    PT_ASSIGN(const int64_t ns, TimeHandOvers(machine, cores.front(), cores.back(), kRoundTrips));
    least_ns = std::min(least_ns, ns / (2 * kRoundTrips));
  }
  return std::max<int64_t>(1, least_ns);
}

}  // namespace pt
