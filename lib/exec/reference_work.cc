#include "partitiontuner/exec/reference_work.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "partitiontuner/exec/unit_runner.h"

namespace pt {
namespace {

constexpr size_t kComputed = size_t{16} << 10;  // floats, which the inner caches hold
constexpr size_t kRead = size_t{1} << 20;       // floats, which they do not
constexpr int kRounds = 12;
constexpr size_t kRepetitions = 15;

// Half the time goes to arithmetic, half to reading what lies in an outer cache or in memory.
float DoReferenceWork(std::vector<float>& computed, const std::vector<float>& read) {
  for (int round = 0; round < kRounds; ++round) {
    for (float& x : computed) x = ((x * 0.5F + 0.25F) * x + 0.125F) * 0.5F;
  }
  std::array<float, 16> sums{};
  for (size_t i = 0; i < read.size(); i += sums.size()) {
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += read[i + k];
  }
  return computed[computed.size() / 2] + *std::max_element(sums.begin(), sums.end());
}

UnitId UnitOfOneCore(const Platform& platform) {
  for (size_t u = 0; u < platform.units.size(); ++u) {
    const Unit& unit = platform.units[u];
    if (unit.link) continue;
    const UnitClass& unit_class = platform.unit_class(unit.unit_class);
    if (unit_class.on_host() && unit_class.cores == 1) return UnitId(u);
  }
  return UnitId();
}

}  // namespace

Result<int64_t> TimeReferenceWork(Machine& machine) {
  using Clock = std::chrono::steady_clock;
  const UnitId unit = UnitOfOneCore(machine.platform());
  if (!unit.valid()) {
    return MakeError(ErrorCode::kUnsupported, "reference_work.unit", "this machine has no unit of one host core");
  }
  PT_ASSIGN(const std::unique_ptr<UnitRunner> runner, UnitRunner::Make(machine, unit));
  std::vector<float> computed(kComputed, 0.5F), read(kRead, 1.0F);
  std::array<int64_t, kRepetitions> times{};
  volatile float kept = 0;  // so that nothing is dropped
  const auto repeat = [&](Stream&) -> Status {
    for (int64_t& ns : times) {
      const Clock::time_point start = Clock::now();
      kept = kept + DoReferenceWork(computed, read);
      ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
    }
    return {};
  };
  PT_CHECK_OK(runner->Run(repeat));
  std::sort(times.begin(), times.end());
  return std::max<int64_t>(1, times[kRepetitions / 2]);
}

}  // namespace pt
