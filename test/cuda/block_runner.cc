#include "test/cuda/block_runner.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <vector>

namespace pt::testing {
namespace {

constexpr uint32_t kMostThreads = 1024, kLanes = 32;
constexpr size_t kStackBytes = size_t{64} << 10;

enum class Stop : uint8_t { kNone, kAtBarrier, kAtMeeting, kAtEnd };

// A thread, and where it has stopped.
struct Fiber {
  ucontext_t context = {};
  Stop stop = Stop::kNone;
  unsigned place = 0, line = 0;  // the barrier's number, or the meeting's place
  unsigned lanes = 0;            // that meet
  int purpose = 0;               // of the meeting
  unsigned long long value = 0;  // taken there, and brought from there
};

alignas(16) std::array<std::array<char, kStackBytes>, kMostThreads> stacks;
std::array<Fiber, kMostThreads> fibers;

class Runner {
 public:
  Runner(const HostLaunch& launch, KernelJudge& judge) : launch_(launch), judge_(judge) {}

  void Run();

  // What kernels call.
  void OnBarrier(unsigned number, unsigned line);
  unsigned long long OnMeeting(unsigned place, unsigned line, unsigned lanes, int purpose, unsigned long long value);
  void OnAccess(const void* at, unsigned long bytes, int kind, const void* caller);
  void OnMisuse(const char* what, unsigned line, unsigned long number);

 private:
  static void RunThread();
  static void RunThreadsInTurn();

  uint32_t thread() const { return launch_.state->thread.x; }
  // Without waits one fiber is enough, which runs thread after thread.
  Fiber& Mine() { return fibers[launch_.waits ? thread() : 0]; }
  void Leave() { swapcontext(&Mine().context, &scheduler_); }
  void End() {
    is_over_ = true;
    Leave();
  }

  void Begin(uint32_t fiber, void (*body)());
  void Resume(uint32_t fiber);
  void RunTogether();
  // Once none can go on by itself: lets go who may. False when nobody was.
  bool Release();
  bool ReleaseMeetings();
  bool ReleaseBarrier();
  // Everybody who meets with that thread is there.
  bool IsComplete(uint32_t thread) const;
  void Complete(uint32_t thread);
  bool TakesPart(uint32_t first, uint32_t lane, unsigned lanes) const {
    return (lanes >> lane & 1U) != 0 && first + lane < launch_.threads && fibers[first + lane].stop != Stop::kAtEnd;
  }

  const HostLaunch& launch_;
  KernelJudge& judge_;
  ucontext_t scheduler_ = {};
  bool is_over_ = false;  // before its end
};

Runner* running = nullptr;

void Runner::RunThread() {
  running->launch_.entry(running->launch_.arguments);
  running->Mine().stop = Stop::kAtEnd;
  running->Mine().place = 0;
}

void Runner::RunThreadsInTurn() {
  PtState& state = *running->launch_.state;
  for (state.thread.x = 0; state.thread.x < running->launch_.threads; ++state.thread.x) {
    running->launch_.entry(running->launch_.arguments);
  }
  running->Mine().stop = Stop::kAtEnd;
}

void Runner::OnBarrier(unsigned number, unsigned line) {
  if (launch_.left_out == number) return;
  Fiber& mine = Mine();
  mine.stop = Stop::kAtBarrier;
  mine.place = number;
  mine.line = line;
  Leave();
}

unsigned long long Runner::OnMeeting(unsigned place, unsigned line, unsigned lanes, int purpose,
                                     unsigned long long value) {
  Fiber& mine = Mine();
  mine.stop = Stop::kAtMeeting;
  mine.place = place;
  mine.line = line;
  mine.lanes = lanes;
  mine.purpose = purpose;
  mine.value = value;
  Leave();
  return mine.value;
}

void Runner::OnAccess(const void* at, unsigned long bytes, int kind, const void* caller) {
  // A thread's own variables, and its names.
  const char *const data = static_cast<const char*>(at), *const names = reinterpret_cast<const char*>(launch_.state);
  if (data >= stacks.front().data() && data < stacks.back().data() + kStackBytes) return;
  if (data >= names && data < names + sizeof(PtState)) return;
  if (!judge_.OnAccess(thread(), reinterpret_cast<uintptr_t>(at), bytes, static_cast<AccessKind>(kind),
                       reinterpret_cast<uintptr_t>(caller))) {
    End();
  }
}

void Runner::OnMisuse(const char* what, unsigned line, unsigned long number) {
  judge_.OnMisuse(thread(), what, line, number);
  End();
}

void Runner::Begin(uint32_t fiber, void (*body)()) {
  Fiber& begun = fibers[fiber];
  begun.stop = Stop::kNone;
  getcontext(&begun.context);
  begun.context.uc_stack.ss_sp = stacks[fiber].data();
  begun.context.uc_stack.ss_size = kStackBytes;
  begun.context.uc_link = &scheduler_;
  makecontext(&begun.context, body, 0);
}

void Runner::Resume(uint32_t fiber) {
  fibers[fiber].stop = Stop::kNone;
  swapcontext(&scheduler_, &fibers[fiber].context);
}

bool Runner::IsComplete(uint32_t thread) const {
  const Fiber& one = fibers[thread];
  const uint32_t first = thread / kLanes * kLanes;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (!TakesPart(first, lane, one.lanes)) continue;
    const Fiber& other = fibers[first + lane];
    if (other.stop != Stop::kAtMeeting || other.place != one.place || other.lanes != one.lanes) return false;
  }
  return true;
}

void Runner::Complete(uint32_t thread) {
  const uint32_t first = thread / kLanes * kLanes;
  const unsigned lanes = fibers[thread].lanes;
  std::array<unsigned long long, kLanes> values = {};
  unsigned long long votes = 0;
  unsigned there = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (!TakesPart(first, lane, lanes)) continue;
    there |= 1U << lane;
    values[lane] = fibers[first + lane].value;
    if (values[lane] != 0) votes |= 1ULL << lane;
  }
  if (fibers[thread].purpose == kToOrderMemory) judge_.OnMeeting(first, there);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((there >> lane & 1U) == 0) continue;
    Fiber& other = fibers[first + lane];
    const uint32_t asked = static_cast<uint32_t>(other.purpose) % kLanes;
    if (other.purpose >= 0 && (there >> asked & 1U) == 0) {
      judge_.OnMisuse(first + lane, "a lane asks for the value of one that does not meet it:", other.line,
                      static_cast<uint64_t>(other.purpose));
      is_over_ = true;
      return;
    }
    other.value = other.purpose >= 0 ? values[asked] : votes;
    other.stop = Stop::kNone;
  }
}

bool Runner::ReleaseMeetings() {
  bool any = false;
  for (uint32_t t = 0; t < launch_.threads; ++t) {
    if (fibers[t].stop != Stop::kAtMeeting) continue;
    if ((fibers[t].lanes >> t % kLanes & 1U) == 0) {
      judge_.OnMisuse(t, "a lane meets others and does not name itself, but", fibers[t].line, fibers[t].lanes);
      is_over_ = true;
      return false;
    }
    if (!IsComplete(t)) continue;
    Complete(t);
    if (is_over_) return false;
    any = true;
  }
  return any;
}

bool Runner::ReleaseBarrier() {
  // One of each place where threads have stopped.
  std::vector<StoppedThread> stopped;
  bool waits_for_lanes = false;
  for (uint32_t t = 0; t < launch_.threads; ++t) {
    const Fiber& fiber = fibers[t];
    const StoppedThread one{t, fiber.stop == Stop::kAtEnd, fiber.stop == Stop::kAtEnd ? 0 : fiber.line, fiber.place};
    waits_for_lanes = waits_for_lanes || fiber.stop == Stop::kAtMeeting;
    const auto same = [&](const StoppedThread& other) {
      return other.has_ended == one.has_ended && other.line == one.line && other.place == one.place;
    };
    if (std::ranges::none_of(stopped, same)) stopped.push_back(one);
  }
  // Some devices let those go on whom others leave at a barrier, some do not.
  if (stopped.size() > 1 || waits_for_lanes) {
    judge_.OnDivergence(stopped);
    is_over_ = true;
    return false;
  }
  if (stopped.front().has_ended) return false;
  judge_.OnBarrier();
  for (uint32_t t = 0; t < launch_.threads; ++t) fibers[t].stop = Stop::kNone;
  return true;
}

bool Runner::Release() { return ReleaseMeetings() || (!is_over_ && ReleaseBarrier()); }

void Runner::RunTogether() {
  for (uint32_t t = 0; t < launch_.threads; ++t) Begin(t, RunThread);
  do {
    for (uint32_t t = 0; t < launch_.threads && !is_over_; ++t) {
      if (fibers[t].stop != Stop::kNone) continue;
      launch_.state->thread = {t, 0, 0};
      Resume(t);
    }
  } while (!is_over_ && Release());
}

void Runner::Run() {
  PtState& state = *launch_.state;
  state.grid_dim = {launch_.blocks, 1, 1};
  state.block_dim = {launch_.threads, 1, 1};
  state.barrier = [](auto... said) { running->OnBarrier(said...); };
  state.meet = [](auto... said) { return running->OnMeeting(said...); };
  state.access = [](auto... said) { running->OnAccess(said...); };
  state.misuse = [](auto... said) { running->OnMisuse(said...); };
  for (uint32_t b = 0; b < launch_.blocks && !is_over_; ++b) {
    state.block = {b, 0, 0};
    state.thread = {0, 0, 0};
    judge_.OnBlock();
    if (launch_.waits) {
      RunTogether();
    } else {
      Begin(0, RunThreadsInTurn);
      Resume(0);
    }
  }
}

}  // namespace

void RunBlocks(const HostLaunch& launch, KernelJudge& judge) {
  Runner runner(launch, judge);
  running = &runner;
  runner.Run();
  running = nullptr;
}

}  // namespace pt::testing
