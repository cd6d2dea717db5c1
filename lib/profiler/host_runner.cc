#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "lib/profiler/runner.h"

namespace pt {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What reading the clock twice costs by itself.
int64_t ClockOverheadNs() {
  int64_t least = INT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    const int64_t start = NowNs();
    least = std::min(least, NowNs() - start);
  }
  return least;
}

// How often the system has taken a core of the team away so far.
int64_t Preemptions(Team& team) {
  std::atomic<int64_t> sum{0};
  auto count = [&](uint32_t, uint32_t) {
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) == 0) sum += usage.ru_nivcsw;
  };
  team.OnEveryCore(count);
  return sum;
}

class CoresRunner : public HostRunner {
 public:
  CoresRunner(std::unique_ptr<UnitRunner> unit, std::vector<uint32_t> cores, HostCaches& caches)
      : unit_(std::move(unit)), cores_(std::move(cores)), caches_(caches) {}

  CompileContext compile_context() const override { return unit_->compile_context(); }

  Result<Timing> Time(Subject& subject) override { return TimeFetching(cores_, subject); }

  Result<Timing> TimeFetching(std::span<const uint32_t> makers, Subject& subject) override {
    PT_CHECK_OK(caches_.PrepareFor(subject, cores_, makers));
    Timing timing;
    PT_CHECK_OK(
        unit_->Run([&](Stream& stream) { return TimeOnce(stream, subject, timing); }, subject.brings_threads()));
    return timing;
  }

  Result<Timing> TimeBeside(Hogs& hogs, Subject& subject) override {
    PT_CHECK_OK(caches_.Prepare(subject, cores_));
    Timing timing;
    PT_CHECK_OK(unit_->RunBeside(
        hogs.AsOthers(),
        [&](Stream& stream) {
          hogs.AwaitAll();
          return TimeOnce(stream, subject, timing);
        },
        subject.brings_threads()));
    return timing;
  }

 private:
  // One execution, however short: the second of several in a row would find the constants that the first has brought
  // into its caches.
  Status TimeOnce(Stream& stream, Subject& subject, Timing& timing) const {
    Team& team = *stream.team();
    const int64_t preemptions = Preemptions(team);
    const int64_t start = NowNs();
    Status status = subject.Enqueue(stream);
    const int64_t ns = NowNs() - start - clock_ns_;
    timing = {std::max<int64_t>(ns, 1), Preemptions(team) != preemptions};
    return status;
  }

  const std::unique_ptr<UnitRunner> unit_;
  const std::vector<uint32_t> cores_;  // of the unit, as HostCores counts them
  HostCaches& caches_;
  const int64_t clock_ns_ = ClockOverheadNs();
};

}  // namespace

Result<std::unique_ptr<HostRunner>> MakeHostRunner(Machine& machine, UnitId unit, std::vector<uint32_t> cores,
                                                   HostCaches& caches) {
  PT_ASSIGN(auto unit_runner, UnitRunner::Make(machine, unit));
  return std::unique_ptr<HostRunner>(std::make_unique<CoresRunner>(std::move(unit_runner), std::move(cores), caches));
}

}  // namespace pt
