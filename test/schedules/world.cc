#include "test/schedules/world.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace pt::schedules {
namespace {

constexpr size_t kStackBytes = 512 << 10;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

thread_local World* here = nullptr;
World* entering = nullptr;  // of the one thread that runs fibers
int64_t outside_ns = 1'000'000;

bool Acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
bool Releases(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_acquire && order != std::memory_order_consume;
}

// The order in which everybody goes on until he waits.
class InTurns : public Strategy {
 public:
  size_t Pick(uint64_t ready, size_t current, std::span<const Op>) override {
    return current != kNobody ? current : static_cast<size_t>(std::countr_zero(ready));
  }
  bool Next() override { return false; }
};

}  // namespace

struct World::Fiber {
  enum class State : uint8_t { kRuns, kAsleep, kJoins, kDozes, kEnded };
  ucontext_t context;
  char* stack = nullptr;
  std::function<void()> body;
  State state = State::kEnded;
  const void* word = nullptr;  // it sleeps on
  int64_t until_ns = kNever;
  size_t joins = 0;
  uint64_t writes = 0;  // of the world when it began to doze
  Clock clock{};
  std::deque<Store> stores;

  ~Fiber() {
    if (stack != nullptr) munmap(stack, kStackBytes);
  }
};

World::World() : outside_(std::make_unique<Fiber>()) { fibers_.reserve(kMostFibers); }

World::~World() {
  for (std::unique_ptr<Fiber>& fiber : fibers_) {
    if (fiber->state != Fiber::State::kEnded) static_cast<void>(fiber.release());
  }
}

World* World::Here() { return here; }

int64_t World::NowNs() { return here == nullptr ? ++outside_ns : here->now_ns_; }

void World::Fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

// At the beginning of EnterFiber, on a stack of its own.
void World::Prepare(Fiber& fiber) {
  if (fiber.stack == nullptr) {
    fiber.stack = static_cast<char*>(
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (fiber.stack == MAP_FAILED) std::abort();
  }
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &World::EnterFiber, 0);
}

size_t World::Spawn(std::function<void()> body) {
  const auto free = std::ranges::find_if(fibers_, [](const auto& f) { return f->state == Fiber::State::kEnded; });
  const auto index = static_cast<size_t>(free - fibers_.begin());
  if (index == kMostFibers) std::abort();
  if (free == fibers_.end()) fibers_.push_back(std::make_unique<Fiber>());
  Fiber& fiber = *fibers_[index];
  Prepare(fiber);
  fiber.body = std::move(body);
  fiber.state = Fiber::State::kRuns;
  fiber.until_ns = kNever;
  ops_[index] = {};
  if (running_ < kMostFibers) {
    ++Own().clock[running_];
    fiber.clock = Own().clock;
  } else {
    fiber.clock = {};
  }
  ++fiber.clock[index];
  return index;
}

void World::EnterFiber() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  entering->Enter();
}

void World::Enter() {
  Own().body();
  Own().body = nullptr;
  Own().state = Fiber::State::kEnded;
  SwitchToNext();
  std::abort();  // nobody goes on with what has ended
}

bool World::CanGoOn(const Fiber& fiber) const {
  switch (fiber.state) {
    case Fiber::State::kEnded:
      return false;
    case Fiber::State::kAsleep:
      return fiber.until_ns != kNever && now_ns_ >= fiber.until_ns;
    case Fiber::State::kJoins:
      return fibers_[fiber.joins]->state == Fiber::State::kEnded;
    case Fiber::State::kDozes:
      return writes_ != fiber.writes;
    case Fiber::State::kRuns:
      break;
  }
  return true;
}

uint64_t World::Ready() const {
  uint64_t ready = 0;
  for (size_t i = 0; i < fibers_.size(); ++i) {
    const Fiber& fiber = *fibers_[i];
    if (!fiber.stores.empty()) ready |= uint64_t{1} << (i + kMostFibers);
    if (!CanGoOn(fiber)) continue;
    if (ops_[i].locks) {
      const auto found = objects_.find(ops_[i].object);
      if (found != objects_.end() && found->second.locked) continue;
    }
    ready |= uint64_t{1} << i;
  }
  if (time_passes_) ready |= uint64_t{1} << kTime;
  return ready;
}

// From the running fiber, or from outside, to whoever the strategy picks; outside when nobody can go on.
void World::SwitchToNext() {
  while (true) {
    uint64_t ready = Ready();
    const uint64_t fibers = ready & ((uint64_t{1} << kMostFibers) - 1);
    if (ready == 0 || (broken_ && fibers == 0)) return SwitchTo(kMostFibers);
    if (trace_.size() > kMostPoints) {
      broken_ = true;
      Fail("does not end: more than " + std::to_string(kMostPoints) + " points");
      return SwitchTo(kMostFibers);
    }
    const size_t current = last_ != Strategy::kNobody && (ready >> last_ & 1) != 0 ? last_ : Strategy::kNobody;
    const size_t picked = strategy_->Pick(ready, current, ops_);
    assert((ready >> picked & 1) != 0);
    ++points_;
    trace_.emplace_back(picked, picked < kMostFibers ? ops_[picked] : Op());
    if (picked == kTime) {
      time_passes_ = false;
      now_ns_ += time_step_ns_;
      ++writes_;
      continue;
    }
    if (picked >= kMostFibers) {
      Flush(picked - kMostFibers);
      continue;
    }
    last_ = picked;
    fibers_[picked]->state = Fiber::State::kRuns;
    if (ops_[picked].writes) ++writes_;
    return SwitchTo(picked);
  }
}

void World::SwitchTo(size_t fiber) {
  if (fiber == running_) return;
  Fiber& from = running_ == kMostFibers ? *outside_ : Own();
  Fiber& to = fiber == kMostFibers ? *outside_ : *fibers_[fiber];
  running_ = fiber;
  entering = this;
  here = fiber == kMostFibers ? nullptr : this;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const bool goes_on = from.state != Fiber::State::kEnded || &from == outside_.get();
  __sanitizer_start_switch_fiber(goes_on ? &fake_stack : nullptr, to.stack, to.stack == nullptr ? 0 : kStackBytes);
#endif
  swapcontext(&from.context, &to.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void World::ClearHistory() {
  objects_.clear();
  plains_.clear();
  trace_.clear();
  failure_.clear();
  for (const std::unique_ptr<Fiber>& fiber : fibers_) fiber->clock = {};
  for (size_t i = 0; i < fibers_.size(); ++i) fibers_[i]->clock[i] = 1;
  last_ = Strategy::kNobody;
}

void World::RunAlone(std::function<void()> body) {
  InTurns strategy;
  const std::array<std::function<void()>, 1> bodies = {std::move(body)};
  if (const std::string failure = Run(bodies, strategy); !failure.empty()) {
    std::fprintf(stderr, "%s\n", failure.c_str());
    std::abort();
  }
}

std::string World::Run(std::span<const std::function<void()>> callers, Strategy& strategy) {
  assert(here == nullptr && !broken_);
  ClearHistory();
  strategy_ = &strategy;
  time_passes_ = time_step_ns_ > 0;
  size_t left = callers.size();
  for (const std::function<void()>& caller : callers) {
    Spawn([&caller, &left] {
      caller();
      --left;
    });
  }
  SwitchToNext();
  if (left > 0 && !broken_) {
    broken_ = true;
    Fail(Stuck(left));
  }
  return failure_;
}

// What everybody waits for, and the last points.
std::string World::Stuck(size_t callers_left) const {
  std::string text = std::to_string(callers_left) + " callers never return, and nobody can go on:";
  std::map<const void*, size_t> names;
  for (const auto& [fiber, op] : trace_) names.emplace(op.object, names.size());
  for (size_t i = 0; i < fibers_.size(); ++i) {
    if (fibers_[i]->state == Fiber::State::kEnded) continue;
    const bool asleep = fibers_[i]->state == Fiber::State::kAsleep;
    const auto name = names.find(asleep ? fibers_[i]->word : ops_[i].object);
    text += "\n  thread " + std::to_string(i) + (asleep ? " sleeps on object " : " waits for object ") +
            (name == names.end() ? "?" : std::to_string(name->second));
  }
  text += "\n  the last points (thread, operation, object):";
  const size_t first = trace_.size() < 60 ? 0 : trace_.size() - 60;
  for (size_t i = first; i < trace_.size(); ++i) {
    const auto& [fiber, op] = trace_[i];
    text += " " + std::to_string(fiber) +
            (op.locks    ? "l"
             : op.writes ? "w"
                         : "r") +
            (op.object == nullptr ? "-" : std::to_string(names[op.object]));
  }
  return text;
}

void World::Reach(const Op& op) {
  ops_[running_] = op;
  SwitchToNext();
}

void World::Acquire(const Object& object, std::memory_order order) {
  if (!Acquires(order)) return;
  Clock& clock = Own().clock;
  for (size_t i = 0; i < kMostFibers; ++i) clock[i] = std::max(clock[i], object.released[i]);
}

bool World::LoadBuffered(const void* object, std::memory_order order, uint64_t& bits) {
  const std::deque<Store>& stores = Own().stores;
  for (auto store = stores.rbegin(); store != stores.rend(); ++store) {
    if (store->object != object) continue;
    bits = store->bits;
    return true;
  }
  Acquire(objects_[object], order);
  return false;
}

bool World::StoreBuffered(void* object, std::memory_order order, uint64_t bits, Put put) {
  Fiber& own = Own();
  const bool buffered = buffers_ && order != std::memory_order_seq_cst;
  Clock released{};
  if (Releases(order)) {
    released = own.clock;
    ++own.clock[running_];
  }
  if (buffered) {
    own.stores.push_back({object, bits, put, order, released});
    return true;
  }
  Drain();
  objects_[object].released = released;
  return false;
}

void World::Flush(size_t fiber) {
  std::deque<Store>& stores = fibers_[fiber]->stores;
  const Store store = stores.front();
  stores.pop_front();
  store.put(store.object, store.bits, store.order);
  objects_[store.object].released = store.clock;
  ++writes_;
}

void World::Drain() {
  while (!Own().stores.empty()) Flush(running_);
}

// What an update releases joins what was released before, as a release sequence has it.
void World::Update(const void* object, std::memory_order order) {
  Drain();
  Object& found = objects_[object];
  Acquire(found, order);
  if (!Releases(order)) return;
  Clock& clock = Own().clock;
  for (size_t i = 0; i < kMostFibers; ++i) found.released[i] = std::max(clock[i], found.released[i]);
  ++clock[running_];
}

void World::Lock(const void* mutex) {
  Reach({mutex, true, true});
  ops_[running_] = {};
  Update(mutex, std::memory_order_acquire);
  objects_[mutex].locked = true;
}

void World::Unlock(const void* mutex) {
  Update(mutex, std::memory_order_release);
  objects_[mutex].locked = false;
  ++writes_;
  strategy_->Unlocked(running_, mutex);
}

void World::BeginSleep(const void* word) {
  Reach({word, true});
  Drain();
}

void World::SleepOn(const void* word, int64_t until_ns) {
  Fiber& own = Own();
  own.state = Fiber::State::kAsleep;
  own.word = word;
  own.until_ns = until_ns;
  ops_[running_] = {};
  SwitchToNext();
}

void World::WakeFrom(const void* word, int most) {
  Reach({word, true});
  Drain();
  for (size_t i = 0; i < fibers_.size() && most > 0; ++i) {
    Fiber& fiber = *fibers_[i];
    if (fiber.state != Fiber::State::kAsleep || fiber.word != word) continue;
    fiber.state = Fiber::State::kRuns;
    strategy_->Woke(running_, i);
    --most;
  }
}

void World::Join(size_t fiber) {
  Fiber& own = Own();
  own.joins = fiber;
  own.state = Fiber::State::kJoins;
  ops_[running_] = {};
  SwitchToNext();
  for (size_t i = 0; i < kMostFibers; ++i) own.clock[i] = std::max(own.clock[i], fibers_[fiber]->clock[i]);
}

void World::Doze() {
  Drain();
  Own().state = Fiber::State::kDozes;
  Own().writes = writes_;
  ops_[running_] = {};
  SwitchToNext();
}

void World::Access(const void* plain, bool writes) {
  Plain& found = plains_[plain];
  Clock& clock = Own().clock;
  const bool after_write = found.writer == kMostFibers || clock[found.writer] >= found.written;
  bool after_reads = true;
  for (size_t i = 0; i < kMostFibers; ++i) after_reads = after_reads && clock[i] >= found.reads[i];
  if (!after_write || (writes && !after_reads)) {
    Fail("thread " + std::to_string(running_) + (writes ? " writes" : " reads") +
         " a variable that another thread may be " + (after_write ? "reading" : "writing"));
  }
  if (!writes) {
    found.reads[running_] = clock[running_];
    return;
  }
  found = {running_, clock[running_], {}};
}

}  // namespace pt::schedules
