#include "lib/profiler/device_runner.h"

#include <algorithm>
#include <map>
#include <vector>

#include "lib/profiler/timed_queue.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr uint64_t kMostShareOfMemory = 8;  // no device has caches of that part of its memory
constexpr int kForkRepeats = 5;

class StreamRunner : public DeviceRunner {
 public:
  StreamRunner(Machine& machine, UnitId unit, TimedQueue queue)
      : machine_(machine), driver_(machine.driver(machine.platform().device_of(unit))), queue_(std::move(queue)) {}

  Status Allocate(uint64_t reuse_distance) {
    const uint64_t memory_bytes = machine_.platform().device(driver_.id()).memory_bytes;
    if (memory_bytes > 0) reuse_distance = std::min(reuse_distance, memory_bytes / kMostShareOfMemory);
    PT_ASSIGN(junk_, driver_.Allocate(reuse_distance / 2));
    PT_ASSIGN(more_junk_, driver_.Allocate(reuse_distance / 2));
    PT_ASSIGN(fork_, driver_.MakeUntimedEvent());
    return {};
  }

  CompileContext compile_context() const override {
    return {machine_.platform(), driver_, nullptr, machine_.weights(), nullptr};
  }

  Result<Timing> Time(Subject& subject) override {
    Subject* const only[] = {&subject};
    PT_ASSIGN(const int64_t ns, TimeAtOnce(only));
    return Timing{ns, false, queue_.launch_ns()};
  }

  Result<int64_t> TimeAtOnce(std::span<Subject* const> subjects) override {
    Result<int64_t> ns = TimeUnderCopies(subjects);
    if (ns.ok()) return ns;
    Error error = std::move(ns).error();
    if (Status drained = DrainBranches(); !drained.ok()) error = std::move(drained).error();
    if (error.id == kDeviceHangs) {
      for (Subject* subject : subjects) subject->Abandon();
      Abandon();
    } else {
      subjects.front()->set_origin(OriginOf(subjects));
    }
    return error;
  }

 private:
  // Beside the queue's own stream.
  struct Branch {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> end;
  };

  Result<int64_t> TimeUnderCopies(std::span<Subject* const> subjects) {
    while (branches_.size() + 1 < subjects.size()) {
      Branch branch;
      PT_ASSIGN(branch.stream, driver_.MakeStream());
      PT_ASSIGN(branch.end, driver_.MakeUntimedEvent());
      branches_.push_back(std::move(branch));
    }
    PT_ASSIGN(const int64_t fork_ns, ForkNs(subjects.size()));
    PT_ASSIGN(const int64_t ns,
              queue_.Time([&] { return Prepare(subjects); }, [&] { return Fork(subjects.size(), subjects); }));
    return std::max<int64_t>(ns - fork_ns, 1);
  }

  // As between two of its turns in a run: the device's caches have seen as much else as the key says, and the inputs.
  // Where fillers came before, they have taken out what the turn before had left: it is made up for.
  Status Prepare(std::span<Subject* const> subjects) {
    Stream& stream = queue_.stream();
    if (queue_.primes()) {
      PT_CHECK_OK(CopyInputs(subjects));
      for (Subject* subject : subjects) PT_CHECK_OK(subject->Enqueue(stream));
    }
    PT_CHECK_OK(driver_.EnqueueCopy(stream, more_junk_->data(), junk_->data(), junk_->bytes(), CopyDirection::kWithin));
    return CopyInputs(subjects);
  }

  Status CopyInputs(std::span<Subject* const> subjects) {
    for (Subject* subject : subjects) {
      for (const Subject::Input& input : subject->inputs()) {
        if (input.fresh->bytes() == 0) continue;
        PT_CHECK_OK(driver_.EnqueueCopy(queue_.stream(), input.buffer->data(), input.fresh->data(),
                                        input.fresh->bytes(), CopyDirection::kToDevice));
      }
    }
    return {};
  }

  // `count` branches that start together and are waited for; work for them may be missing.
  Status Fork(size_t count, std::span<Subject* const> subjects) {
    Stream& first = queue_.stream();
    if (count > 1) PT_CHECK_OK(first.Record(*fork_));
    for (size_t i = 1; i < count; ++i) {
      Branch& branch = branches_[i - 1];
      PT_CHECK_OK(branch.stream->Wait(*fork_));
      if (i < subjects.size()) PT_CHECK_OK(subjects[i]->Enqueue(*branch.stream));
      PT_CHECK_OK(branch.stream->Record(*branch.end));
    }
    if (!subjects.empty()) PT_CHECK_OK(subjects.front()->Enqueue(first));
    for (size_t i = 1; i < count; ++i) PT_CHECK_OK(first.Wait(*branches_[i - 1].end));
    return {};
  }

  // What waiting for each other takes this many streams.
  Result<int64_t> ForkNs(size_t count) {
    if (count == 1) return 0;
    const auto known = fork_ns_.find(count);
    if (known != fork_ns_.end()) return known->second;
    int64_t least = INT64_MAX;
    for (int i = 0; i < kForkRepeats; ++i) {
      PT_ASSIGN(const int64_t ns, queue_.Time([&] { return Fork(count, {}); }));
      least = std::min(least, ns);
    }
    return fork_ns_[count] = least;
  }

  Status DrainBranches() {
    for (Branch& branch : branches_) PT_CHECK_OK(DrainStream(driver_, *branch.stream));
    return {};
  }

  void Abandon() {
    queue_.Abandon();
    static_cast<void>(junk_.release());
    static_cast<void>(more_junk_.release());
    static_cast<void>(fork_.release());
    for (Branch& branch : branches_) {
      static_cast<void>(branch.stream.release());
      static_cast<void>(branch.end.release());
    }
  }

  static Origin OriginOf(std::span<Subject* const> subjects) {
    const auto told = std::ranges::find_if(subjects, [](Subject* s) { return s->origin() != Origin::kElsewhere; });
    return told == subjects.end() ? Origin::kDevice : (*told)->origin();
  }

  Machine& machine_;
  DeviceDriver& driver_;
  TimedQueue queue_;
  std::unique_ptr<DeviceBuffer> junk_, more_junk_;
  std::unique_ptr<Event> fork_;
  std::vector<Branch> branches_;
  std::map<size_t, int64_t> fork_ns_;  // by how many
};

}  // namespace

Result<std::unique_ptr<DeviceRunner>> MakeDeviceRunner(Machine& machine, UnitId unit, uint64_t reuse_distance,
                                                       const CancelToken* cancel) {
  PT_ASSIGN(TimedQueue queue, TimedQueue::Make(machine.driver(machine.platform().device_of(unit)), cancel));
  auto runner = std::make_unique<StreamRunner>(machine, unit, std::move(queue));
  PT_CHECK_OK(runner->Allocate(reuse_distance));
  return std::unique_ptr<DeviceRunner>(std::move(runner));
}

}  // namespace pt
