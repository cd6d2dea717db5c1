#include "lib/profiler/fetch_costs.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "lib/profiler/host_caches.h"
#include "lib/profiler/pairs.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kFetchRepeats = 15;

// A buffer that some cores write and others read.
class SharedBuffer {
 public:
  SharedBuffer(size_t bytes, uint32_t cores) : bytes_(bytes, std::byte{1}), read_ns_(cores), sums_(cores) {}

  // Each writer a stretch of its own, as the steps before leave a tensor that they have worked on together.
  void WriteOn(Team& team, std::span<const uint32_t> writers) {
    ++content_;
    auto write = [&](uint32_t core, uint32_t) {
      const auto found = std::find(writers.begin(), writers.end(), core);
      if (found == writers.end()) return;
      const auto [begin, end] = StretchOf(static_cast<size_t>(found - writers.begin()), writers.size(), bytes_.size());
      if (begin < end) std::memset(bytes_.data() + begin, content_, end - begin);
    };
    team.OnEveryCore(write);
  }

  // Likewise. How long the slowest reader took.
  int64_t ReadOn(Team& team, std::span<const uint32_t> readers) {
    std::fill(read_ns_.begin(), read_ns_.end(), 0);
    auto read = [&](uint32_t core, uint32_t) {
      const auto found = std::find(readers.begin(), readers.end(), core);
      if (found == readers.end()) return;
      const auto [begin, end] = StretchOf(static_cast<size_t>(found - readers.begin()), readers.size(), bytes_.size());
      const Clock::time_point start = Clock::now();
      uint64_t sum = 0;
      for (size_t at = begin; at < end; at += kCacheLineBytes) sum += static_cast<uint64_t>(bytes_[at]);
      read_ns_[core] = (Clock::now() - start).count();
      sums_[core] += sum;
    };
    team.OnEveryCore(read);
    return *std::max_element(read_ns_.begin(), read_ns_.end());
  }

 private:
  std::vector<std::byte> bytes_;
  std::vector<int64_t> read_ns_;  // by core
  std::vector<uint64_t> sums_;    // by core: so that reading is not dropped
  unsigned char content_ = 0;
};

}  // namespace

Status MeasureFetch(Bench& bench, WorkItem& item) {
  const PairWork& pair = item.needed.pair();
  const auto units = HandOverUnits(bench.task.platform, pair.from, pair.to);
  PT_ASSIGN(const std::unique_ptr<HostCores> cores, HostCores::Make(bench.task.machine));
  const std::vector<uint32_t> from = cores->CoresOf(units->first), to = cores->CoresOf(units->second);
  SharedBuffer buffer(pair.bytes, cores->count());
  return bench.locks.Hold(kHostDevice, [&]() -> Status {
    PT_CHECK_OK(cores->Run([&](Team& team) -> Status {
      for (uint32_t repeat = 0; repeat <= kFetchRepeats; ++repeat) {
        buffer.WriteOn(team, to);
        const int64_t own_ns = buffer.ReadOn(team, to);
        buffer.WriteOn(team, from);
        const int64_t fetched_ns = buffer.ReadOn(team, to);
        if (repeat > 0) item.samples.push_back(std::max<int64_t>(1, fetched_ns - own_ns));  // the first one warms up
      }
      return {};
    }));
    item.done = true;
    return {};
  });
}

Status MeasureFetchedInputs(Bench& bench, WorkItem& item) {
  const Platform& platform = bench.task.platform;
  const UnitClassId own = item.needed.unit_class();
  PT_CHECK_OK(bench.sampler.Prepare(item));
  PT_ASSIGN(HostRunner * runner, bench.sampler.HostRunnerOf(own));
  // The runner's unit is the first of its class, and so is the first of these two.
  const auto units = HandOverUnits(platform, own, *FindMakers(platform)[own.index()]);
  const std::vector<uint32_t> makers = bench.sampler.CoresOf(units->second);
  return MeasurePairs(
      bench.locks, item, [&] { return runner->Time(*item.subject); },
      [&] { return runner->TimeFetching(makers, *item.subject); });
}

}  // namespace pt
