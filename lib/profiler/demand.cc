#include "lib/profiler/demand.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "lib/profiler/sampling.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

// As many as have hardware queues of their own on every device: more would wait for each other there.
constexpr uint32_t kMostAtOnce = 8;
constexpr double kClearSlowdown = 1.25;  // more than noise, so that it says what each asks
constexpr uint32_t kPairs = 9, kLeastPairs = 3;

class Crowd {
 public:
  Crowd(Bench& bench, WorkItem& item) : bench_(bench), item_(item), members_{item.subject.get()} {}

  // False where the device has no room for this many.
  Result<bool> GrowTo(size_t count) {
    while (members_.size() < count) {
      PT_ASSIGN(std::unique_ptr<Subject> another, bench_.sampler.MakeSubject(item_.needed.unit_class()));
      Status status =
          another->MakeCandidate(bench_.task.graph, bench_.task.candidates[item_.needed.candidate().candidate]);
      if (!status.ok()) {
        if (status.error().code == ErrorCode::kOutOfMemory) return false;
        item_.subject->set_origin(another->origin());
        return std::move(status).error();
      }
      members_.push_back(another.get());
      others_.push_back(std::move(another));
    }
    return true;
  }

  // By how much all of them at once take longer than one: the median of pairs, taken in turns so that a drift of the
  // clock is in both. The first pair warms up.
  Result<double> Slowdown() {
    PT_ASSIGN(DeviceRunner * runner, bench_.sampler.DeviceRunnerOf(item_.needed.unit_class()));
    const std::span<Subject* const> all(members_);
    const DeviceId device = bench_.task.platform.unit_class(item_.needed.unit_class()).device;
    const Clock::time_point begin = Clock::now();
    std::vector<double> slowdowns;
    samples_.clear();
    for (uint32_t pair = 0; pair <= kPairs; ++pair) {
      PT_CHECK_OK(bench_.locks.Hold(device, [&]() -> Status {
        PT_ASSIGN(const int64_t alone_ns, runner->TimeAtOnce(all.first(1)));
        PT_ASSIGN(const int64_t all_ns, runner->TimeAtOnce(all));
        if (pair == 0) return {};
        slowdowns.push_back(static_cast<double>(all_ns) / static_cast<double>(alone_ns));
        samples_.push_back(std::max<int64_t>(1, all_ns / static_cast<int64_t>(all.size())));
        return {};
      }));
      if (pair >= kLeastPairs && Clock::now() - begin > bench_.task.options.max_time_per_key) break;
    }
    const auto middle = slowdowns.begin() + static_cast<ptrdiff_t>(slowdowns.size() / 2);
    std::nth_element(slowdowns.begin(), middle, slowdowns.end());
    return std::clamp(*middle, 1.0, static_cast<double>(all.size()));
  }

  size_t size() const { return members_.size(); }
  // Of the last slowdown: the device's time for one of them.
  std::vector<int64_t> TakeSamples() { return std::move(samples_); }

 private:
  Bench& bench_;
  WorkItem& item_;
  std::vector<Subject*> members_;  // the item's own is the first
  std::vector<std::unique_ptr<Subject>> others_;
  std::vector<int64_t> samples_;
};

}  // namespace

Status MeasureDemand(Bench& bench, WorkItem& item) {
  PT_CHECK_OK(bench.sampler.Prepare(item));
  Crowd crowd(bench, item);
  for (size_t count = 2; count <= kMostAtOnce; count *= 2) {
    PT_ASSIGN(const bool fits, crowd.GrowTo(count));
    if (!fits && crowd.size() == 1) {
      item.Fail(MakeError(ErrorCode::kOutOfMemory, "profiler.alone", "the device has no room for it twice"));
      return {};
    }
    PT_ASSIGN(const double slowdown, crowd.Slowdown());
    if (fits && slowdown < kClearSlowdown && count < kMostAtOnce) continue;
    item.row.demand = slowdown / static_cast<double>(crowd.size());
    item.samples = crowd.TakeSamples();
    item.done = true;
    break;
  }
  return {};
}

}  // namespace pt
